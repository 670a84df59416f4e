// The cost of compaction for concurrent commits, and the rate at which it reads the log.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Synchronization
internal import TreeRing

let compactionLatency = Subject(name: "CompactionLatency") { context in
  let count = context.pick(small: 10_000, full: 500_000)
  let commits = context.pick(small: 10, full: 2_000)
  func line(_ name: String) -> Measurement {
    Measurement("CompactionLatency", name, unit: "µs", .lower)
  }
  let quiet = line("durable commit without compaction, p99")
  let beside = line("durable commit beside compaction, p99")
  let longest = line("durable commit beside compaction, longest")
  let speed = Measurement(
    "CompactionLatency", "log read by compaction", unit: "MB/s", .higher)
  let rest = Measurement("CompactionLatency", "log after compaction", unit: "× before", .lower)
  for run in 0..<context.runs {
    let folder = try context.folder()
    let rows = PlainRows()
    var random = Random(seed: UInt64(29 + run))
    let store = try Store(
      at: folder,
      options: StoreOptions(segmentSize: context.pick(small: 256 << 10, full: 16 << 20)))
    try rows.load(0..<count, into: store)
    for version in 1...(count / 5_000) {
      try rows.update(10_000, below: count, version: version, &random, in: store)
    }
    let alone = try rows.durableCommits(commits, below: count, version: 1, &random, in: store)
    quiet.add(TreeRingEngine.name, alone.percentile(0.99) / 1000)
    let (together, report, seconds) = try commitsBesideCompaction(store, rows, below: count)
    beside.add(TreeRingEngine.name, together.percentile(0.99) / 1000)
    longest.add(TreeRingEngine.name, together.percentile(1) / 1000)
    speed.add(TreeRingEngine.name, Double(report.bytesBefore) / 1e6 / seconds)
    rest.add(TreeRingEngine.name, Double(report.bytesAfter) / Double(report.bytesBefore))
    let found = try store.snapshot().count(in: "rows")
    try quiet.check(UInt64(found), of: TreeRingEngine.name)
    try store.close()
    try context.remove(folder)
  }
  for measurement in [quiet, beside, longest, speed, rest] { try context.report.add(measurement) }
}

/// Commits single rows durably until a compaction to the newest commit ends.
private func commitsBesideCompaction(
  _ store: Store, _ rows: PlainRows, below count: Int
) throws -> (latencies: [UInt64], report: CompactionReport, seconds: Double) {
  let isDone = Atomic<Bool>(false)
  let result = Mutex<(latencies: [UInt64], report: CompactionReport?, seconds: Double)>(
    ([], nil, 0))
  _ = try withExtendedLifetime(isDone) {
    try onThreads(2) { thread in
      if thread == 1 {
        defer { isDone.store(true, ordering: .releasing) }
        var report: CompactionReport?
        let seconds = try Clocks.wallSeconds { report = try store.compact(to: .dropHistory) }
        result.withLock { [report] in ($0.report, $0.seconds) = (report, seconds) }
        return
      }
      var random = Random(seed: 31)
      var latencies: [UInt64] = []
      repeat {
        latencies += try rows.durableCommits(1, below: count, version: 2, &random, in: store)
      } while !isDone.load(ordering: .acquiring)
      result.withLock { [latencies] in $0.latencies = latencies }
    }
  }
  let (latencies, report, seconds) = result.withLock { $0 }
  guard let report else { throw BenchmarkError("compaction has not run") }
  return (latencies, report, seconds)
}
