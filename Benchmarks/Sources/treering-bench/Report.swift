// The measurements: lines of samples by engine, with the figure required of each line and the
// digest of its result.

internal import BenchmarkHarness
internal import Foundation

/// The direction of better figures.
enum Direction: String, Codable {
  case higher, lower
}

/// The figure that is required of a line.
enum Bar {
  /// In the line's own unit.
  case absolute(Double)
  /// As a multiple of the bare sync loop's rate.
  case syncLoop(Double)
}

/// One line of the report.
struct Line: Codable {
  let subject: String
  let name: String
  let unit: String
  let direction: Direction
  /// Samples by engine, or by another subject of comparison, in the order of the runs.
  var samples: [String: [Double]] = [:]
  /// Rates of the bare sync loop in the same minute.
  var syncLoop: [Double] = []
  /// The required figure; nil if there is none.
  var bar: Double?
  /// An addition to the name.
  var remark: String?
  /// The digest of the result, the same for every engine, run and machine.
  var digest: String?

  /// The median of an engine's samples.
  func median(_ engine: String) -> Double? { Line.median(samples[engine] ?? []) }

  static func median(_ samples: [Double]) -> Double? {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  /// The best peer's median.
  var bestPeer: Double? {
    let peers = samples.keys.filter { $0 != TreeRingEngine.name }.compactMap { median($0) }
    return direction == .higher ? peers.max() : peers.min()
  }

  var meetsBar: Bool? {
    guard let bar, let own = median(TreeRingEngine.name) else { return nil }
    return direction == .higher ? own >= bar : own <= bar
  }
}

/// A line under construction.
final class Measurement {
  var line: Line
  private var digest: UInt64?

  init(_ subject: String, _ name: String, unit: String, _ direction: Direction) {
    line = Line(subject: subject, name: name, unit: unit, direction: direction)
  }

  func add(_ engine: String, _ value: Double) { line.samples[engine, default: []].append(value) }

  /// Records a result's digest, which must equal that of every other run and engine.
  func check(_ digest: UInt64, of engine: String) throws {
    if let known = self.digest, known != digest {
      throw BenchmarkError("\(line.name): \(engine) computed another result than the others")
    }
    self.digest = digest
    line.digest = String(digest, radix: 16)
  }
}

/// Collects lines and prints them.
final class Report {
  private(set) var lines: [Line] = []
  private(set) var wrong: [String] = []
  private let size: Size
  private let engines: [String]
  private let printsJSON: Bool

  init(size: Size, engines: [String], printsJSON: Bool) {
    self.size = size
    self.engines = engines
    self.printsJSON = printsJSON
  }

  /// Adds a finished line and prints it.
  func add(_ measurement: Measurement, bar: Bar? = nil) {
    var line = measurement.line
    switch bar {
    case .absolute(let value): line.bar = value
    case .syncLoop(let factor): line.bar = Line.median(line.syncLoop).map { $0 * factor }
    case nil: break
    }
    if size == .small { line.bar = nil }
    lines.append(line)
    let name = "\(size.rawValue) · \(line.name)"
    if let digest = line.digest, let expected = expectedDigests[name], digest != expected {
      wrong.append("\(line.name): the result is \(digest), not \(expected)")
    }
    if !printsJSON { printRow(line) }
  }

  func printHeader() {
    if printsJSON { return }
    let names = engines.joined(separator: " | ")
    print("| line | unit | \(names) | × best peer | required | result |")
    print("|---|---|" + engines.map { _ in "---|" }.joined() + "---|---|---|")
    flush()
  }

  private func printRow(_ line: Line) {
    let medians = engines.map { line.median($0) }
    let known = medians.compactMap { $0 }
    let best = line.direction == .higher ? known.max() : known.min()
    let cells = medians.map { median -> String in
      guard let median else { return "–" }
      let text = Self.format(median)
      return median == best && known.count > 1 ? "**\(text)**" : text
    }
    var ratio = "–"
    if let own = line.median(TreeRingEngine.name), let peer = line.bestPeer, peer > 0 {
      ratio = String(format: "%.2f", own / peer)
    }
    var name = line.name
    let others = line.samples.keys.filter { !engines.contains($0) }.sorted()
    let compared = others.compactMap { other in
      line.median(other).map { "\(other) \(Self.format($0))" }
    }
    let remarks = (line.remark.map { [$0] } ?? []) + compared
    if !remarks.isEmpty { name += " (\(remarks.joined(separator: ", ")))" }
    if let loop = Line.median(line.syncLoop) { name += " (bare sync loop \(Self.format(loop)))" }
    var bar = "–"
    if let value = line.bar, let meets = line.meetsBar {
      let sign = line.direction == .higher ? "≥" : "≤"
      bar = "\(sign) \(Self.format(value)) \(meets ? "met" : "missed")"
    }
    print(
      "| \(name) | \(line.unit) | \(cells.joined(separator: " | ")) | \(ratio) | \(bar) "
        + "| \(line.digest ?? "–") |")
    flush()
  }

  private func flush() { fflush(nil) }

  /// Prints everything as JSON.
  func printAsJSON() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    print(String(decoding: try encoder.encode(lines), as: UTF8.self))
  }

  /// A figure with three significant digits.
  static func format(_ value: Double) -> String {
    switch abs(value) {
    case 1e6...: String(format: "%.2f M", value / 1e6)
    case 1e4...: String(format: "%.1f k", value / 1e3)
    case 1e3...: String(format: "%.2f k", value / 1e3)
    case 100...: String(format: "%.0f", value)
    case 10...: String(format: "%.1f", value)
    case 0.1...: String(format: "%.2f", value)
    default: String(format: "%.4f", value)
    }
  }
}
