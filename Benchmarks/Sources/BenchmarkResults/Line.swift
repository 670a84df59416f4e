// One line of the results: samples by engine.

internal import Foundation

/// The direction of better figures.
public enum Direction: String, Codable, Sendable {
  case higher, lower
}

/// The names of engines and of limits that results treat apart.
public enum EngineName {
  /// The engine that the other engines, the peers, are compared with.
  public static let own = "TreeRing"
  /// The engine that does nothing: its figures are those of the loop without an engine.
  public static let none = "no engine"
  /// The log without an engine: its figures are limits of engines that have such a log.
  public static let log = "log alone"
  /// Reads of memory, each of which waits for the one before: a look-up makes several.
  public static let read = "dependent read"
  /// Copies of pages: a row in random order makes one in a tree that keeps earlier versions.
  public static let copy = "page copies"

  /// Whether a name is that of an engine in the comparison.
  public static func isCompared(_ name: String) -> Bool { ![none, log, read, copy].contains(name) }
}

/// A line under measurement or measured.
public struct Line: Codable, Sendable {
  public let subject: String
  public let name: String
  public let unit: String
  public let direction: Direction
  /// Samples by engine, or by another subject of comparison, in the order of the runs.
  public var samples: [String: [Double]] = [:]
  /// The reasons why engines have no figure, by engine.
  public var failures: [String: String] = [:]
  /// Rates of the bare sync loop in the same minute.
  public var syncLoop: [Double] = []
  /// Those of the loop in as many threads as the line has, which share syncs; nil for one thread.
  public var sharedSyncLoop: [Double]?
  /// The required figure; nil if there is none.
  public var bar: Double?
  /// An addition to the name.
  public var remark: String?
  /// The digest of the result, the same for every engine, run and machine.
  public var digest: String?
  /// The curve that this line is a point of, and the point's number of rows; nil for other lines.
  public var curve: String?
  public var rows: Int?
  /// The facts of the sitting that measured the line; nil before a file holds it.
  public var sitting: Sitting?
  /// The day and the commit, in files of the older form.
  private var day: String?
  private var commit: String?

  public init(subject: String, name: String, unit: String, direction: Direction) {
    self.subject = subject
    self.name = name
    self.unit = unit
    self.direction = direction
  }

  /// Makes the sitting of a line of the older form: that of the file if day and commit are the
  /// same, else as much as is known. All lines of a file are of one machine.
  mutating func takeOlderFacts(newest: Sitting) {
    guard sitting == nil else { return }
    var own: Sitting = [:]
    own["day"] = day
    own["commit"] = commit
    if own.allSatisfy({ newest[$0.key] == $0.value }) {
      own = newest
    } else {
      own["machine"] = newest["machine"]
    }
    (sitting, day, commit) = (own, nil, nil)
  }

  /// The median of an engine's samples; nil if there are none.
  public func median(_ engine: String) -> Double? { Self.median(samples[engine] ?? []) }

  /// The medians of the log alone, of page copies and of dependent reads, with their names, as far
  /// as there are samples; nil without any.
  public var limits: String? {
    let limits = [EngineName.log, EngineName.copy, EngineName.read].compactMap { name in
      median(name).map { "\(name) \(format($0))" }
    }
    return limits.isEmpty ? nil : limits.joined(separator: ", ")
  }

  public static func median(_ samples: [Double]) -> Double? {
    guard !samples.isEmpty else { return nil }
    let sorted = samples.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  /// The peer with the best median; nil if there is none.
  public var bestPeer: (name: String, median: Double)? {
    let peers = samples.keys.sorted().filter { $0 != EngineName.own && EngineName.isCompared($0) }
      .compactMap { name in median(name).map { (name: name, median: $0) } }
    return direction == .higher
      ? peers.max { $0.median < $1.median } : peers.min { $0.median < $1.median }
  }

  /// The own median divided by the best peer's; nil without both.
  public var ratio: Double? {
    guard let own = median(EngineName.own), let peer = bestPeer, peer.median > 0 else { return nil }
    return own / peer.median
  }

  /// The own figure as a multiple of the best peer's, so that more than 1 is better; nil without
  /// both.
  public var advantage: Double? {
    ratio.flatMap { direction == .higher ? $0 : $0 > 0 ? 1 / $0 : nil }
  }

  /// Whether the best peer is better; nil without peers.
  public var isLost: Bool? { advantage.map { $0 < 1 } }

  /// The time of the line's loop with an engine that does nothing, as a part of the time with the
  /// own engine; nil if unknown. Figures of other units than rates and times have none.
  public var emptyShare: Double? {
    guard ["rows/s", "commits/s", "ms", "µs", "ns"].contains(unit),
      let own = median(EngineName.own), let none = median(EngineName.none), own > 0, none > 0
    else { return nil }
    return direction == .higher ? own / none : none / own
  }

  /// Whether the own engine meets the required figure; nil if there is none.
  public var meetsBar: Bool? {
    guard let bar, let own = median(EngineName.own) else { return nil }
    return direction == .higher ? own >= bar : own <= bar
  }
}

/// A figure with three significant digits.
public func format(_ value: Double) -> String {
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
