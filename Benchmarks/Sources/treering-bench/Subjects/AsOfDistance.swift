// The time for a snapshot of the past, by its distance. Roots kept by checkpoints bound the replay;
// states that are still in memory need no replay.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let asOfDistance = Subject(name: "AsOfDistance") { context in
  let commits = context.pick(small: 12_000, full: 400_000)
  let distances = context.pick(
    small: [1, 100, 10_000], full: [1, 100, 1_000, 10_000, 100_000, 399_000])
  let folder = try context.folder()
  let rows = PlainRows()
  var random = Random(seed: 17)
  var store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
  for version in 0..<commits {
    try rows.update(1, below: 20_000, version: version, &random, in: store)
  }
  try store.close()
  store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
  for distance in distances {
    let measurement = Measurement(
      "AsOfDistance", "as-of snapshot \(distance) commits back",
      unit: "ms, p50", .lower)
    var digest: UInt64 = 0
    for attempt in 0..<context.pick(small: 5, full: 15) {
      // A little further each time, so that no result is cached.
      let commit = UInt64(commits - distance - attempt * 37)
      var count = 0
      let seconds = try Clocks.wallSeconds {
        count = try store.snapshot(at: .commit(commit)).count(in: "rows")
      }
      measurement.add(TreeRingEngine.name, seconds * 1000)
      digest = mix(digest ^ commit ^ UInt64(count) << 32)
    }
    try measurement.check(digest, of: TreeRingEngine.name)
    try context.report.add(measurement, bar: .absolute(10))
  }
  try store.close()
  try context.remove(folder)
}
