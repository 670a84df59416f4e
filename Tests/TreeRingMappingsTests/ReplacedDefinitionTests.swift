// A replaced definition is an ordinary change for every observer: of a large index, before a
// restart, at a commit before the definition took effect, in a follower.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("Replaced definitions", .leavesSoundStores)
struct ReplacedDefinitionTests {
  private static let rows = Bucket<[UInt8]>.bytes("rows")
  private static let mappings = Mappings(of: "i", groups: ["x", "y"])

  private static func fields(_ order: String, descending: Bool = false) throws -> FieldIndex {
    try FieldIndex(bucket: "rows", group: "g", order: [.init(order, descending: descending)])
  }

  private static func put(_ store: Store, _ numbers: some Sequence<Int>) throws {
    try store.write { tx in
      for number in numbers {
        let group = number % 3 == 0 ? "y" : "x"
        let text = #"{"g":"\#(group)","n":\#(number),"m":\#(number * 7919 % 10_007)}"#
        try tx.put(Array(text.utf8), for: Key("k\(number)"), in: rows)
      }
    }
  }

  /// The rows of the index in a snapshot.
  private static func list(_ snapshot: Snapshot) throws -> [[RowID]] {
    let reader = try snapshot.index("i")
    return try ["x", "y"].map { group in
      try reader.rows(in: group).map { RowID(bucket: $0.bucket, key: $0.key) }
    }
  }

  /// Applies the observer's next change to a list, and compares it with the snapshot.
  private static func follow(
    _ observer: inout MappingObserver, _ list: inout FollowedList, to snapshot: Snapshot
  ) throws -> Change {
    let change = try observer.advance(to: snapshot)
    try list.apply(change)
    #expect(try list.sections == Self.list(snapshot))
    return change
  }

  @Test("If very many rows differ, the observer's limit decides")
  func veryManyRows() throws {
    let store = try Store.inMemory()
    try Self.put(store, 0..<10_500)
    try store.define("i", Self.fields("n"))
    let mappings = Self.mappings.range(.fixed(length: 10))
    var patient = store.observer(of: mappings, limit: .max)
    var usual = store.observer(of: mappings)
    _ = try (patient.advance(), usual.advance())
    try store.define("i", Self.fields("n", descending: true))
    let change = try patient.advance()
    #expect(!change.isReset)
    #expect(change.rows.inserts.count == 20 && change.rows.deletes.count == 20)
    #expect(change.after.sections[0].first == RowID(bucket: "rows", key: "k10499"))
    #expect(try usual.advance().isReset)
  }

  @Test(
    "A replaced definition changes only the index's rows, whatever else was written",
    arguments: ["log", "rows"])
  func otherRows(_ bucket: String) throws {
    let folder = try TemporaryFolder()
    let options = StoreOptions(durability: .unsynced)
    var store = try Store(at: folder.path, options: options)
    // More rows than a replacement lists; no group of the index contains them.
    func write(_ tx: Transaction, _ text: String) throws {
      for number in 0...10_000 {
        try tx.put(Array(text.utf8), for: Key("other\(number)"), in: .bytes(bucket))
      }
    }
    try Self.put(store, 0..<20)
    try store.write { try write($0, "first") }
    try store.define("i", Self.fields("n"))
    var observer = store.observer(of: Self.mappings)
    var list = FollowedList()
    _ = try Self.follow(&observer, &list, to: store.snapshot())
    let position = try #require(observer.position)
    try store.write { try write($0, "second") }
    try store.close()
    store = try Store(at: folder.path, options: options)
    try store.define("i", Self.fields("m"))
    var resumed = store.observer(of: Self.mappings, from: position)
    #expect(try !Self.follow(&resumed, &list, to: store.snapshot()).isReset)
    // The same with one commit for both.
    try store.write { tx in
      try write(tx, "third")
      try tx.define("i", Self.fields("n", descending: true))
    }
    #expect(try !Self.follow(&resumed, &list, to: store.snapshot()).isReset)
    try store.close()
  }

  @Test("A definition by fields may be replaced while nobody observes, also over a restart")
  func fieldsAcrossRestart() throws {
    let folder = try TemporaryFolder()
    let options = StoreOptions(durability: .unsynced)
    var store = try Store(at: folder.path, options: options)
    try Self.put(store, 0..<60)
    try store.define("i", Self.fields("n"))
    var observer = store.observer(of: Self.mappings, limit: .max)
    var list = FollowedList()
    _ = try Self.follow(&observer, &list, to: store.snapshot())
    let position = try #require(observer.position)
    try Self.put(store, 50..<70)
    try store.close()
    store = try Store(at: folder.path, options: options)
    try Self.put(store, 70..<75)
    try store.define("i", Self.fields("m"))
    try store.write { tx in try tx.delete("k3", in: "rows") }
    try store.close()
    store = try Store(at: folder.path, options: options)
    var resumed = store.observer(of: Self.mappings, from: position, limit: .max)
    let change = try Self.follow(&resumed, &list, to: store.snapshot())
    #expect(!change.isReset && change.before.commit == position.commit)
    #expect(change.rows.inserts.count == 15 && change.rows.deletes.count == 1)
    try store.close()
  }

