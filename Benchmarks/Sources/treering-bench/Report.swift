// The report: lines of samples by engine, with the figure required of each line and the digest of
// its result, printed and merged into a file.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation

/// The figure that is required of a line.
enum Bar {
  /// In the line's own unit.
  case absolute(Double)
  /// As a multiple of the bare sync loop's rate.
  case syncLoop(Double)
}

/// A line under construction.
final class Measurement {
  var line: Line
  private var digest: UInt64?

  init(_ subject: String, _ name: String, unit: String, _ direction: Direction) {
    line = Line(subject: subject, name: name, unit: unit, direction: direction)
  }

  func add(_ engine: String, _ value: Double) { line.samples[engine, default: []].append(value) }

  /// Records a result's digest, which must equal that of every other run and engine. Those that
  /// are not compared have no result.
  func check(_ digest: UInt64, of engine: String) throws {
    if !EngineName.isCompared(engine) { return }
    if let known = self.digest, known != digest {
      throw WrongResult("\(line.name): \(engine) computed another result than the others")
    }
    self.digest = digest
    line.digest = String(digest, radix: 16)
  }

  /// Gives up an engine's figure.
  func fail(_ engine: String, _ reason: String) {
    line.samples[engine] = nil
    line.failures[engine] = reason
  }
}

/// Collects lines and prints them.
final class Report {
  private(set) var lines: [Line] = []
  private(set) var wrong: [String] = []
  private let size: Size
  private let runs: Int
  private let usesFixture: Bool
  private let engines: [String]
  private let printsJSON: Bool
  private let into: (file: URL, sitting: Sitting)?

  /// - Parameter into: the file that each finished line is merged into, and the line's sitting.
  init(
    size: Size, runs: Int, usesFixture: Bool, engines: [String], printsJSON: Bool,
    into: (file: URL, sitting: Sitting)? = nil
  ) {
    self.size = size
    self.runs = runs
    self.usesFixture = usesFixture
    self.engines = engines.filter(EngineName.isCompared)
    self.printsJSON = printsJSON
    self.into = into
  }

  /// Adds a finished line, prints it, and merges it into the file.
  func add(_ measurement: Measurement, bar: Bar? = nil) throws {
    var line = measurement.line
    switch bar {
    case .absolute(let value): line.bar = value
    case .syncLoop(let factor): line.bar = Line.median(line.syncLoop).map { $0 * factor }
    case nil: break
    }
    if size == .small { line.bar = nil }
    lines.append(line)
    if let digest = line.digest { checkExpected(line.name, digest) }
    if !printsJSON { printRow(line) }
    guard let into else { return }
    var results = try continued(into.file, into.sitting)
    line.sitting = into.sitting
    results.merge(line)
    try results.write(to: into.file)
  }

  /// Compares a line's digest with the committed one.
  private func checkExpected(_ line: String, _ digest: String) {
    let name = "\(size.rawValue) · \(line)"
    if !usesFixture, expectedDigestsOfFixture[name] != nil { return }
    if runs != Options().runs, expectedDigestsOfDefaultRuns[name] != nil { return }
    let expected =
      expectedDigests[name] ?? expectedDigestsOfDefaultRuns[name] ?? expectedDigestsOfFixture[name]
    if let expected, expected != digest {
      wrong.append("\(line): the result is \(digest), not \(expected)")
    } else if expected == nil, size == .small {
      wrong.append("\(line): Expected.swift lacks the result of the small size, \(digest)")
    }
  }

  /// Fails before anything is measured if the file is of another machine or size.
  func checkFile() throws {
    guard let into else { return }
    _ = try continued(into.file, into.sitting)
  }

  private func continued(_ file: URL, _ sitting: Sitting) throws -> ResultFile {
    try ResultFile(continuing: file, size: size.rawValue, machine: sitting["machine"])
  }

  func printHeader() {
    if printsJSON { return }
    let names = engines.joined(separator: " | ")
    print("| line | unit | \(names) | × best peer | loop without engine | required | result |")
    print("|---|---|" + engines.map { _ in "---|" }.joined() + "---|---|---|---|")
    flush()
  }

  private func printRow(_ line: Line) {
    let known = engines.compactMap { line.median($0) }
    let best = line.direction == .higher ? known.max() : known.min()
    let cells = engines.map { engine -> String in
      if line.failures[engine] != nil { return "failed" }
      guard let median = line.median(engine) else { return "–" }
      let text = Self.format(median)
      return median == best && known.count > 1 ? "**\(text)**" : text
    }
    let ratio = line.advantage.map(Self.format) ?? "–"
    let share = line.emptyShare.map { String(format: "%.0f %%", $0 * 100) } ?? "–"
    var name = line.name
    let others = line.samples.keys.filter { !engines.contains($0) && EngineName.isCompared($0) }
      .sorted()
    let compared = others.compactMap { other in
      line.median(other).map { "\(other) \(Self.format($0))" }
    }
    let remarks = (line.remark.map { [$0] } ?? []) + compared
    if !remarks.isEmpty { name += " (\(remarks.joined(separator: ", ")))" }
    if let loop = Line.median(line.syncLoop) { name += " (bare sync loop \(Self.format(loop)))" }
    if let loop = line.sharedSyncLoop.flatMap(Line.median) {
      name += " (shared by as many threads \(Self.format(loop)))"
    }
    if let limits = line.limits { name += " (\(limits))" }
    var bar = "–"
    if let value = line.bar, let meets = line.meetsBar {
      let sign = line.direction == .higher ? "≥" : "≤"
      bar = "\(sign) \(Self.format(value)) \(meets ? "met" : "missed")"
    }
    print(
      "| \(name) | \(line.unit) | \(cells.joined(separator: " | ")) | \(ratio) | \(share) "
        + "| \(bar) | \(line.digest ?? "–") |")
    flush()
  }

  private func flush() { fflush(nil) }

  /// Prints everything as JSON.
  func printAsJSON() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    print(String(decoding: try encoder.encode(lines), as: UTF8.self))
  }

  static func format(_ value: Double) -> String { BenchmarkResults.format(value) }
}
