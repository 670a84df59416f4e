// A board of the departures of JFK that follows the flights by changesets while they are committed
// in their original order. Measured per change: the rows written, the operations listed, the time
// to find them, and the time to apply them to the screen, which reads the content of inserted and
// updated rows.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing
internal import TreeRingMappings

let flightBoard = Subject(name: "FlightBoard") { context in
  guard let path = context.flights else { return }
  let whole = Mappings(of: "departures", groups: ["JFK"])
  try boardLines(context, path, "board of 20 rows", whole.range(.fixed(length: 20)))
  try boardLines(context, path, "board of all rows", whole)
}

/// The measurements of one change.
private struct BoardSample {
  /// The number of rows that the commit wrote.
  let rows: Int
  let operations: Int
  let finding: UInt64
  let applying: UInt64
}

private func boardLines(
  _ context: Context, _ path: String, _ name: String, _ mappings: Mappings
) throws {
  func line(_ what: String, _ unit: String) -> Measurement {
    Measurement("FlightBoard", "\(name), \(what)", unit: unit, .lower)
  }
  let rows = line("rows written by a commit that changes it, mean", "rows")
  let operations = line("operations of a change, mean", "operations")
  let finding = (line("finding a change, CPU p50", "µs"), line("finding a change, CPU p99", "µs"))
  let applying = (
    line("applying a change, CPU p50", "µs"), line("applying a change, CPU p99", "µs")
  )
  for _ in 0..<context.runs {
    let samples = try replay(path, mappings)
    func mean(_ value: (BoardSample) -> Int) -> Double {
      Double(samples.reduce(0) { $0 + value($1) }) / Double(max(1, samples.count))
    }
    func add(_ lines: (Measurement, Measurement), _ value: (BoardSample) -> UInt64) {
      let times = samples.map(value)
      lines.0.add(TreeRingEngine.name, times.percentile(0.5) / 1000)
      lines.1.add(TreeRingEngine.name, times.percentile(0.99) / 1000)
    }
    rows.add(TreeRingEngine.name, mean(\.rows))
    operations.add(TreeRingEngine.name, mean(\.operations))
    operations.line.remark = "\(samples.count) changes"
    add(finding, \.finding)
    add(applying, \.applying)
    let digest = samples.reduce(UInt64(samples.count)) { mix($0 ^ UInt64($1.operations)) }
    try operations.check(digest, of: TreeRingEngine.name)
  }
  for line in [rows, operations, finding.0, finding.1, applying.0, applying.1] {
    try context.report.add(line)
  }
}

/// Commits the flights line by line while the board follows.
private func replay(_ path: String, _ mappings: Mappings) throws -> [BoardSample] {
  let store = try Store.inMemory(options: StoreOptions(durability: .unsynced))
  var observer = store.observer(of: mappings, limit: .max)
  var screen = Screen()
  var samples: [BoardSample] = []
  try replayFlights(path, into: store) { rows in
    let snapshot = try store.snapshot()
    let start = Clocks.threadNanoseconds
    let change = try observer.advance(to: snapshot)
    let found = Clocks.threadNanoseconds
    if change.isEmpty { return }
    try screen.apply(change, snapshot)
    let applied = Clocks.threadNanoseconds
    if !change.isReset {
      samples.append(
        BoardSample(
          rows: rows, operations: change.changeset.count, finding: found - start,
          applying: applied - found))
    }
    if samples.count.isMultiple(of: 500) { try screen.check(change.after, snapshot) }
  }
  return samples
}

/// The content of a board: one section, the content of each row.
private struct Screen {
  private var rows: [[UInt8]] = []

  /// Applies a changeset.
  mutating func apply(_ change: Change, _ snapshot: Snapshot) throws {
    if change.isReset {
      rows = try Self.rows(change.after, snapshot)
      return
    }
    for step in change.changeset.steps() {
      switch step {
      case .deleteRow(_, let path): rows.remove(at: path.row)
      case .insertRow(let row, let path):
        rows.insert(try Self.content(row, snapshot), at: path.row)
      case .moveRow(_, let from, let to): rows.insert(rows.remove(at: from.row), at: to.row)
      case .updateRow(let row, let path, _): rows[path.row] = try Self.content(row, snapshot)
      case .deleteSection, .insertSection, .moveSection:
        throw BenchmarkError("the board's section was inserted or deleted")
      }
    }
  }

  /// Throws unless the screen equals a full reading.
  func check(_ shown: ShownRows, _ snapshot: Snapshot) throws {
    guard try rows == Self.rows(shown, snapshot) else {
      throw BenchmarkError("the board does not show commit \(snapshot.commit)")
    }
  }

  private static func rows(_ shown: ShownRows, _ snapshot: Snapshot) throws -> [[UInt8]] {
    try shown.sections.joined().map { try content($0, snapshot) }
  }

  private static func content(_ row: RowID, _ snapshot: Snapshot) throws -> [UInt8] {
    guard let row = try snapshot.row(row.key, in: row.bucket) else {
      throw BenchmarkError("the row \(row) is missing")
    }
    return row.object
  }
}
