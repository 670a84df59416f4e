// Group indexes through the store: defining, replacing and removing them while in use, reading them
// now and in the past, and their behaviour without their closure.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Group indexes", .leavesSoundStores)
struct GroupIndexTests {
  private func fill(_ store: Store, _ count: Int = 30) throws {
    for number in 0..<count {
      try store.put(Note(group: "g\(number % 3)", number: -number), for: Key("\(number)"))
    }
  }

  @Test("An index added later contains the existing rows, and can be read at earlier commits")
  func addedLater() throws {
    let files = MemoryFiles()
    var store = try files.open(capacity: 4, indexes: [])
    try fill(store)
    try store.write { try $0.deleteAll(in: "notes", from: "2") }
    let before = try store.snapshot()
    #expect(code { try before.index("byGroup") } == .notFound)
    let commit = try store.register(byGroup())
    #expect(commit == 32)
    #expect(try store.register(byGroup()) == 32)
    func check(_ store: Store) throws {
      for number in [UInt64(0), 1, 7, 30, 31, 32] {
        let snapshot = try store.snapshot(at: .commit(number))
        let index = try snapshot.index("byGroup")
        #expect(index.commit == number)
        var expected: [GroupName: [String]] = [:]
        try snapshot.forEach(in: notes) { key, note in
          expected[GroupName(note.group ?? ""), default: []].append(key.description)
          return true
        }
        #expect(try index.groups() == expected.keys.sorted())
        for (group, keys) in expected {
          let sorted = keys.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }
          #expect(try index.keys(group) == sorted, "commit \(number)")
        }
      }
    }
    try check(store)
    try store.define("fields", FieldIndex(bucket: "notes", group: "group", order: []))
    #expect(try store.snapshot(at: .commit(10)).index("fields").count == 10)
    try store.close()
    store = try files.open(capacity: 4, indexes: [byGroup()])
    try check(store)
    #expect(try store.snapshot(at: .commit(10)).index("fields").count == 10)
    #expect(try store.checkInvariants() == [])
  }

  @Test("An index built at a past commit is derived for later ones")
  func builtOnceInThePast() throws {
    let store = try Store.inMemory()
    try fill(store, 200)
    let evaluated = Counter()
    let counting = GroupIndex("counting", on: notes, version: 1) { (note: Note) in
      _ = evaluated.next()
      return Place(in: note.group ?? "", by: .ascending(note.number))
    }
    try store.register(counting)
    #expect(try store.snapshot(at: .commit(50)).index("counting").count == 50)
    let before = evaluated.next()
    #expect(try store.snapshot(at: .commit(53)).index("counting").keys("g1").first == "52")
    #expect(try store.snapshot(at: .commit(60)).index("counting").count == 60)
    #expect(evaluated.next() == before + 11)
    for commit in UInt64(195)...201 {
      let index = try store.snapshot(at: .commit(commit)).index("counting")
      #expect(index.count == min(200, Int(commit)))
    }
    #expect(try store.checkInvariants() == [])
    #expect(try store.leakedPageCount(beside: []) == 0)
  }

  @Test("Another version replaces the index everywhere; snapshots taken before keep theirs")
  func replaced() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [byGroup()])
    try fill(store, 6)
    let before = try store.snapshot()
    let past = try store.snapshot(at: .commit(3))
    let second = GroupIndex("byGroup", on: notes, version: 2) { note in
      Place(in: "all", by: .ascending(note.number))
    }
    let commit = try store.register(second)
    #expect(commit == before.commit + 1)
    #expect(store.indexes.map(\.version) == [2])
    #expect(try store.snapshot().index("byGroup").keys("all") == ["5", "4", "3", "2", "1", "0"])
    #expect(try store.snapshot(at: .commit(3)).index("byGroup").keys("all") == ["1", "0"])
    #expect(try before.index("byGroup").keys("g0") == ["3", "0"])
    #expect(try past.index("byGroup").keys("g0") == ["0"])
    try store.put(Note(group: "g0", number: -9), for: "9")
    #expect(try store.snapshot().index("byGroup").keys("all").first == "9")
    try store.close()
    store = try files.open(indexes: [second])
    #expect(store.newestCommit == commit + 1)
    #expect(try store.snapshot().index("byGroup").count == 7)
    #expect(try store.checkInvariants() == [])
  }

  @Test("A removed index is not found any more; snapshots taken before keep it")
  func removed() throws {
    let store = try Store.tiny(indexes: [byGroup()])
    try fill(store)
    let before = try store.snapshot()
    try store.removeIndex("byGroup")
    #expect(store.indexes == [])
    #expect(code { try store.snapshot().index("byGroup") } == .notFound)
    #expect(code { try store.snapshot(at: .commit(5)).index("byGroup") } == .notFound)
    #expect(try before.index("byGroup").count == 30)
    #expect(code { try store.removeIndex("byGroup") } == .notFound)
    #expect(try store.leakedPageCount(beside: [before]) == 0)
    try store.register(byGroup())
    #expect(try store.snapshot().index("byGroup").count == 30)
  }

  @Test("Defining an index again as it is writes nothing; another definition replaces it")
  func definedAgain() throws {
    let store = try Store.inMemory()
    try fill(store, 3)
    let first = try FieldIndex(bucket: "notes", group: "group", order: [.init("number")])
    #expect(try store.define("f", first) == 4)
    #expect(try store.define("f", first) == 4)
    let second = try FieldIndex(bucket: "notes", group: "text", order: [.init("number")])
    #expect(try store.define("f", second) == 5)
    #expect(try store.snapshot().index("f").groupCounts().map(\.rows) == [3])
    #expect(store.indexes.map(\.fields) == [second])
  }

  @Test("A row may be in several groups, once in each")
  func severalPlaces() throws {
    let words = GroupIndex("words", on: notes, version: 1) { note in
      note.text.split(separator: " ").map { Place(in: String($0), by: .ascending(note.number)) }
    }
    let store = try Store.inMemory(options: StoreOptions(indexes: [words]))
    try store.put(Note(number: 2, text: "red green red"), for: "a")
    try store.put(Note(number: 1, text: "green"), for: "b")
    try store.put(Note(number: 3, text: ""), for: "c")
    let index = try store.snapshot().index("words")
    #expect(try index.groupCounts().map { "\($0.group) \($0.rows)" } == ["green 2", "red 1"])
    #expect(try index.keys("green") == ["b", "a"])
    let places = try index.positions(of: RowID(bucket: "notes", key: "a"))
    #expect(places.map { "\($0.group) \($0.index)" } == ["green 1", "red 0"])
    #expect(try index.index(of: RowID(bucket: "notes", key: "a"), in: "blue") == nil)
    try store.put(Note(number: 0, text: "red blue"), for: "a")
    #expect(
      try store.snapshot().index("words").groups().map(\.description) == ["blue", "green", "red"])
    #expect(try store.snapshot().index("words").keys("green") == ["b"])
    #expect(try store.checkInvariants() == [])
  }

  @Test("Rows that cannot be decoded are left out and counted exactly, as after reopening")
  func undecodable() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [byGroup()])
    let raw = Bucket<[UInt8]>.bytes("notes")
    func counts() throws -> [Int] {
      let index = try store.snapshot().index("byGroup")
      let stated = try store.statistics().undecodable["byGroup"] ?? 0
      #expect(stated == index.undecodableCount)
      return [index.count, index.undecodableCount]
    }
    try store.put(Note(group: "g", number: 1), for: "good")
    #expect(try counts() == [1, 0])
    try store.write { tx in
      try tx.put([1], for: "bad", in: raw)
      try tx.put([2], for: "worse", in: raw)
    }
    #expect(try counts() == [1, 2])
    try store.write { try $0.put([3], for: "bad", in: raw) }
    try store.write { try $0.touch("worse", in: "notes") }
    #expect(try counts() == [1, 2])
    try store.write { try $0.put([3], for: "good", in: raw) }
    #expect(try counts() == [0, 3])
    try store.write { try $0.delete("worse", in: "notes") }
    try store.put(Note(group: "g", number: 1), for: "bad")
    #expect(try counts() == [1, 1])
    try store.close()
    store = try files.open(indexes: [byGroup()])
    #expect(try counts() == [1, 1])
    #expect(try store.snapshot(at: .commit(3)).index("byGroup").undecodableCount == 2)
  }

  @Test("Without its closure an index throws indexDefinedInCode; with it, it is brought up to date")
  func withoutClosure() throws {
    let files = MemoryFiles()
    var store = try files.open(capacity: 4, indexes: [byGroup()])
    try fill(store, 10)
    try store.close()
    store = try files.open(capacity: 4, indexes: [])
    #expect(store.indexes.map(\.name) == ["byGroup"])
    // Its trees are unchanged; later commits cannot maintain them.
    #expect(try store.snapshot().index("byGroup").count == 10)
    try store.write { tx in
      try tx.put(Note(group: "g0", number: -99), for: "99", in: notes)
      #expect(code { try tx.index("byGroup") } == .indexDefinedInCode)
    }
    #expect(code { try store.snapshot().index("byGroup") } == .indexDefinedInCode)
    try store.write { try $0.delete("3", in: "notes") }
    let newest = store.newestCommit
    #expect(code { try store.snapshot(at: .commit(5)).index("byGroup") } == .indexDefinedInCode)
    // Another version's closure does not replace it.
    try store.close()
    store = try files.open(capacity: 4, indexes: [])
    try store.register(byGroup())
    #expect(store.newestCommit == newest)
    #expect(try store.snapshot().index("byGroup").keys("g0") == ["99", "9", "6", "0"])
    try store.put(Note(group: "g0", number: -98), for: "98")
    #expect(try store.snapshot().index("byGroup").keys("g0") == ["99", "98", "9", "6", "0"])
    #expect(try store.checkInvariants() == [])
    #expect(try store.leakedPageCount(beside: []) == 0)
  }

  @Test("Positions, ends, ranges both ways and binary search agree")
  func reading() throws {
    let store = try Store.tiny(indexes: [byGroup()])
    for number in 0..<40 { try store.put(Note(group: "g", number: number), for: Key("\(number)")) }
    try store.put(Note(group: "a", number: 0), for: "a")
    try store.put(Note(group: "z", number: 0), for: "z")
    let index = try store.snapshot().index("byGroup")
    #expect(try index.keys("g") == (0..<40).map { "\($0)" })
    #expect(try index.keys("g", 3..<6) == ["3", "4", "5"])
    #expect(try index.keys("g", 3..<6, reversed: true) == ["5", "4", "3"])
    #expect(try index.keys("g", -5..<2) == ["0", "1"])
    #expect(try index.keys("g", 38..<99, reversed: true) == ["39", "38"])
    #expect(try index.keys("g", 50..<60) == [])
    #expect(try index.keys("none") == [])
    #expect(try index.first(in: "g")?.key == "0")
    #expect(try index.last(in: "g")?.key == "39")
    #expect(try index.first(in: "none") == nil)
    #expect(try index.row(at: 40, in: "g") == nil)
    #expect(try index.row(at: -1, in: "g") == nil)
    #expect(try index.rows(in: "g", 7..<8).first?.key == "7")
    for bound in [0, 1, 17, 39, 40, 99] {
      let found = try index.firstIndex(in: "g") { row in (Int(row.key.description) ?? 0) >= bound }
      #expect(found == min(bound, 40))
    }
    var positions: [Int] = []
    try index.forEachRow(in: "g", 10..<20, reversed: true) { position, _ in
      positions.append(position)
      return positions.count < 3
    }
    #expect(positions == [19, 18, 17])
  }

  @Test("Order of creation and of modification follow the commits, and operations inside them")
  func createdAndModified() throws {
    let indexes = [
      GroupIndex("created", on: notes, version: 1) { (_: Note) in Place(in: "g", by: .created) },
      GroupIndex("modified", on: notes, version: 1) { (_: Note) in
        Place(in: "g", by: .modified.reversed)
      },
    ]
    let files = MemoryFiles()
    var store = try files.open(indexes: indexes)
    try store.write { tx in
      for key in ["c", "a", "b"] { try tx.put(Note(number: 0), for: Key(key), in: notes) }
    }
    try store.write { try $0.touch("a", in: "notes") }
    try store.put(Note(number: 0), for: "c")
    try store.write { try $0.delete("b", in: "notes") }
    try store.put(Note(number: 0), for: "b")
    for isReopened in [false, true] {
      if isReopened {
        try store.close()
        store = try files.open(indexes: indexes)
      }
      let snapshot = try store.snapshot()
      #expect(try snapshot.index("created").keys("g") == ["c", "a", "b"])
      #expect(try snapshot.index("modified").keys("g") == ["b", "c", "a"])
    }
  }

  @Test("A closure that ignores its row defines an index too")
  func ignoringClosure() throws {
    let bucket = Bucket<[UInt8]>.bytes("any")
    let all = GroupIndex("all", on: bucket, version: 1) { _ in Place(in: "all", by: .created) }
    let store = try Store.inMemory(options: StoreOptions(indexes: [all]))
    try store.write { try $0.put([1], for: "a", in: bucket) }
    #expect(try store.snapshot().index("all").count(in: "all") == 1)
  }

  @Test("Two indexes of one name are refused, and the store can be opened without the other")
  func sharedName() throws {
    let bucket = Bucket<[UInt8]>.bytes("any")
    func index(_ name: String, _ group: GroupName, version: UInt32 = 1) -> GroupIndex {
      GroupIndex(name, on: bucket, version: version) { _ in Place(in: group, by: .created) }
    }
    let files = MemoryFiles()
    #expect {
      _ = try files.open(indexes: [index("all", "a"), index("other", "a"), index("all", "b")])
    } throws: {
      let error = $0 as? TreeRingError
      return error?.code == .invalidInput && error?.message.contains("named all") == true
    }
    let versions = [index("all", "a"), index("all", "b", version: 2)]
    #expect(throws: TreeRingError.self) { try files.open(indexes: versions) }
    let store = try files.open(indexes: [index("all", "a"), index("other", "a")])
    try store.write { try $0.put([1], for: "k", in: bucket) }
    #expect(try store.snapshot().index("all").count(in: "a") == 1)
    try store.close()
    // A reader may know several versions, but each only once.
    let reader = try files.open(indexes: versions, mode: .readOnly)
    #expect(try reader.snapshot().index("all").count(in: "a") == 1)
    #expect(throws: TreeRingError.self) {
      try files.open(indexes: versions + versions, mode: .readOnly)
    }
  }

  @Test("A group gives the same results as its index, and nil beyond its end")
  func oneGroup() throws {
    let bucket = Bucket<[UInt8]>.bytes("any")
    let halves = GroupIndex("halves", on: bucket, version: 1) { row in
      Place(in: row[0] < 5 ? "low" : "high", by: .descending(row[0]))
    }
    let store = try Store.inMemory(options: StoreOptions(indexes: [halves]))
    try store.write { tx in
      for byte in UInt8(0)..<10 { try tx.put([byte], for: Key("k\(byte)"), in: bucket) }
    }
    let index = try store.snapshot().index("halves")
    for name in ["low", "high", "none"] as [GroupName] {
      let group = try index.group(name)
      #expect(try group.count == index.count(in: name))
      for position in -1...group.count {
        let id = try group.id(at: position)
        #expect(try id == index.id(at: position, in: name))
        guard let id else { continue }
        #expect(try group.index(of: id) == position)
        #expect(try index.index(of: id, in: name) == position)
      }
      #expect(try group.index(of: RowID(bucket: "any", key: "absent")) == nil)
      #expect(try group.index(of: RowID(bucket: "other", key: "k1")) == nil)
    }
    #expect(try index.group("low").index(of: RowID(bucket: "any", key: "k7")) == nil)
  }
}
