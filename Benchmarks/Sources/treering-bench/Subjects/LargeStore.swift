// A store far larger than its memory budget: loaded, then read and written at random. Measures the
// anonymous memory, and the longest wait of a commit while another writer fills the budget.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation
internal import Synchronization
internal import TreeRing

let largeStore = Subject(name: "LargeStore") { context in
  guard MemoryWatch.anonymousByteCount != nil else { return }
  let budget = context.pick(small: 4 << 20, full: 64 << 20)
  let count = context.pick(small: 300_000, full: 20_000_000)
  let commits = context.pick(small: 20, full: 2_000)
  let name = "budget \(budget >> 20) MiB"
  let size = Measurement("LargeStore", "store on the device (\(name))", unit: "GB", .lower)
  let memory = Measurement(
    "LargeStore", "anonymous memory, loaded, read and written, peak (\(name))", unit: "MB", .lower)
  let gets = Measurement("LargeStore", "random gets (\(name))", unit: "gets/s", .higher)
  let longest = Measurement(
    "LargeStore", "durable commit beside random updates, longest (\(name))", unit: "ms", .lower)
  let longestUpdate = Measurement(
    "LargeStore", "random updates in commits of 1000, longest (\(name))", unit: "ms", .lower)
  let updates = Measurement(
    "LargeStore", "random updates in commits of 1000 (\(name))", unit: "rows/s", .higher)
  let folder = try context.folder()
  let rows = PlainRows()
  var digest: UInt64 = 0
  let options = StoreOptions(durability: .unsynced, memoryBudget: budget)
  let peak = try MemoryWatch.peak {
    let store = try Store(at: folder, options: options)
    try rows.load(0..<count, into: store)
    var random = Random(seed: 23)
    let read = random.rows(context.pick(small: 1_000, full: 50_000), below: count)
    let seconds = try Clocks.wallSeconds {
      let snapshot = try store.snapshot()
      for row in read { digest &+= try PlainRows.get(row, in: snapshot) }
    }
    gets.add(TreeRingEngine.name, Double(read.count) / seconds)
    let beside = try commitsBesideUpdates(store, rows, commits, below: count)
    longest.add(TreeRingEngine.name, beside.commits.percentile(1) / 1e6)
    longestUpdate.add(TreeRingEngine.name, beside.updates.percentile(1) / 1e6)
    updates.add(TreeRingEngine.name, beside.rowsPerSecond)
    size.add(TreeRingEngine.name, Double(diskByteCount(folder)) / 1e9)
    try store.close()
  }
  memory.add(TreeRingEngine.name, Double(peak) / 1e6)
  try gets.check(digest, of: TreeRingEngine.name)
  try context.remove(folder)
  try context.report.add(size)
  try context.report.add(memory, bar: .absolute(Double(budget + (32 << 20)) / 1e6))
  try context.report.add(gets)
  try context.report.add(updates)
  try context.report.add(longest, bar: .absolute(100))
  try context.report.add(longestUpdate, bar: .absolute(100))
}

/// The nanoseconds of each commit, and the number of rows updated per second.
private struct Beside {
  var commits: [UInt64] = []
  var updates: [UInt64] = []
  var rowsPerSecond = 0.0
}

/// Durable commits of single rows while another thread commits a thousand random rows at a time.
private func commitsBesideUpdates(
  _ store: Store, _ rows: PlainRows, _ commits: Int, below count: Int
) throws -> Beside {
  let isDone = Atomic<Bool>(false)
  let result = Mutex(Beside())
  _ = try withExtendedLifetime(isDone) {
    try onThreads(2) { thread in
      var random = Random(seed: UInt64(41 + thread))
      if thread == 0 {
        defer { isDone.store(true, ordering: .releasing) }
        let latencies = try rows.durableCommits(
          commits, below: count, version: 1, &random, in: store)
        result.withLock { $0.commits = latencies }
        return
      }
      var latencies: [UInt64] = []
      let seconds = try Clocks.wallSeconds {
        while !isDone.load(ordering: .acquiring) {
          let start = Clocks.wallNanoseconds
          try rows.update(1_000, below: count, version: 2, &random, in: store)
          latencies.append(Clocks.wallNanoseconds - start)
        }
      }
      result.withLock { [latencies] in
        $0.updates = latencies
        $0.rowsPerSecond = Double(1_000 * latencies.count) / seconds
      }
    }
  }
  return result.withLock { $0 }
}