  private static func code(_ version: UInt32) -> GroupIndex {
    GroupIndex("i", on: rows, version: version) { (row: [UInt8]) -> Place? in
      Place(in: row[0] % 2 == 0 ? "x" : "y", by: .ascending(Int(row[0]) % (version == 1 ? 7 : 5)))
    }
  }

  @Test("A closure may be replaced between two runs; the list continues from its position")
  func codeAcrossRestart() throws {
    let folder = try TemporaryFolder()
    var store = try Store(at: folder.path, indexes: [Self.code(1)])
    try store.write { tx in
      for number in 0..<40 as Range<UInt8> {
        try tx.put([number], for: Key("k\(number)"), in: Self.rows)
      }
    }
    var observer = store.observer(of: Self.mappings, limit: .max)
    var list = FollowedList()
    _ = try Self.follow(&observer, &list, to: store.snapshot())
    let position = try #require(observer.position)
    try store.close()
    store = try Store(at: folder.path, indexes: [Self.code(2)])
    try store.write { try $0.delete("k8", in: "rows") }
    var resumed = store.observer(of: Self.mappings, from: position, limit: .max)
    let change = try Self.follow(&resumed, &list, to: store.snapshot())
    #expect(!change.isReset && change.before.commit == position.commit)
    #expect(change.rows.deletes.map(\.row.key) == ["k8"] && change.rows.inserts.isEmpty)
    try store.close()
  }

  @Test("An observer at a commit before the definition was in force continues from there")
  func beforeItWasInForce() throws {
    let store = try Store.inMemory()
    try store.define("i", Self.fields("n"))
    for start in stride(from: 0, to: 40, by: 10) { try Self.put(store, start..<(start + 10)) }
    let early = store.newestCommit - 2
    try store.define("i", Self.fields("m"))
    var observer = store.observer(of: Self.mappings, limit: .max)
    var list = FollowedList()
    _ = try Self.follow(&observer, &list, to: store.snapshot(at: .commit(early)))
    try store.define("i", Self.fields("m", descending: true))
    let change = try Self.follow(&observer, &list, to: store.snapshot())
    #expect(!change.isReset && change.before.commit == early)
    #expect(change.rows.inserts.count == 20 && change.rows.deletes.isEmpty)
  }

  @Test(
    "A removed index is an error; once it is defined again, the list continues by a change")
  func removedAndDefinedAgain() async throws {
    let store = try Store.inMemory()
    try Self.put(store, 0..<30)
    try await store.define("i", Self.fields("n"))
    var observer = store.observer(of: Self.mappings, limit: .max)
    var list = FollowedList()
    _ = try Self.follow(&observer, &list, to: store.snapshot())
    var stream = store.changes(of: Self.mappings, limit: .max).makeAsyncIterator()
    #expect(try await stream.next()?.isReset == true)
    try await store.removeIndex("i")
    #expect { try observer.advance() } throws: { ($0 as? TreeRingError)?.code == .notFound }
    await #expect { try await stream.next() } throws: {
      ($0 as? TreeRingError)?.code == .notFound
    }
    try Self.put(store, 28..<33)
    try await store.define("i", Self.fields("m"))
    let change = try Self.follow(&observer, &list, to: store.snapshot())
    #expect(!change.isReset && change.rows.inserts.count == 3 && change.rows.deletes.isEmpty)
    #expect(try await stream.next()?.changeset == change.changeset)
  }

  private static func compared(_ version: UInt32) -> GroupIndex {
    GroupIndex(
      "i", on: rows, version: version,
      groupedBy: { (row: [UInt8]) in [row[0] % 2 == 0 ? "x" : "y"] },
      sortedBy: { (a: [UInt8], b: [UInt8]) in
        // The second version orders one row differently.
        func number(_ row: [UInt8]) -> UInt8 { version == 2 && row[0] == 4 ? 200 : row[0] }
        return number(a) < number(b)
      })
  }

  @Test("In a follower a replaced comparison affects only the rows that move")
  func comparedInFollower() async throws {
    let files = MemoryFileSystem()
    func open(_ mode: StoreMode, _ indexes: [GroupIndex]) throws -> Store {
      try Store(
        path: "store", fileSystem: files, options: StoreOptions(mode: mode, indexes: indexes))
    }
    let store = try open(.create, [Self.compared(1)])
    try await store.write { tx in
      for number in 0..<100 as Range<UInt8> {
        try tx.put([number], for: Key("k\(number)"), in: Self.rows)
      }
    }
    let reader = try open(.readOnly, [Self.compared(1), Self.compared(2)])
    try await reader.reached(store.newestCommit)
    var observer = reader.observer(of: Self.mappings, limit: .max)
    var list = FollowedList()
    _ = try Self.follow(&observer, &list, to: reader.snapshot())
    let before = try reader.statistics().changeRecordRows
    try await store.register(Self.compared(2))
    try await reader.reached(store.newestCommit)
    #expect(try reader.statistics().changeRecordRows - before < 5)
    let change = try Self.follow(&observer, &list, to: reader.snapshot())
    #expect(!change.isReset && change.rows.moves.map(\.row.key) == ["k4"])
    try await reader.close()
    try await store.close()
  }
}
