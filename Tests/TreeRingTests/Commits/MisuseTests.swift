// Misuse by callers: the error states it clearly, and it does no harm.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Misuse is caught", .leavesSoundStores)
struct MisuseTests {
  @Test("A write inside a write is refused, and the outer one continues")
  func nested() throws {
    let store = try Store.inMemory()
    try store.write { tx in
      try tx.put([1], for: "a", in: blobs)
      #expect(code { try store.put([2], for: "b") } == .notAllowed)
      #expect(code { try store.revert(to: .commit(0)) } == .notAllowed)
      #expect(code { try store.register(byGroup()) } == .notAllowed)
    }
    #expect(try store.snapshot().get("a", in: blobs) == [1])
    #expect(store.newestCommit == 1)
  }

  @Test("Transactions kept after their closures do not disturb later writes")
  func keptTransactions() throws {
    let store = try Store.inMemory()
    let large = Bytes(repeating: 7, count: 3_000)
    var kept: [Transaction] = []
    for number in 0..<40 {
      try store.write { tx in
        if number % 3 == 0 { kept.append(tx) }
        try tx.put([UInt8(number)], for: Key("row \(number % 5)"), in: blobs)
        if number % 4 == 0 { try tx.put(large, for: Key("large \(number)"), in: blobs) }
      }
      for tx in kept { #expect(code { try tx.put([0], for: "row 0", in: blobs) } == .closed) }
      #expect(throws: Failed.self) {
        try store.write { tx in
          if number % 5 == 0 { kept.append(tx) }
          try tx.put([99], for: "row 1", in: blobs)
          throw Failed()
        }
      }
    }
    let snapshot = try store.snapshot()
    for number in 0..<5 {
      #expect(try snapshot.get(Key("row \(number)"), in: blobs) == [UInt8(35 + number)])
    }
    #expect(try snapshot.get("large 36", in: blobs) == large)
    #expect(try snapshot.count(in: blobs) == 15)
  }

  private struct Failed: Error {}

