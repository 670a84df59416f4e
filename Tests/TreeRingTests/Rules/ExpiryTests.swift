// Expiry: rows vanish with the date of a commit, at every commit, and a sweeper deletes the rest.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

/// A clock that a test sets.
final class ExpiryClock: Sendable {
  private let moment = Mutex<Int64>(0)
  /// Seconds since 2000-01-01.
  var seconds: Int64 {
    get { moment.withLock { $0 } }
    set { moment.withLock { $0 = newValue } }
  }
  static func timestamp(_ seconds: Int64) -> Timestamp {
    Timestamp(microseconds: (946_684_800 + seconds) * 1_000_000)
  }
  var now: Timestamp { Self.timestamp(seconds) }
}

@Suite("Expiry", .leavesSoundStores) struct ExpiryTests {
  static let sessions = Bucket<[UInt8]>.bytes("sessions")

  static func options(_ clock: ExpiryClock, sweeps: Bool = false) -> StoreOptions {
    var options = StoreOptions(logger: quietLogger)
    options.pageCellCapacity = 6
    options.sweeps = sweeps
    options.clock = { clock.now }
    return options
  }

  static func rule() throws -> Expiry {
    try Expiry(on: sessions, field: "end", numbers: .seconds)
  }

  static func put(
    _ tx: Transaction, _ key: String, end: Int64?, user: Int = 0
  ) throws {
    let end = end.map { "\"end\":\(946_684_800 + $0)," } ?? ""
    try tx.put(Array("{\(end)\"user\":\(user)}".utf8), for: Key(key), in: sessions)
  }

  static func keys(_ readable: some Readable) throws -> [String] {
    try readable.rows(in: sessions).map(\.key.description)
  }

