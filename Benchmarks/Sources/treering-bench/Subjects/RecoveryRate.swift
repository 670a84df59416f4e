// The rate at which a missing or damaged page file is rebuilt from the log.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let recoveryRate = Subject(name: "RecoveryRate") { context in
  let count = context.pick(small: 20_000, full: 1_000_000)
  let log = Measurement(
    "RecoveryRate", "log replayed to rebuild the page file", unit: "MB/s", .higher)
  let operations = Measurement(
    "RecoveryRate", "operations replayed to rebuild the page file", unit: "operations/s", .higher)
  let folder = try context.folder()
  let rows = PlainRows()
  var random = Random(seed: 23)
  let store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
  try rows.load(0..<count, into: store)
  for version in 1...(count / 10_000) {
    try rows.update(1_000, below: count, version: version, &random, in: store)
  }
  try store.close()
  let byteCount = diskByteCount(of: "log", in: folder)
  for _ in 0..<context.runs {
    try context.removePages(of: folder)
    var opened: Store?
    let seconds = try Clocks.wallSeconds { opened = try Store(at: folder) }
    guard let store = opened else { continue }
    log.add(TreeRingEngine.name, Double(byteCount) / 1e6 / seconds)
    operations.add(TreeRingEngine.name, Double(count + count / 10) / seconds)
    var digest: UInt64 = 0
    let snapshot = try store.snapshot()
    for row in stride(from: 0, to: count, by: 97) {
      digest = mix(digest ^ (try PlainRows.get(row, in: snapshot)))
    }
    try log.check(digest, of: TreeRingEngine.name)
    try store.close()
  }
  try context.remove(folder)
  try context.report.add(log)
  try context.report.add(operations)
}
