// Snapshots of random old commits, with one read of each; the same commit again; and single rows of
// such commits, which need no state. In a store with one index and in one with five.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let asOf = Subject(name: "AsOf") { context in
  guard let path = context.flights else { return }
  let folder = try context.folder()
  try importedStore(path, in: folder).close()
  try measureAsOf("", of: folder, context, bar: .absolute(10))
  try context.remove(folder)
}

let asOfIndexes = Subject(name: "AsOfFiveIndexes") { context in
  guard let path = context.flights else { return }
  let folder = try context.folder()
  let store = try Store(at: folder, options: StoreOptions(durability: .none))
  for field in ["carrier", "dest", "status", "tail"] {
    try store.define(
      field, FieldIndex(bucket: "flights", group: field, order: [.init("scheduled")]))
  }
  try replayFlights(path, into: store) { _ in }
  try store.close()
  try measureAsOf(", five indexes", of: folder, context, bar: nil)
  try context.remove(folder)
}

private func measureAsOf(
  _ what: String, of folder: String, _ context: Context, bar: Bar?
) throws {
  var store = try Store(at: folder)
  let first = Measurement(
    "AsOf", "as-of snapshot of a random commit" + what, unit: "ms, p50", .lower)
  let again = Measurement("AsOf", "the same commit again" + what, unit: "ms, p50", .lower)
  let single = Measurement("AsOf", "row of a random commit" + what, unit: "ms, p50", .lower)
  first.line.remark = "widest replay \(try store.statistics().widestReplay) operations"
  var random = Random(seed: 7)
  var digest: UInt64 = 0
  var rows: [(commit: CommitNumber, row: StoredRow)] = []
  for _ in 0..<context.pick(small: 20, full: 11) {
    let commit = random.next() % store.newestCommit + 1
    var count = 0
    for measurement in [first, again] {
      let seconds = try Clocks.wallSeconds {
        count = try store.snapshot(at: .commit(commit)).count(in: "flights")
      }
      measurement.add(TreeRingEngine.name, seconds * 1000)
    }
    digest = mix(digest ^ commit ^ UInt64(count) << 32)
    try store.snapshot(at: .commit(commit)).forEachRow(in: "flights") { row in
      rows.append((commit, row))
      return true
    }
  }
  try first.check(digest, of: TreeRingEngine.name)
  try again.check(digest, of: TreeRingEngine.name)
  try store.close()
  // Reopened, so that no state is cached.
  store = try Store(at: folder)
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
  try context.report.add(first, bar: bar)
  try context.report.add(again)
  try context.report.add(single, bar: .absolute(0.4))
}
