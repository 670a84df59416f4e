// Snapshots of commits long past, in no order, and one look at each.

internal import BenchmarkHarness
internal import TreeRing

let asOf = Subject(name: "AsOf") { context in
  guard let path = context.flights else { return }
  let folder = try context.folder()
  try importedStore(path, in: folder).close()
  let store = try Store(at: folder)
  let measurement = Measurement(
    "AsOf", "as-of snapshot of a random commit", unit: "ms, p50", .lower)
  var random = Random(seed: 7)
  var digest: UInt64 = 0
  for _ in 0..<context.pick(small: 20, full: 11) {
    let commit = random.next() % store.newestCommit + 1
    var rows = 0
    let seconds = try Clocks.wallSeconds {
      rows = try store.snapshot(at: .commit(commit)).count(in: "flights")
    }
    measurement.add(TreeRingEngine.name, seconds * 1000)
    digest = mix(digest ^ commit ^ UInt64(rows) << 32)
  }
  try measurement.check(digest, of: TreeRingEngine.name)
  try store.close()
  try context.remove(folder)
  context.report.add(measurement)
}