  @Test("A transaction kept after its closure throws closed")
  func escaped() throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [byGroup()]))
    var kept: Transaction?
    try store.write { tx in
      try tx.put([1], for: "a", in: blobs)
      kept = tx
    }
    let tx = try #require(kept)
    #expect(code { try tx.get("a", in: blobs) } == .closed)
    #expect(code { try tx.put([2], for: "a", in: blobs) } == .closed)
    #expect(code { try tx.put(object: [2], for: "a", in: blobs) } == .closed)
    #expect(code { try tx.put(metadata: [2], for: "a", in: "blobs") } == .closed)
    #expect(code { try tx.touch("a", in: "blobs") } == .closed)
    #expect(code { try tx.delete("a", in: "blobs") } == .closed)
    #expect(code { try tx.deleteAll(in: "blobs") } == .closed)
    #expect(code { try tx.index("byGroup") } == .closed)
    #expect(code { try tx.tag("t", commit: 1) } == .closed)
    #expect(code { try tx.removeIndex("byGroup") } == .closed)
    #expect(code { try tx.require("a", in: "blobs", lastWrittenAt: 2) } == .closed)
    #expect(try store.snapshot().get("a", in: blobs) == [1])
  }

  @Test("Writing while the transaction's rows are being read is refused, and the read continues")
  func writeWhileReading() throws {
    let store = try Store.tiny(indexes: [byGroup()])
    for number in 0..<20 { try store.put(Note(group: "g", number: number), for: Key("\(number)")) }
    try store.write { tx in
      try tx.put(Note(group: "g", number: 99), for: "99", in: notes)
      var visited = 0
      try tx.forEach(in: notes) { key, note in
        visited += 1
        #expect(code { try tx.put(note, for: key, in: notes) } == .notAllowed)
        #expect(code { try tx.delete(key, in: "notes") } == .notAllowed)
        #expect(code { try tx.deleteAll(in: "notes") } == .notAllowed)
        let again = try tx.get(key, in: notes)
        #expect(again == note)
        return true
      }
      #expect(visited == 21)
      try tx.withObject(of: "99", in: "notes") { _, _ in
        #expect(code { try tx.touch("99", in: "notes") } == .notAllowed)
      }
      try tx.index("byGroup").forEachRow(in: "g") { _, row in
        #expect(code { try tx.delete(row.key, in: "notes") } == .notAllowed)
        return true
      }
      // Collected first, the rows may be written.
      for (key, note) in try tx.rows(in: notes) {
        try tx.put(Note(group: "h", number: note.number), for: key, in: notes)
      }
    }
    #expect(try store.snapshot().index("byGroup").count(in: "h") == 21)
    #expect(try store.checkInvariants() == [])
  }

  @Test("A failed operation inside a write changes nothing if the write continues")
  func failedOperation() throws {
    let long = String(repeating: "x", count: 300)
    let tooLong = GroupIndex("long", on: Bucket<Note>("long notes"), version: 1) { note in
      Place(in: note.group ?? "", by: .ascending(note.number))
    }
    let files = MemoryFiles()
    let store = try files.open(indexes: [tooLong])
    try store.write { tx in
      let failing = Bucket<Note>("long notes")
      #expect(code { try tx.put(Note(group: long, number: 1), for: "a", in: failing) } == .tooLarge)
      let large = String(repeating: "y", count: 5000)
      #expect(
        code { try tx.put(Note(group: long, number: 1, text: large), for: "b", in: failing) }
          == .tooLarge)
      #expect(code { try tx.touch("a", in: "other") } == .notFound)
      try tx.put([1], for: "a", in: blobs)
    }
    func state(_ store: Store) throws -> [String] {
      try store.snapshot().buckets().map { "\($0.name) \($0.rows)" } + store.indexes.map(\.name)
    }
    let expected = try state(store)
    #expect(expected.contains("blobs 1"))
    #expect(!expected.contains("long notes 0"))
    try store.close()
    let reopened = try files.open(indexes: [tooLong])
    #expect(try state(reopened) == expected)
    #expect(try reopened.snapshot().diff(from: reopened.snapshot(at: .commit(1))).count == 1)
  }

  @Test("A cancelled index definition is not in force, even if the write continues")
  func cancelledDefinition() throws {
    let files = MemoryFiles()
    let store = try files.open(indexes: [])
    try store.write { tx in
      for number in 0..<5000 { try tx.put([1], for: Key("\(number)"), in: blobs) }
    }
    let fields = try FieldIndex(bucket: "blobs", group: "g", order: [])
    try store.write { tx in
      #expect(code { try tx.define("f", fields) { _ in false } } == .cancelled)
      #expect(code { try tx.index("f") } == .notFound)
      try tx.put([2], for: "x", in: blobs)
    }
    #expect(store.indexes == [])
    #expect(code { try store.define("f", fields) { _ in false } } == .cancelled)
    #expect(store.newestCommit == 2)
    try store.close()
    #expect(try files.open(indexes: []).indexes == [])
  }

  @Test("A definition too long for the catalog is a typed error")
  func longDefinition() throws {
    let store = try Store.inMemory()
    let fields = try FieldIndex(
      bucket: "notes", group: "group", order: [],
      where: [.init("text", in: (0..<1000).map { "value \($0)" })])
    #expect(code { try store.define("f", fields) } == .tooLarge)
    #expect(store.newestCommit == 0)
  }

  @Test("Inside maintenance work, beginning other such work and closing the store are refused")
  func nestedMaintenance() throws {
    let folder = try TemporaryFolder()
    let store = try Store(
      at: folder.path + "/s",
      options: StoreOptions(durability: .unsynced, segmentSize: 64 << 10, logger: quietLogger))
    var random = SeededGenerator(seed: 1)
    for number in 0..<100 {
      try store.write { tx in
        for row in 0..<20 {
          let noise = (0..<1500).map { _ in UInt8.random(in: 0...255, using: &random) }
          try tx.put(noise, for: Key("\(number) \(row)"), in: blobs)
        }
      }
    }
    var told = 0
    func misuse() {
      told += 1
      #expect(code { try store.compact() } == .notAllowed)
      #expect(code { try store.erase("0 0", in: "blobs") } == .notAllowed)
      #expect(code { try store.backUp(to: folder.path + "/other") } == .notAllowed)
      #expect(code { try store.close() } == .notAllowed)
      // Allowed work inside these calls.
      #expect(code { try store.put([1], for: "inside") } == nil)
    }
    try store.backUp(to: folder.path + "/b") { _ in
      misuse()
      return true
    }
    #expect(told > 0)
    told = 0
    try store.erase("0 0", in: "blobs") { _ in misuse() }
    #expect(told > 0)
    told = 0
    try store.compact(to: .dropHistory) { _ in
      misuse()
      return true
    }
    #expect(told > 0)
    try store.close()
  }

  @Test("During a read everything is allowed that does not change the pages being read")
  func everythingWhileReading() throws {
    let folder = try TemporaryFolder()
    let store = try Store(
      at: folder.path + "/s",
      options: StoreOptions(memoryBudget: 1 << 20, segmentSize: 64 << 10, logger: quietLogger))
    for number in 0..<100 { try store.put([UInt8(number)], for: Key("\(number)")) }
    let snapshot = try store.snapshot()
    let fields = try FieldIndex(bucket: "blobs", group: "g", order: [])
    let work: [() throws -> Void] = [
      { try store.put([200], for: "new") },
      { try store.checkpoint() },
      { try store.sync() },
      { try store.compact(to: .dropHistory) },
      { try store.backUp(to: folder.path + "/b") },
      { try store.define("f", fields) },
      { try store.removeIndex("f") },
      { _ = try store.snapshot(at: .commit(snapshot.commit)).rows(in: blobs) },
      { #expect(code { try store.erase("1", in: "blobs") } == .notAllowed) },
      { _ = try store.statistics() },
    ]
    var seen = 0
    try snapshot.forEach(in: blobs) { key, bytes in
      if seen < work.count { try work[seen]() }
      #expect(Key("\(bytes[0])") == key)
      seen += 1
      return true
    }
    #expect(seen == 100)
    try store.close()
  }

  @Test("Comparing snapshots of two stores is refused")
  func twoStores() throws {
    let (one, other) = (try Store.inMemory(), try Store.inMemory())
    for store in [one, other] { try store.put([1], for: "a") }
    #expect(code { try one.snapshot().diff(from: other.snapshot()) } == .invalidInput)
  }

  /// Writes in its deinitializer.
  private final class Parting: Sendable {
    let store: Store
    init(_ store: Store) { self.store = store }
    deinit {
      do {
        try store.put([1], for: "parted")
      } catch {
        Issue.record(error)
      }
    }
  }

  @Test("An object that a replaced index's closure retained may use the store in its deinit")
  func replacedClosure() throws {
    let store = try Store.inMemory()
    func register() throws {
      let parting = Parting(store)
      try store.register(
        GroupIndex("byGroup", on: notes, version: 1) { note in
          withExtendedLifetime(parting) { Place(in: note.group ?? "", by: .ascending(note.number)) }
        })
    }
    try register()
    #expect(try store.snapshot().get("parted", in: blobs) == nil)
    try register()
    #expect(try store.snapshot().get("parted", in: blobs) == [1])
  }
}
