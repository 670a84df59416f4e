// Rows that expire: the time from a row's date to the moment when no new snapshot shows it, and the
// writer's commits when many rows have one date.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation
internal import Synchronization
internal import TreeRing

private struct Session: Codable {
  var expires: Date
  var user: String
}

private let sessions = Bucket<Session>("sessions")
private let counters = Bucket.bytes("counters")

let expirySweep = Subject(name: "ExpirySweep") { context in
  let count = context.pick(small: 200, full: 20_000)
  let spread = context.pick(small: 0.3, full: 10.0)
  for isBusy in [false, true] {
    let who = isBusy ? "beside a writer" : "nothing else written"
    func line(_ name: String) -> Measurement {
      Measurement(
        "ExpirySweep", "from a row's date to its deletion, \(who), \(name)", unit: "ms", .lower)
    }
    let (middle, slow, longest) = (line("p50"), line("p99"), line("longest"))
    for _ in 1...context.runs {
      let lags = try lags(context, count, over: spread, isBusy: isBusy)
      middle.add(TreeRingEngine.name, lags.percentile(0.5) / 1000)
      slow.add(TreeRingEngine.name, lags.percentile(0.99) / 1000)
      longest.add(TreeRingEngine.name, lags.percentile(1) / 1000)
    }
    for measurement in [middle, slow] { try context.report.add(measurement) }
    try context.report.add(longest, bar: .absolute(1000))
  }
  let dueCount = context.pick(small: 500, full: 100_000)
  let last = Measurement(
    "ExpirySweep", "from the date of \(dueCount) rows to the last deletion, nothing else written",
    unit: "ms", .lower)
  for _ in 1...context.runs {
    let lags = try lags(context, dueCount, over: 0, isBusy: false)
    last.add(TreeRingEngine.name, lags.percentile(1) / 1000)
  }
  try context.report.add(last, bar: .absolute(1000))
  for count in context.pick(small: [200, 500], full: [10_000, 50_000]) {
    let rows = "\(count) rows of one date"
    let rest = Measurement(
      "ExpirySweep", "commits in the second from the date of \(rows)", unit: "× the next second",
      .higher)
    let longest = Measurement(
      "ExpirySweep", "longest commit, \(rows) due", unit: "ms", .lower)
    let swept = Measurement(
      "ExpirySweep", "deleted beside a writer, \(rows)", unit: "rows/s", .higher)
    for _ in 1...context.runs {
      let burst = try burst(context, count)
      rest.add(TreeRingEngine.name, burst.share)
      longest.add(TreeRingEngine.name, burst.longest * 1000)
      swept.add(TreeRingEngine.name, burst.rate)
    }
    // At 400,000 deletes a second, a twentieth of one is enough for 20,000.
    try context.report.add(rest, bar: count <= 10_000 ? .absolute(0.95) : nil)
    try context.report.add(longest)
    try context.report.add(swept)
  }
}

/// The writer's progress, and its end.
private final class Progress: Sendable {
  let isDone: Atomic<Bool>
  let commitCount = Atomic(0)
  /// The nanoseconds of the longest commit since this was last set to 0.
  let longest = Atomic<UInt64>(0)
  init(isDone: Bool = false) { self.isDone = Atomic(isDone) }
}

/// A store whose rows expire one after the other within some seconds after a date.
private func store(
  at folder: String, _ count: Int, from date: Date, over seconds: Double
) throws -> Store {
  let store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
  try store.define("expiry", Expiry(on: sessions, field: "expires"))
  for first in stride(from: 0, to: count, by: 1000) {
    try store.write { tx in
      for number in first..<min(first + 1000, count) {
        let expires = date + seconds * Double(number) / Double(count)
        try tx.put(
          Session(expires: expires, user: "user \(number)"), for: Key("\(number)"), in: sessions)
      }
    }
  }
  return store
}

/// Waits until all rows have expired and are deleted.
private func waitUntilEmpty(_ store: Store) throws {
  while try store.snapshot().count(in: "sessions") > 0 { usleep(1000) }
}

/// The microseconds from the dates of rows to the moment when a snapshot no longer shows them,
/// found by a snapshot a millisecond.
private func lags(
  _ context: Context, _ count: Int, over seconds: Double, isBusy: Bool
) throws -> [UInt64] {
  let folder = try context.folder()
  defer { try? context.remove(folder) }
  let begin = Date() + context.pick(small: 0.3, full: 3.0)
  let store = try store(at: folder, count, from: begin, over: seconds)
  let progress = Progress(isDone: !isBusy)
  let lags = Mutex<[UInt64]>([])
  _ = try onThreads(2) { thread in
    guard thread == 0 else { return try write(to: store, progress) }
    defer { progress.isDone.store(true, ordering: .relaxed) }
    var goneCount = 0
    while goneCount < count {
      let gone = try count - store.snapshot().count(in: "sessions")
      let elapsed = Date().timeIntervalSince(begin)
      lags.withLock {
        for number in goneCount..<max(goneCount, gone) {
          let lag = elapsed - seconds * Double(number) / Double(count)
          $0.append(UInt64(max(0, lag * 1e6)))
        }
      }
      goneCount = gone
      usleep(1000)
    }
  }
  try store.close()
  return lags.withLock { $0 }
}

/// A burst of rows of one date beside a writer that does not sync.
private struct Burst {
  /// The commits in the second from that date on, as a part of those in the next one.
  var share: Double
  /// The seconds of the longest commit in the second from that date on.
  var longest: Double
  /// The rows deleted per second.
  var rate: Double
}

/// Measures a burst. If the deletes take longer than a second, so does the time that is compared.
private func burst(_ context: Context, _ count: Int) throws -> Burst {
  let folder = try context.folder()
  defer { try? context.remove(folder) }
  let second = context.pick(small: 0.2, full: 1.0)
  let begin = Date() + context.pick(small: 0.3, full: 4.0)
  let store = try store(at: folder, count, from: begin, over: 0)
  let progress = Progress()
  let burst = Mutex(Burst(share: 0, longest: 0, rate: 0))
  _ = try onThreads(2) { thread in
    guard thread == 0 else { return try write(to: store, progress) }
    defer { progress.isDone.store(true, ordering: .relaxed) }
    /// The commits per second while `body` runs.
    func rate(_ body: () throws -> Void) rethrows -> Double {
      let first = progress.commitCount.load(ordering: .relaxed)
      let seconds = try Clocks.wallSeconds(body)
      return Double(progress.commitCount.load(ordering: .relaxed) - first) / seconds
    }
    Thread.sleep(until: begin)
    progress.longest.store(0, ordering: .relaxed)
    var deletion = 0.0
    let during = try rate {
      deletion = try Clocks.wallSeconds { try waitUntilEmpty(store) }
      Thread.sleep(until: begin + second)
    }
    let longest = progress.longest.load(ordering: .relaxed)
    let after = rate { Thread.sleep(forTimeInterval: second) }
    burst.withLock {
      $0 = Burst(
        share: during / after, longest: Double(longest) / 1e9, rate: Double(count) / deletion)
    }
  }
  try store.close()
  return burst.withLock { $0 }
}

/// Commits single rows until the end.
private func write(to store: Store, _ progress: Progress) throws {
  while !progress.isDone.load(ordering: .relaxed) {
    let start = Clocks.wallNanoseconds
    try store.write { try $0.put([1], for: "n", in: counters) }
    progress.longest.max(Clocks.wallNanoseconds - start, ordering: .relaxed)
    progress.commitCount.add(1, ordering: .relaxed)
  }
}
