// Snapshots of now, of a commit, a date, a tag: they never change and leak nothing.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Snapshots", .leavesSoundStores)
struct SnapshotTests {
  @Test("A snapshot at a commit shows that commit; one that is not there yet is notFound")
  func atCommit() throws {
    let store = try Store.inMemory()
    for number in UInt8(1)...200 { try store.put([number], for: "a") }
    for number in [UInt64(1), 2, 100, 137, 199, 200] {
      let snapshot = try store.snapshot(at: .commit(number))
      #expect(snapshot.commit == number)
      #expect(try snapshot.get("a", in: blobs) == [UInt8(number)])
    }
    let empty = try store.snapshot(at: .commit(0))
    #expect(try empty.buckets().isEmpty)
    #expect(try empty.get("a", in: blobs) == nil)
    #expect(error { try store.snapshot(at: .commit(201)) }?.code == .notFound)
    #expect(error { try store.snapshot(at: .commit(.max)) }?.code == .notFound)
    #expect(try store.snapshot(at: .commit(9)).diff(from: empty).map(\.kind) == [.insert])
  }

  @Test("A snapshot at a date shows the last commit not later than it")
  func atDate() throws {
    let store = try Store.inMemory()
    func time(_ second: Int64) -> Timestamp { Timestamp(microseconds: second * 1_000_000) }
    for second in [Int64(10), 20, 20, 30] {
      try store.write {
        $0.timestamp = time(second)
        try $0.put([1], for: "a", in: blobs)
      }
    }
    let expected: [(Int64, UInt64)] = [
      (9, 0), (10, 1), (19, 1), (20, 3), (29, 3), (30, 4), (99, 4),
    ]
    for (second, commit) in expected {
      #expect(try store.snapshot(at: .date(time(second))).commit == commit)
      #expect(try store.commit(at: .date(time(second))) == commit)
    }
    #expect(try store.snapshot(at: .date(Timestamp(microseconds: 20_000_000 - 1))).commit == 1)
  }

  @Test("A type that wraps a snapshot or a transaction reads as the wrapped one does")
  func wrapped() throws {
    struct Wrapper<Wrapped: Readable>: Readable {
      let wrapped: Wrapped
      var readSource: ReadSource { wrapped.readSource }
    }
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    let snapshot = try Wrapper(wrapped: store.snapshot())
    try store.write {
      try $0.put([2], for: "a", in: blobs)
      #expect(try Wrapper(wrapped: $0).get("a", in: blobs) == [2])
    }
    #expect(try snapshot.get("a", in: blobs) == [1])
    #expect(error { try snapshot.index("none") }?.code == .notFound)
  }