  @Test("A commit shows no row whose date is not later than its own, and deletes these itself")
  func vanishing() throws {
    let clock = ExpiryClock()
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: Self.options(clock))
    try store.define("expiry", Self.rule())
    try store.write { tx in
      try Self.put(tx, "a", end: 10)
      try Self.put(tx, "b", end: 20)
      try Self.put(tx, "c", end: nil)
    }
    let before = try store.snapshot()
    clock.seconds = 9
    try store.write { try Self.put($0, "d", end: 10) }
    #expect(try Self.keys(store.snapshot()) == ["a", "b", "c", "d"])
    clock.seconds = 10
    // Reading changes nothing, and a write without operations is none.
    try store.write { _ in }
    #expect(try Self.keys(store.snapshot()) == ["a", "b", "c", "d"])
    let commit = try store.write { try Self.put($0, "e", end: 5) }.commit
    #expect(try Self.keys(store.snapshot()) == ["b", "c"])
    let deleted = try store.operations(of: commit).operations.compactMap { operation -> Key? in
      if case .row(let row, .delete) = operation { return row.key }
      return nil
    }
    #expect(deleted == ["e", "a", "d"])
    #expect(try Self.keys(before) == ["a", "b", "c"])
    #expect(try Self.keys(store.snapshot(at: .commit(commit - 1))) == ["a", "b", "c", "d"])
    #expect(try store.snapshot().index("expiry").rows(in: Expiry.group).map(\.key) == ["b"])
    // A date that the writer gives counts as the clock's does.
    try store.write { tx in
      tx.timestamp = ExpiryClock.timestamp(20)
      try Self.put(tx, "f", end: 21)
    }
    #expect(try Self.keys(store.snapshot()) == ["c", "f"])
  }

  @Test(
    "Random commits and dates: every past commit, its groups and its counts agree with the model",
    arguments: seeds(1...8))
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let clock = ExpiryClock()
    let files = MemoryFileSystem()
    var store = try Store(path: "store", fileSystem: files, options: Self.options(clock))
    try store.define("expiry", Self.rule())
    try store.define(
      "byUser", FieldIndex(bucket: "sessions", group: "user", order: "end", where: []))
    var rows: [String: (end: Int64?, user: Int)] = [:]
    var states: [CommitNumber: [String: (end: Int64?, user: Int)]] = [:]
    for _ in 0..<120 {
      clock.seconds += Int64.random(in: 0...3, using: &random)
      if Int.random(in: 0..<6, using: &random) == 0 {
        let due = rows.filter { ($0.value.end ?? .max) <= clock.seconds }.count
        #expect(try store.sweep() == due, "seed \(seed)")
        if due == 0 { continue }
      } else {
        try store.write { tx in
          for _ in 0..<Int.random(in: 1...4, using: &random) {
            let key = "k\(Int.random(in: 0..<20, using: &random))"
            if Int.random(in: 0..<5, using: &random) == 0, rows[key] != nil {
              try tx.delete(Key(key), in: Self.sessions)
              rows[key] = nil
            } else {
              let end =
                Bool.random(using: &random)
                ? clock.seconds + Int64.random(in: -3...20, using: &random) : nil
              let user = Int.random(in: 0..<3, using: &random)
              try Self.put(tx, key, end: end, user: user)
              rows[key] = (end, user)
            }
          }
        }
      }
      rows = rows.filter { ($0.value.end ?? .max) > clock.seconds }
      states[store.newestCommit] = rows
    }
    func check(_ snapshot: Snapshot, _ place: String) throws {
      let wanted = states[snapshot.commit] ?? [:]
      #expect(try Self.keys(snapshot) == wanted.keys.sorted(), "seed \(seed), \(place)")
      #expect(try snapshot.count(in: Self.sessions) == wanted.count, "seed \(seed), \(place)")
      let byUser = try snapshot.index("byUser")
      for user in 0..<3 {
        let count = wanted.count { $0.value.user == user }
        #expect(try byUser.count(in: GroupName("\(user)")) == count, "seed \(seed), \(place)")
      }
      let due = try snapshot.index("expiry").rows(in: Expiry.group).map(\.key.description)
      let ends = due.compactMap { wanted[$0]?.end }
      #expect(ends.count == wanted.count { $0.value.end != nil }, "seed \(seed), \(place)")
      #expect(ends == ends.sorted(), "seed \(seed), \(place)")
    }
    for commit in states.keys { try check(store.snapshot(at: .commit(commit)), "past") }
    #expect(try store.checkInvariants() == [])
    var reading = Self.options(clock)
    reading.mode = .readOnly
    clock.seconds += 1000
    let follower = try Store(path: "store", fileSystem: files, options: reading)
    try check(follower.snapshot(), "follower")
    #expect(throws: TreeRingError.self) { try follower.sweep() }
    try follower.close()
    try store.close()
    try files.unlink("store/pages")
    store = try Store(path: "store", fileSystem: files, options: Self.options(clock))
    try check(store.snapshot(), "replayed")
    for commit in states.keys { try check(store.snapshot(at: .commit(commit)), "replayed past") }
    try store.close()
  }

  @Test("However many rows are due at once, the next commit shows none of them")
  func manyDue() throws {
    let clock = ExpiryClock()
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: Self.options(clock))
    try store.define("expiry", Self.rule())
    let count = 3000
    let before = try store.write { tx in
      for number in 0..<count { try Self.put(tx, "k\(number)", end: Int64(number % 2 + 1)) }
      try Self.put(tx, "later", end: 3)
    }.commit
    clock.seconds = 2
    let commit = try store.write { try Self.put($0, "new", end: nil) }.commit
    #expect(try store.operations(of: commit).operations.count == count + 1)
    #expect(try Self.keys(store.snapshot()) == ["later", "new"])
    #expect(try store.snapshot().index("expiry").count == 1)
    #expect(try store.snapshot(at: .commit(before)).count(in: Self.sessions) == count + 1)
    #expect(try store.sweep() == 0)
  }

  @Test("An expiry that is defined over rows whose date has come deletes these in its own commit")
  func definedLater() throws {
    let clock = ExpiryClock()
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: Self.options(clock))
    clock.seconds = 5
    try store.write { tx in
      for number in 0..<100 { try Self.put(tx, "k\(number)", end: Int64(number / 10)) }
    }
    try store.define("expiry", Self.rule())
    let shown = try store.snapshot()
    #expect(shown.timestamp == ExpiryClock.timestamp(5))
    #expect(try shown.count(in: Self.sessions) == 40)
  }

  @Test("Expired rows take along what cascades from them; a restricting reference is refused")
  func references() throws {
    let clock = ExpiryClock()
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: Self.options(clock))
    try store.define(
      "session", Reference(on: "carts", field: "s", to: "sessions", onDelete: .cascade))
    try store.define("cart", Reference(on: "notes", field: "c", to: "carts", onDelete: .nullify))
    try store.define("expiry", Self.rule())
    let error = ReferenceTests.refusal {
      try store.define("cart", Reference(on: "notes", field: "c", to: "carts", version: 2))
    }
    #expect(error?.code == .invalidInput)
    #expect(store.indexes.first { $0.name == "cart" }?.reference?.deletion == .nullify)
    try store.write { tx in
      try Self.put(tx, "a", end: 5)
      try ReferenceTests.put(tx, RowID("c", in: "carts"), #"{"s":"a"}"#)
      try ReferenceTests.put(tx, RowID("n", in: "notes"), #"{"c":"c"}"#)
    }
    clock.seconds = 5
    #expect(try store.sweep() == 1)
    let snapshot = try store.snapshot()
    #expect(try snapshot.buckets().map(\.rows) == [0, 1, 0])
    #expect(
      try ReferenceTests.object(RowID("n", in: "notes"), in: snapshot) == #"{"c":null}"#)
    // Rows that a revert brings back have expired all the same.
    try store.revert(to: .commit(store.newestCommit - 1))
    #expect(try store.snapshot().buckets().map(\.rows) == [0, 1, 0])
    // The other order of the declarations.
    let other = try Store.inMemory()
    try other.define("session", Reference(on: "carts", field: "s", to: "sessions"))
    #expect(
      ReferenceTests.refusal { try other.define("expiry", Self.rule()) }?.code == .invalidInput)
  }

  @Test("A row that is due does not keep its unique value from another")
  func unique() throws {
    let clock = ExpiryClock()
    let store = try Store(
      path: nil, fileSystem: MemoryFileSystem(), options: Self.options(clock))
    try store.define("expiry", Self.rule())
    try store.define(
      "byUser", FieldIndex(bucket: "sessions", group: "user", order: "end", where: []).unique())
    try store.write { try Self.put($0, "a", end: 5, user: 1) }
    let refused = ReferenceTests.refusal {
      _ = try store.write { try Self.put($0, "b", end: 9, user: 1) }
    }
    #expect(refused?.code == .notUnique)
    clock.seconds = 5
    try store.write { try Self.put($0, "b", end: 9, user: 1) }
    #expect(try Self.keys(store.snapshot()) == ["b"])
  }

  @Test("Dates as text, as numbers of each unit, and in binary rows; without one a row stays")
  func forms() throws {
    struct Session: Codable { var end: Date? }
    let date = Timestamp(microseconds: 1_600_000_000_250_000)
    func found(_ object: [UInt8], _ numbers: Expiry.Numbers = .date) throws -> Timestamp? {
      let expiry = try Expiry(on: "b", field: "end", numbers: numbers)
      #expect(try Expiry(json: expiry.json) == expiry)
      return object.withUnsafeBytes { expiry.date(in: $0) }
    }
    func json(_ value: String) -> [UInt8] { Array("{\"end\":\(value)}".utf8) }
    #expect(try found(json(#""2020-09-13T12:26:40.25Z""#)) == date)
    #expect(try found(json("1600000000.25"), .seconds) == date)
    #expect(try found(json("1600000000250"), .milliseconds) == date)
    for coder in [RowCoder<Session>.json(), .binary()] {
      #expect(try found(coder.encode(Session(end: date.date))) == date)
      #expect(try found(coder.encode(Session(end: nil))) == nil)
    }
    for value in ["null", "true", "[]", "{}", #""soon""#, #""""#] {
      #expect(try found(json(value)) == nil, "\(value)")
    }
    #expect(try found(json("1e300")) == Timestamp(microseconds: .max))
    #expect(try found(Array("no JSON".utf8)) == nil)
  }

  @Test("A closure may give the date; a process without it lets the rows be")
  func code() throws {
    let clock = ExpiryClock()
    let files = MemoryFileSystem()
    let expiry = GroupIndex(
      "expiry", on: Self.sessions, version: 1,
      expires: { object in
        object.first.map { ExpiryClock.timestamp(Int64($0)).date }
      })
    var options = Self.options(clock)
    options.indexes = [expiry]
    var store = try Store(path: "store", fileSystem: files, options: options)
    try store.write { tx in
      for number in 1...9 as ClosedRange<UInt8> {
        try tx.put([number], for: Key("\(number)"), in: Self.sessions)
      }
    }
    clock.seconds = 3
    try store.write { try $0.put([], for: "x", in: Self.sessions) }
    #expect(try Self.keys(store.snapshot()) == ["4", "5", "6", "7", "8", "9", "x"])
    try store.close()
    store = try Store(path: "store", fileSystem: files, options: Self.options(clock))
    #expect(store.indexes.map(\.expiry?.field) == [String?.none])
    clock.seconds = 6
    try store.write { try $0.put([1], for: "y", in: Self.sessions) }
    #expect(try store.sweep() == 0)
    #expect(try store.snapshot().count(in: Self.sessions) == 8)
    try store.register(expiry)
    // The commit above shows rows that were due, so batches of any size may have its date.
    #expect(try store.sweep(limit: 3) == 3)
    #expect(try store.snapshot().timestamp == ExpiryClock.timestamp(6))
    #expect(try Self.keys(store.snapshot()) == ["6", "7", "8", "9", "x"])
    #expect(try store.sweep(limit: 3) == 1)
    #expect(try Self.keys(store.snapshot()) == ["7", "8", "9", "x"])
    try store.close()
  }
}
