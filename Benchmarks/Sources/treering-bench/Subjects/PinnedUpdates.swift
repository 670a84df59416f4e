// The growth of a store on the device during random updates while one old snapshot is held.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let pinnedUpdates = Subject(name: "PinnedUpdates") { context in
  let count = context.pick(small: 10_000, full: 1_000_000)
  let updates = context.pick(small: 4_000, full: 400_000)
  let name = "\(updates) updates under a pinned snapshot"
  let pages = Measurement(
    "PinnedUpdates", "page file after \(name)", unit: "× before", .lower)
  let log = Measurement("PinnedUpdates", "log after \(name)", unit: "× before", .lower)
  let folder = try context.folder()
  let rows = PlainRows()
  var store = try Store(at: folder)
  try rows.load(0..<count, into: store)
  waitUntilReleased(folder)
  try store.close()
  let pagesBefore = diskByteCount(of: "pages", in: folder)
  let logBefore = diskByteCount(of: "log", in: folder)
  store = try Store(at: folder)
  let pinned = try store.snapshot()
  var random = Random(seed: 11)
  let digest = try PlainRows.get(7, in: pinned)
  for start in stride(from: 0, to: updates, by: 100) {
    try rows.update(100, below: count, version: 1 + start / 100, &random, in: store)
  }
  guard try PlainRows.get(7, in: pinned) == digest else {
    throw BenchmarkError("a snapshot has changed")
  }
  let snapshot = try store.snapshot()
  try pages.check(mix(digest ^ UInt64(try snapshot.count(in: "rows"))), of: TreeRingEngine.name)
  // The last checkpoint happens at the end, while the snapshot is still held.
  waitUntilReleased(folder)
  try store.close()
  withExtendedLifetime(pinned) {}
  if pagesBefore > 0 {
    let after = diskByteCount(of: "pages", in: folder)
    pages.add(TreeRingEngine.name, Double(after) / Double(pagesBefore))
    pages.line.remark = "\(Report.format(Double(pagesBefore) / 1e6)) MB before"
  }
  let after = diskByteCount(of: "log", in: folder)
  log.add(TreeRingEngine.name, Double(after) / Double(logBefore))
  try context.remove(folder)
  try context.report.add(pages, bar: .absolute(2))
  try context.report.add(log)
}