  @Test("A snapshot at a tag shows the commit it names; an unknown tag is notFound")
  func atTag() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    try store.write {
      $0.tags = ["here"]
      try $0.put([2], for: "a", in: blobs)
    }
    try store.put([3], for: "a")
    #expect(try store.snapshot(at: .tag("here")).get("a", in: blobs) == [2])
    #expect(error { try store.snapshot(at: .tag("nowhere")) }?.code == .notFound)
  }

  @Test("Pins list every live snapshot with commit and creator, oldest first")
  func pins() throws {
    let store = try Store.inMemory()
    for number in UInt8(1)...3 { try store.put([number], for: "a") }
    #expect(store.pins.isEmpty)
    var held: [Snapshot] = []
    let line = #line + 1
    held.append(try store.snapshot())
    held.append(try store.snapshot(at: .commit(1)))
    #expect(store.pins.map(\.commit) == [1, 3])
    #expect(store.pins.last?.creator == "\(#fileID):\(line)")
    #expect(try store.statistics().pins.map(\.commit) == [1, 3])
    let copy = held[0]
    held = []
    #expect(store.pins.map(\.commit) == [3])
    #expect(copy.commit == 3)
  }

  @Test(
    "Snapshots at random commits never change during many writes, and leak no page",
    arguments: seeds(1...4))
  func churn(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.tiny(indexes: [byGroup()])
    var model: [Key: Note] = [:]
    var held: [(Snapshot, [Key: Note])] = []
    var states: [[Key: Note]] = [[:], [:]]
    for step in 0..<300 {
      if step % 60 == 59 {
        #expect(throws: CancellationError.self) {
          try store.write { tx in
            try tx.deleteAll(in: "notes", from: "k5")
            throw CancellationError()
          }
        }
      }
      try store.write { tx in
        for _ in 0..<Int.random(in: 1...8, using: &random) {
          let key = Key("k\(Int.random(in: 0..<80, using: &random))")
          if Int.random(in: 0..<3, using: &random) == 0 {
            try tx.delete(key, in: "notes")
            model[key] = nil
          } else {
            let note = Note(
              group: "g\(Int.random(in: 0..<3, using: &random))", number: step,
              text: String(repeating: "x", count: Int.random(in: 0..<300, using: &random)))
            try tx.put(note, for: key, in: notes)
            model[key] = note
          }
        }
        tx.note = "step"
      }
      states.append(model)
      if step % 15 == 0 {
        held.append((try store.snapshot(), model))
        let commit = Int.random(in: 0..<states.count, using: &random)
        held.append((try store.snapshot(at: .commit(UInt64(commit))), states[commit]))
      }
      if held.count > 20 { held.remove(at: Int.random(in: 0..<held.count, using: &random)) }
    }
    for (snapshot, rows) in held {
      var found: [Key: Note] = [:]
      try snapshot.forEach(in: notes) {
        found[$0] = $1
        return true
      }
      #expect(found == rows, "seed \(seed), commit \(snapshot.commit)")
      let index = try snapshot.index("byGroup")
      #expect(index.count == rows.count, "seed \(seed), commit \(snapshot.commit)")
      for group in try index.groups() {
        let numbers = try index.rows(in: group).compactMap { rows[$0.key]?.number }
        #expect(numbers == numbers.sorted(), "seed \(seed), commit \(snapshot.commit)")
      }
    }
    #expect(try store.checkInvariants() == [])
    #expect(try store.leakedPageCount(beside: held.map(\.0)) == 0, "seed \(seed)")
    held = []
    #expect(try store.leakedPageCount(beside: []) == 0, "seed \(seed)")
    // New states replace the recent ones that memory keeps.
    for number in 0..<80 { try store.put([UInt8(number)], for: "a") }
    #expect(try store.leakedPageCount(beside: []) == 0, "seed \(seed)")
    #expect(try store.statistics().pinnedPageCount < 1000, "seed \(seed)")
  }

  @Test("The pages of a snapshot are freed when it ends, without any further call")
  func idle() throws {
    let store = try Store.tiny()
    try store.write { tx in
      for number in 0..<200 { try tx.put([1], for: Key("\(number)"), in: blobs) }
    }
    var snapshot: Snapshot? = try store.snapshot()
    try store.write { try $0.deleteAll(in: "blobs") }
    for number in 0..<70 { try store.put([UInt8(number)], for: "a") }
    let before = store.pages.livePageCount
    #expect(snapshot?.commit == 1)
    snapshot = nil
    while store.pages.livePageCount == before { usleep(1000) }
    #expect(store.pages.livePageCount < before)
  }

  @Test("An index reader keeps its state readable after its snapshot has ended")
  func readerOutlivesSnapshot() throws {
    let store = try Store.tiny(indexes: [byGroup()])
    for number in 0..<50 { try store.put(Note(group: "g", number: number), for: Key("\(number)")) }
    let index = try store.snapshot().index("byGroup")
    let past = try store.snapshot(at: .commit(20)).index("byGroup")
    #expect(store.pins.map(\.commit) == [20, 51])
    for number in 0..<200 {
      try store.put(Note(group: "h", number: number), for: Key("\(number % 50)"))
    }
    for number in 2..<20 { _ = try store.snapshot(at: .commit(UInt64(number))) }
    #expect(try index.keys("g") == (0..<50).map { "\($0)" })
    #expect(try past.keys("g") == (0..<19).map { "\($0)" })
    #expect(index.commit == 51)
  }

  @Test("Walking through a long history commit by commit keeps only a few states")
  func walk() throws {
    let store = try Store.tiny()
    let count = 4000
    for number in 0..<count {
      try store.write(durability: .unsynced) {
        try $0.put([UInt8(truncatingIfNeeded: number)], for: Key("\(number % 100)"), in: blobs)
      }
    }
    let before = try store.statistics().pageCount
    for number in 1...count {
      let snapshot = try store.snapshot(at: .commit(UInt64(number)))
      let key = Key("\((number - 1) % 100)")
      let found = try snapshot.get(key, in: blobs)
      try #require(found == [UInt8(truncatingIfNeeded: number - 1)])
      if number == 3900 { #expect(try store.statistics().pageCount < before + 12_000) }
    }
    #expect(try store.leakedPageCount(beside: []) == 0)
  }

  @Test("Differences between two commits are the rows inserted, deleted and updated, both ways")
  func differences() throws {
    let store = try Store.inMemory()
    for key in ["a", "b", "c", "d"] { try store.put([1], for: Key(key)) }
    let old = try store.snapshot()
    try store.put([2], for: "a")
    try store.put([1], for: "b")
    try store.write { try $0.touch("c", in: "blobs") }
    try store.write { try $0.delete("d", in: "blobs") }
    try store.put([9], for: "e")
    try store.write { try $0.put(metadata: [1], for: "c", in: "blobs") }
    let new = try store.snapshot()
    func texts(_ rows: [RowDifference]) -> [String] { rows.map { "\($0.kind) \($0.id.key)" } }
    #expect(try texts(new.diff(from: old)) == ["update a", "update c", "delete d", "insert e"])
    #expect(try texts(old.diff(from: new)) == ["update a", "update c", "insert d", "delete e"])
    #expect(try new.diff(from: old)[0].before?.object == [1])
    #expect(try new.diff(from: old)[0].after?.object == [2])
    #expect(try new.diff(from: new) == [])
    let past = try store.snapshot(at: .commit(2))
    #expect(try texts(past.diff(from: old)) == ["delete c", "delete d"])
  }
}
