// Snapshots of random old commits, with one read of each, and with some rows of an index; the same
// commits again; and single rows of such commits, which need no state. In a store with one index
// and in one with five.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let asOf = Subject(name: "AsOf") { context in
  guard let path = context.flights else { return }
  let folder = try context.folder()
  try importedStore(path, in: folder).close()
  try measureAsOf("", of: folder, context)
  try context.remove(folder)
}

let asOfIndexes = Subject(name: "AsOfFiveIndexes") { context in
  guard let path = context.flights else { return }
  let folder = try context.folder()
  let store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
  for field in ["carrier", "dest", "status", "tail"] {
    try store.define(
      field, FieldIndex(bucket: "flights", group: field, order: [.init("scheduled")]))
  }
  try replayFlights(path, into: store) { _ in }
  try store.close()
  try measureAsOf(", five indexes", of: folder, context)
  try context.remove(folder)
}

/// Measures in the process that may write, and in a follower without a writer.
private func measureAsOf(
  _ what: String, of folder: String, _ context: Context
) throws {
  var store = try Store(at: folder)
  let statistics = try store.statistics()
  let remark =
    "\(statistics.retainedRootCount) roots, widest replay \(statistics.widestReplay) operations"
  let rows = try measureSnapshots(what, of: store, remark, context, bars: (20, 100))
  try store.close()
  store = try Store(at: folder, options: StoreOptions(mode: .readOnly))
  _ = try measureSnapshots(what + ", in a follower", of: store, remark, context, bars: (50, 250))
  try store.close()
  // Reopened, so that no state is cached.
  store = try Store(at: folder)
  let single = Measurement("AsOf", "row of a random commit" + what, unit: "ms, p50", .lower)
  var random = Random(seed: 11)
  for _ in 0..<min(1_001, rows.count) {
    let (commit, expected) = rows[Int(random.next() % UInt64(rows.count))]
    var row: StoredRow?
    let seconds = try Clocks.wallSeconds {
      row = try store.row(expected.key, in: "flights", at: .commit(commit))
    }
    single.add(TreeRingEngine.name, seconds * 1000)
    guard row == expected else { throw BenchmarkError("row \(expected.key) at \(commit) is wrong") }
  }
  try store.close()
  try context.report.add(single, bar: .absolute(0.4))
}

/// Takes snapshots of random commits, reads twenty rows of an index in each, and takes them again.
/// Each seed's commits are the same in every store of the same commits.
/// - Returns: Every row of some of these commits.
private func measureSnapshots(
  _ what: String, of store: Store, _ remark: String, _ context: Context, bars: (Double, Double)
) throws -> [(commit: CommitNumber, row: StoredRow)] {
  func line(_ name: String) -> Measurement {
    Measurement("AsOf", name + what, unit: "CPU ms", .lower)
  }
  let first = "as-of snapshot of a random commit"
  let lines = (line(first + ", p50"), line(first + ", p99"))
  let indexLines = (line("20 rows of its index, p50"), line("20 rows of its index, p99"))
  let again = line("the same commit again, p50")
  lines.0.line.remark = remark
  var random = Random(seed: 7)
  var digest: UInt64 = 0
  var rows: [(commit: CommitNumber, row: StoredRow)] = []
  var times: (snapshot: [UInt64], index: [UInt64], again: [UInt64]) = ([], [], [])
  for turn in 0..<context.pick(small: 20, full: 301) {
    let commit = random.next() % store.newestCommit + 1
    let start = Clocks.threadNanoseconds
    let snapshot = try store.snapshot(at: .commit(commit))
    let count = try snapshot.count(in: "flights")
    let taken = Clocks.threadNanoseconds
    let shown = try snapshot.index("departures").rows(in: "JFK", 0..<20)
    let read = Clocks.threadNanoseconds
    _ = try store.snapshot(at: .commit(commit)).count(in: "flights")
    times.snapshot.append(taken - start)
    times.index.append(read - taken)
    times.again.append(Clocks.threadNanoseconds - read)
    digest = mix(digest ^ commit ^ UInt64(count) << 32 ^ UInt64(shown.count) << 48)
    if turn % 30 != 0 { continue }
    try snapshot.forEachRow(in: "flights") { row in
      rows.append((commit, row))
      return true
    }
  }
  for (line, all, fraction) in [
    (lines.0, times.snapshot, 0.5), (lines.1, times.snapshot, 0.99),
    (indexLines.0, times.index, 0.5), (indexLines.1, times.index, 0.99),
    (again, times.again, 0.5),
  ] {
    line.add(TreeRingEngine.name, all.percentile(fraction) / 1e6)
    try line.check(digest, of: TreeRingEngine.name)
  }
  try context.report.add(lines.0, bar: .absolute(bars.0))
  try context.report.add(lines.1, bar: .absolute(bars.1))
  for line in [indexLines.0, indexLines.1, again] { try context.report.add(line) }
  return rows
}
