// The date of a commit, from a clock or from its writer, and safety against wrong clocks.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

/// A wall clock that a test sets.
private final class SetClock: Sendable {
  private let moment: Mutex<Timestamp>
  init(_ text: String) throws { moment = Mutex(try ISO8601.parse(text)) }
  var now: Timestamp { moment.withLock(\.self) }
  func set(_ text: String) throws {
    let new = try ISO8601.parse(text)
    moment.withLock { $0 = new }
  }
  func advance(seconds: Int64) {
    moment.withLock { $0 = Timestamp(microseconds: $0.microseconds + seconds * 1_000_000) }
  }

  func options(_ change: (inout StoreOptions) -> Void = { _ in }) -> StoreOptions {
    var options = StoreOptions(durability: .unsynced, logger: quietLogger)
    options.clock = { self.now }
    change(&options)
    return options
  }
}

@Suite("Dates of commits", .leavesSoundStores) struct DatingTests {
  private func date(_ text: String) throws -> Timestamp { try ISO8601.parse(text) }

  /// Writes one row at a date.
  private func put(
    at text: String?, allowing allowance: TimestampAllowance = [], in store: Store
  ) throws -> Written<Void> {
    let time = try text.map { try date($0) }
    return try store.write { tx in
      tx.timestamp = time
      tx.timestampAllowance = allowance
      try tx.put([1], for: "a", in: blobs)
    }
  }

  @Test("A date before the newest commit's is refused, or clamped and reported if that is allowed")
  func earlier() async throws {
    let clock = try SetClock("2026-01-01T00:00:00Z")
    let store = try Store.inMemory(options: clock.options())
    let first = try put(at: "1969-12-31T23:59:55Z", in: store)
    #expect(try first.timestamp == date("1969-12-31T23:59:55Z") && !first.isClamped)
    #expect(try put(at: "2013-01-02", in: store).timestamp == date("2013-01-02"))
    let failure = error { try put(at: "2013-01-01", in: store) }
    #expect(failure?.code == .dateRefused)
    #expect(failure?.message.contains("2013-01-02T00:00:00Z") == true)
    #expect(failure?.commit == 2)
    #expect(code { try put(at: "2013-01-01", allowing: .ahead, in: store) } == .dateRefused)
    #expect(store.newestCommit == 2)
    let moved = try put(at: "2013-01-01", allowing: .clamping, in: store)
    #expect(try moved.timestamp == date("2013-01-02") && moved.isClamped)
    #expect(try store.commit(3).timestamp == date("2013-01-02"))
    let equal = try put(at: "2013-01-02", in: store)
    #expect(try equal.timestamp == date("2013-01-02") && !equal.isClamped)
    // The asynchronous variant gives the same answers.
    let early = try date("2013-01-01")
    let later = try await store.write { tx in
      tx.timestamp = early
      tx.timestampAllowance = .clamping
      try tx.put([2], for: "b", in: blobs)
    }
    #expect(try later.isClamped && later.timestamp == date("2013-01-02"))
    // No commit, no date.
    func writeNothing() throws -> Written<Void> { try store.write { _ in } }
    let none = try writeNothing()
    #expect(none.timestamp == nil && !none.isClamped)
    // Of several commits with one date, the last one is the state at that date.
    #expect(try store.commit(at: .date(date("2013-01-02"))) == 5)
    #expect(try store.commit(at: .date(date("2013-01-01T23:59:59.999999Z"))) == 1)
    #expect(try store.commit(at: .date(date("1969-01-01"))) == 0)
  }

