// The cost of a checkpoint for concurrent commits, and its write rate.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let checkpointLatency = Subject(name: "CheckpointLatency") { context in
  let count = context.pick(small: 20_000, full: 1_000_000)
  let commits = context.pick(small: 10, full: 1_000)
  func line(_ name: String) -> Measurement {
    Measurement("CheckpointLatency", name, unit: "µs", .lower)
  }
  let quiet = line("durable commit without a checkpoint, p99")
  let beside = line("durable commit beside a checkpoint, p99")
  let longest = line("durable commit beside a checkpoint, longest")
  let speed = Measurement(
    "CheckpointLatency", "bytes written by a checkpoint at close", unit: "MB/s", .higher)
  let folder = try context.folder()
  let rows = PlainRows()
  var random = Random(seed: 13)
  var store = try Store(at: folder)
  try rows.load(0..<count, into: store)
  try store.close()
  store = try Store(at: folder)
  var version = 1
  for _ in 0..<context.runs {
    let alone = try rows.durableCommits(
      commits, below: count, version: version, &random, in: store)
    quiet.add(TreeRingEngine.name, alone.percentile(0.99) / 1000)
    // Enough operations for a checkpoint, which begins during the next commits.
    for _ in 0..<6 {
      try rows.update(1_000, below: count, version: version, &random, in: store)
    }
    let together = try rows.durableCommits(
      commits, below: count, version: version, &random, in: store)
    beside.add(TreeRingEngine.name, together.percentile(0.99) / 1000)
    longest.add(TreeRingEngine.name, together.percentile(1) / 1000)
    version += 1
    // The checkpoint at close writes the changes of these few operations.
    for _ in 0..<4 {
      try rows.update(1_000, below: count, version: version, &random, in: store)
    }
    let before = Clocks.writtenByteCount
    let seconds = try Clocks.wallSeconds { try store.close() }
    let written = Clocks.writtenByteCount - before
    if written > 0 { speed.add(TreeRingEngine.name, Double(written) / 1e6 / seconds) }
    store = try Store(at: folder)
  }
  let rowCount = try store.snapshot().count(in: "rows")
  try quiet.check(UInt64(rowCount) &+ store.newestCommit, of: TreeRingEngine.name)
  try store.close()
  try context.remove(folder)
  for measurement in [quiet, beside, longest, speed] { try context.report.add(measurement) }
}
