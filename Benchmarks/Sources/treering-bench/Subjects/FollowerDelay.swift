// The delay from the durability of a commit to its visibility in a follower. The follower is a
// second opening of the store, for reading. It learns of commits through the store's files, as one
// in another process does.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation
internal import Synchronization
internal import TreeRing

let followerDelay = Subject(name: "FollowerDelay") { context in
  let commits = context.pick(small: 50, full: 5_000)
  func line(_ name: String) -> Measurement {
    Measurement("FollowerDelay", "from durable to seen by a follower, \(name)", unit: "ms", .lower)
  }
  let (middle, slow) = (line("p50"), line("p99"))
  let folder = try context.folder()
  let rows = PlainRows()
  let store = try Store(at: folder)
  try rows.load(0..<context.pick(small: 1_000, full: 100_000), into: store)
  let follower = try Store(at: folder, options: StoreOptions(mode: .readOnly))
  for run in 1...context.runs {
    let delays = try delays(commits, rows, of: store, to: follower, version: run)
    middle.add(TreeRingEngine.name, delays.percentile(0.5) / 1e6)
    slow.add(TreeRingEngine.name, delays.percentile(0.99) / 1e6)
  }
  let digest = try PlainRows.get(commits - 1, in: try follower.snapshot())
  guard try PlainRows.get(commits - 1, in: try store.snapshot()) == digest else {
    throw BenchmarkError("the follower shows other rows than the writer")
  }
  try middle.check(digest ^ follower.newestCommit, of: TreeRingEngine.name)
  try follower.close()
  try store.close()
  try context.remove(folder)
  try context.report.add(middle)
  try context.report.add(slow, bar: .absolute(10))
}

/// Commits one row per millisecond. Returns the nanoseconds from each commit's return to its
/// visibility.
private func delays(
  _ count: Int, _ rows: PlainRows, of store: Store, to follower: Store, version: Int
) throws -> [UInt64] {
  let first = store.newestCommit + 1
  let times = Mutex<(durable: [UInt64], seen: [UInt64])>(([], []))
  _ = try onThreads(2) { thread in
    var taken: [UInt64] = []
    taken.reserveCapacity(count)
    if thread == 0 {
      for row in 0..<count {
        try store.write(durability: Durability.full) { try rows.put(row, version: version, $0) }
        taken.append(Clocks.wallNanoseconds)
        usleep(1000)
      }
      times.withLock { [taken] in $0.durable = taken }
      return
    }
    while taken.count < count {
      let newest = follower.newestCommit
      while taken.count < count, first + UInt64(taken.count) <= newest {
        taken.append(Clocks.wallNanoseconds)
      }
      usleep(50)
    }
    times.withLock { [taken] in $0.seen = taken }
  }
  // A commit may be visible before the write that made it has returned.
  return times.withLock { zip($0.durable, $0.seen).map { $1 > $0 ? $1 - $0 : 0 } }
}