  @Test("A date more than a minute ahead of the clock is refused, unless it is asked for")
  func ahead() throws {
    let clock = try SetClock("2026-01-01T00:00:00Z")
    let store = try Store.inMemory(options: clock.options())
    #expect(code { try put(at: "2026-01-01T00:01:00.000001Z", in: store) } == .dateRefused)
    #expect(
      code { try put(at: "2046-01-01", allowing: .clamping, in: store) } == .dateRefused)
    #expect(store.newestCommit == 0)
    #expect(
      try put(at: "2026-01-01T00:01:00Z", in: store).timestamp == date("2026-01-01T00:01:00Z"))
    // The clock is behind that date, and the result of the write reports it.
    let behind = try put(at: nil, in: store)
    #expect(try behind.isClamped && behind.timestamp == date("2026-01-01T00:01:00Z"))
    clock.advance(seconds: 3600)
    let usual = try put(at: nil, in: store)
    #expect(usual.timestamp == clock.now && !usual.isClamped)
    #expect(
      try put(at: "2046-01-01", allowing: .ahead, in: store).timestamp == date("2046-01-01"))
    #expect(try put(at: nil, in: store).isClamped)
    #expect(try store.snapshot().timestamp == date("2046-01-01"))
    // Today's date by the clock finds the state before the future dates.
    #expect(try store.commit(at: .date(clock.now)) == 3)
  }

  @Test("A commit that only defines an index has the newest commit's date, or one before any data")
  func registering() throws {
    let clock = try SetClock("2026-01-01T00:00:00Z")
    let files = MemoryFileSystem()
    func open(_ indexes: [GroupIndex]) throws -> Store {
      try Store(path: "store", fileSystem: files, options: clock.options { $0.indexes = indexes })
    }
    var store = try open([byGroup()])
    #expect(store.newestCommit == 1)
    try store.define("later", FieldIndex(bucket: "notes", group: "group", order: []))
    let first = try put(at: "1913-01-01", in: store)
    #expect(try first.timestamp == date("1913-01-01") && !first.isClamped)
    try store.close()
    store = try open([byGroup(), byGroup("second")])
    #expect(try store.commit(4).timestamp == date("1913-01-01"))
    #expect(try store.register(byGroup("third")) == 5)
    try store.define("shelves", ManualIndex(on: notes))
    try store.removeIndex("later")
    #expect(try store.commit(7).timestamp == date("1913-01-01"))
    #expect(try put(at: "1913-01-01T00:00:01Z", in: store).commit == 8)
    // Tags removed along with their commits date nothing either.
    try store.write { tx in
      tx.timestamp = try date("1913-01-02")
      try tx.tag("early", commit: 3)
    }
    try store.compact(to: .before(8), keepsTags: false)
    #expect(try store.commit(10).timestamp == date("1913-01-02"))
    #expect(try put(at: "1913-01-03", in: store).commit == 11)
    #expect(try put(at: nil, in: store).timestamp == clock.now)
    try store.close()
  }

  // MARK: - No clock destroys history

  /// A store with a retention of three days that has a commit every minute, in many segments.
  private func history(_ clock: SetClock) throws -> (store: Store, files: MemoryFileSystem) {
    let files = MemoryFileSystem()
    let store = try Store(
      path: "store", fileSystem: files,
      options: clock.options {
        $0.retention = .since(.seconds(3 * 86_400))
        $0.segmentSize = 16 << 10
      })
    for number in 0..<2000 {
      clock.advance(seconds: 60)
      try store.write {
        try $0.put([UInt8(number & 255)], for: Key(bytes: [UInt8(number % 7)]), in: blobs)
      }
    }
    return (store, files)
  }

  /// Makes a store compact itself, both automatically and on request, and checks that all commits
  /// are readable.
  private func expectAll(_ store: Store, after context: String) throws {
    store.considerCompaction()
    store.maintenance.settle()
    try store.compact()
    #expect(store.horizon <= 1, "\(context)")
    #expect(throws: Never.self) { try store.snapshot(at: .commit(1)) }
  }

  @Test("A commit dated twenty years ahead drops no history")
  func oneTick() throws {
    let clock = try SetClock("2026-01-01T00:00:00Z")
    let (store, _) = try history(clock)
    try expectAll(store, after: "two thousand minutes")
    _ = try put(at: "2046-01-01", allowing: .ahead, in: store)
    for _ in 0..<500 {
      clock.advance(seconds: 60)
      _ = try put(at: nil, in: store)
    }
    try expectAll(store, after: "a commit ahead of the clock")
    try store.close()
  }

  @Test("A clock that jumps ahead and back drops no history, neither while it is wrong nor later")
  func jump() throws {
    let clock = try SetClock("2026-01-01T00:00:00Z")
    let (opened, files) = try history(clock)
    var store = opened
    try clock.set("2046-01-01T00:00:00Z")
    for _ in 0..<500 {
      clock.advance(seconds: 1)
      _ = try put(at: nil, in: store)
    }
    try expectAll(store, after: "the jump ahead")
    try store.close()
    store = try Store(path: "store", fileSystem: files, options: store.options)
    try expectAll(store, after: "opening it meanwhile")
    try clock.set("2026-01-02T12:00:00Z")
    for _ in 0..<500 {
      clock.advance(seconds: 60)
      _ = try put(at: nil, in: store)
    }
    try expectAll(store, after: "the jump back")
    try clock.set("1970-01-01T00:00:00Z")
    _ = try put(at: nil, in: store)
    try expectAll(store, after: "a clock without a battery")
    try store.close()
  }

  @Test("With a steady clock, a policy of time drops older history")
  func policy() throws {
    let clock = try SetClock("2026-01-01T00:00:00Z")
    let (store, _) = try history(clock)
    for _ in 0..<1000 {
      clock.advance(seconds: 300)
      try store.write { try $0.put([1], for: "a", in: blobs) }
    }
    try store.compact()
    // Three days are 864 steps of five minutes.
    #expect(store.horizon == 3000 - 864)
    try store.close()
  }

  @Test("Setting the clock does not change a reader's age")
  func readerAge() throws {
    let clock = try SetClock("2026-01-01T00:00:00Z")
    let moment = clock.now.microseconds
    func reader(uptime: Int64?) throws -> ReaderInfo {
      let end = uptime.map { "-\($0)" } ?? ""
      return try #require(ReaderInfo(name: "7-ab-12-\(moment)\(end)"))
    }
    let now = Platform.uptime
    clock.advance(seconds: 100)
    #expect(try reader(uptime: nil).age(at: clock.now) == .seconds(100))
    #expect(try reader(uptime: now).age(at: clock.now) < .seconds(100))
    let long = try reader(uptime: now - 500_000_000)
    #expect(long.age(at: clock.now) == .seconds(100))
    try clock.set("2046-01-01T00:00:00Z")
    #expect(long.age(at: clock.now) >= .seconds(500))
    #expect(long.age(at: clock.now) < .seconds(5000))
    try clock.set("1970-01-01T00:00:00Z")
    #expect(long.age(at: clock.now) == .zero)
    #expect(try reader(uptime: .min).age(at: clock.now) == .zero)
    #expect(ReaderInfo(name: "7-ab-12-1-2-3")?.since == nil)
  }
}
