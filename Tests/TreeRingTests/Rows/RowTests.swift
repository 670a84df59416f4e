// Rows: puts, metadata, touches, deletes, limits, typed buckets, reading many.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Rows", .leavesSoundStores)
struct RowTests {
  @Test("put replaces the metadata too; put(object:) keeps it")
  func metadata() throws {
    let store = try Store.inMemory()
    try store.write { try $0.put([1], metadata: [7], for: "a", in: blobs) }
    try store.write { try $0.put(object: [2], for: "a", in: blobs) }
    #expect(try store.snapshot().metadata(of: "a", in: "blobs") == [7])
    #expect(try store.snapshot().get("a", in: blobs) == [2])
    try store.write { try $0.put(metadata: [8], for: "a", in: "blobs") }
    #expect(try store.snapshot().metadata(of: "a", in: "blobs") == [8])
    #expect(try store.snapshot().get("a", in: blobs) == [2])
    try store.put([3], for: "a")
    #expect(try store.snapshot().metadata(of: "a", in: "blobs") == nil)
    try store.write { try $0.put(object: [4], for: "new", in: blobs) }
    #expect(try store.snapshot().row("new", in: "blobs")?.metadata == nil)
    #expect(try store.snapshot().get("new", in: blobs) == [4])
  }

  @Test("Metadata or a touch on an absent row throws notFound; a delete of one does nothing")
  func absent() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    for bucket in ["blobs", "never"] {
      #expect(
        code { try store.write { try $0.put(metadata: [1], for: "x", in: bucket) } } == .notFound)
      #expect(code { try store.write { try $0.touch("x", in: bucket) } } == .notFound)
      #expect(try store.write { try $0.delete("x", in: bucket) }.value == false)
    }
    #expect(try store.write { try $0.delete("a", in: "blobs") }.value)
    #expect(code { try store.write { try $0.touch("a", in: "blobs") } } == .notFound)
    #expect(store.newestCommit == 2)
    #expect(try store.snapshot().buckets().map(\.name) == ["blobs"])
  }

  @Test("An equal put and a touch advance written and keep created; a delete ends both")
  func writtenAndCreated() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    try store.put([1], for: "a")
    func row() throws -> StoredRow? { try store.snapshot().row("a", in: "blobs") }
    #expect(try row()?.written == 2)
    #expect(try row()?.created == 1)
    try store.write { try $0.touch("a", in: "blobs") }
    #expect(try row()?.written == 3)
    #expect(try row()?.object == [1])
    try store.write { try $0.delete("a", in: "blobs") }
    #expect(try store.snapshot().written("a", in: "blobs") == nil)
    #expect(try store.snapshot().contains("a", in: "blobs") == false)
    try store.put([1], for: "a")
    #expect(try row()?.created == 5)
  }

  @Test("Deleting a range or a whole bucket deletes those rows and no others, also on replay")
  func deleteRange() throws {
    let files = MemoryFiles()
    let store = try files.open(capacity: 4, indexes: [])
    try store.write { tx in
      for number in 10..<60 {
        try tx.put([1], for: Key("\(number)"), in: blobs)
        try tx.put([1], for: Key("\(number)"), in: Bucket.bytes("blobs2"))
        try tx.put([1], for: Key("\(number)"), in: Bucket.bytes("blob"))
      }
    }
    #expect(try store.write { try $0.deleteAll(in: "blobs", from: "20", to: "30") }.value == 10)
    #expect(try store.write { try $0.deleteAll(in: "blobs", from: "55") }.value == 5)
    #expect(try store.write { try $0.deleteAll(in: "blobs", to: "12") }.value == 2)
    #expect(try store.write { try $0.deleteAll(in: "blob") }.value == 50)
    #expect(try store.write { try $0.deleteAll(in: "blobs", from: "40", to: "30") }.value == 0)
    let keys = (12..<20).map { "\($0)" } + (30..<55).map { "\($0)" }
    try store.close()
    let reopened = try files.open(capacity: 4, indexes: [])
    let snapshot = try reopened.snapshot()
    #expect(try snapshot.rows(in: blobs).map(\.key.description) == keys)
    #expect(try snapshot.count(in: "blobs2") == 50)
    #expect(try snapshot.count(in: "blob") == 0)
    #expect(try snapshot.count(in: "blobs", from: "15", to: "32") == 7)
    #expect(try reopened.commit(2).operationCount == 1)
  }

  // MARK: - Limits

  @Test("Keys of 1,024 bytes pass, longer ones and long or empty names are typed errors")
  func limits() throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [byGroup()]))
    let longest = Key(bytes: [UInt8](repeating: 0xFF, count: 1024))
    try store.put([1], for: longest)
    try store.put([2], for: "")
    #expect(try store.snapshot().get(longest, in: blobs) == [1])
    #expect(try store.snapshot().get("", in: blobs) == [2])
    let over = Key(bytes: [UInt8](repeating: 0xFF, count: 1025))
    #expect(code { try store.put([1], for: over) } == .tooLarge)
    #expect(code { try store.write { try $0.delete(over, in: "blobs") } } == .tooLarge)
    #expect(code { try store.write { try $0.touch(over, in: "blobs") } } == .tooLarge)
    let name = String(repeating: "b", count: 255)
    try store.write { try $0.put([3], for: "a", in: Bucket.bytes(name)) }
    #expect(try store.snapshot().get("a", in: Bucket.bytes(name)) == [3])
    func put(in bucket: String) -> TreeRingError.Code? {
      code { try store.write { try $0.put([1], for: "a", in: Bucket.bytes(bucket)) } }
    }
    #expect(put(in: name + "b") == .tooLarge)
    #expect(put(in: "") == .invalidInput)
    #expect(code { try store.put(Note(group: name, number: 1), for: "a") } == nil)
    #expect(code { try store.put(Note(group: name + "b", number: 1), for: "b") } == .tooLarge)
    #expect(try store.snapshot().index("byGroup").count(in: GroupName(name)) == 1)
    #expect(try store.snapshot().count(in: "notes") == 1)
    #expect(try store.checkInvariants() == [])
  }

  @Test("Values near the limit between page and log are read whole, even after reopening")
  func boundaries() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [])
    var expected: [Key: (object: [UInt8], metadata: [UInt8]?)] = [:]
    let sizes = [0, 1, 875, 876, 877, 1022, 1023, 1024, 1025, 1026, 5000, 70_000]
    for keyLength in [1, 900, 1024] {
      for size in sizes {
        for other in [nil, 0, 1, 1023, 1024, 1025, 70_000] {
          var name = Array("\(size) \(other ?? -1) ".utf8)
          name += [UInt8](repeating: 0x78, count: max(0, keyLength - name.count))
          let key = Key(bytes: name)
          let object = [UInt8](repeating: UInt8(truncatingIfNeeded: size), count: size)
          let metadata = other.map { [UInt8](repeating: 7, count: $0) }
          expected[key] = (object, metadata)
          try store.write(durability: .unsynced) { tx in
            try tx.put(object, metadata: metadata, for: key, in: blobs)
            #expect(try tx.row(key, in: "blobs")?.object == object)
            #expect(try tx.row(key, in: "blobs")?.metadata == metadata)
          }
        }
      }
    }
    for isReopened in [false, true] {
      if isReopened {
        try store.close()
        store = try files.open(indexes: [])
      }
      let snapshot = try store.snapshot()
      #expect(try snapshot.count(in: "blobs") == expected.count)
      for (key, values) in expected {
        let row = try snapshot.row(key, in: "blobs")
        #expect(row?.object == values.object)
        #expect(row?.metadata == values.metadata)
      }
    }
  }

  @Test(
    "An object of 3 MiB is read inside its transaction, after it, after metadata changes, later")
  func large() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [])
    let large = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }
    try store.write { tx in
      try tx.put(large, for: "a", in: blobs)
      #expect(try tx.get("a", in: blobs) == large)
      try tx.put(metadata: [1], for: "a", in: "blobs")
      #expect(try tx.get("a", in: blobs) == large)
      try tx.put([1], for: "b", in: blobs)
    }
    try store.write { tx in
      try tx.touch("a", in: "blobs")
      #expect(try tx.get("a", in: blobs) == large)
    }
    try store.close()
    store = try files.open(indexes: [])
    #expect(try store.snapshot().get("a", in: blobs) == large)
    #expect(try store.snapshot(at: .commit(1)).get("a", in: blobs) == large)
    let snapshot = try store.snapshot()
    try store.write { try $0.delete("a", in: "blobs") }
    #expect(try snapshot.get("a", in: blobs) == large)
  }

  @Test("Indexes see objects that lie in the log, in their own transaction and on replay")
  func indexedLoggedObjects() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [byGroup()])
    let text = String(repeating: "long text ", count: 500)
    try store.write { tx in
      for number in 0..<10 {
        try tx.put(
          Note(group: "g", number: -number, text: text), for: Key("\(number)"), in: notes)
      }
      #expect(try tx.index("byGroup").keys("g").first == "9")
    }
    try store.write { try $0.put(metadata: [1], for: "3", in: "notes") }
    try store.close()
    store = try files.open(indexes: [byGroup()])
    #expect(try store.snapshot().index("byGroup").count(in: "g") == 10)
    #expect(try store.snapshot(at: .commit(2)).index("byGroup").keys("g", 0..<2) == ["9", "8"])
  }

  @Test("One commit may write many buckets, and many logged values that it reads again")
  func manyInOneCommit() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [])
    func bucket(_ number: Int) -> Bucket<[UInt8]> { .bytes("bucket \(number)") }
    func value(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 2000) }
    try store.write { tx in
      for number in 0..<200 {
        try tx.put(value(number), metadata: value(1), for: "a", in: bucket(number))
        try tx.put([1], for: "b", in: bucket(number / 2))
      }
      for number in 0..<200 {
        #expect(try tx.get("a", in: bucket(number)) == value(number))
        #expect(try tx.metadata(of: "a", in: bucket(number).name) == value(1))
      }
    }
    try store.close()
    store = try files.open(indexes: [])
    let snapshot = try store.snapshot()
    #expect(try snapshot.buckets().count == 200)
    for number in 0..<200 {
      #expect(try snapshot.get("a", in: bucket(number)) == value(number))
      #expect(try snapshot.contains("b", in: bucket(number).name) == (number < 100))
    }
  }

  // MARK: - Typed buckets

  @Test("JSON rows come back equal; equal rows have equal bytes")
  func json() throws {
    struct Row: Codable, Hashable {
      var zebra: Int
      var apple: [String: Int]
      var date: Date
    }
    let bucket = Bucket<Row>("rows")
    let store = try Store.inMemory()
    let row = Row(
      zebra: 1, apple: ["c": 1, "a": 2, "b": 3],
      date: Date(timeIntervalSinceReferenceDate: 1_000_000.125))
    try store.write { try $0.put(row, for: "a", in: bucket) }
    #expect(try store.snapshot().get("a", in: bucket) == row)
    let text = String(
      decoding: try store.snapshot().row("a", in: "rows")?.object ?? [], as: UTF8.self)
    #expect(
      text == #"{"apple":{"a":2,"b":3,"c":1},"date":1000000.125,"zebra":1}"#)
    try store.write { try $0.put(Array("{".utf8), for: "bad", in: Bucket.bytes("rows")) }
    #expect(throws: DecodingError.self) { try store.snapshot().get("bad", in: bucket) }
  }

  @Test("A coder's version travels with each row, so old rows migrate when read")
  func migration() throws {
    let old = Bucket<String>(
      "names",
      coder: RowCoder(
        version: 1, encode: { Array($0.utf8) },
        decode: { b, _ in String(decoding: b, as: UTF8.self) }))
    let new = Bucket<String>(
      "names",
      coder: RowCoder(
        version: 2, encode: { Array($0.uppercased().utf8) },
        decode: { bytes, version in
          let text = String(decoding: bytes, as: UTF8.self)
          return version < 2 ? text.uppercased() : text
        }))
    let files = MemoryFiles()
    var store = try files.open(indexes: [])
    try store.write { tx in
      try tx.put("anna", for: "a", in: old)
      try tx.put("bert", for: "b", in: old)
    }
    try store.write { try $0.put(object: "carl", for: "b", in: new) }
    try store.write { try $0.put(metadata: [1], for: "a", in: "names") }
    try store.close()
    store = try files.open(indexes: [])
    let snapshot = try store.snapshot()
    #expect(try snapshot.get(["a", "b"], in: new) == ["ANNA", "CARL"])
    #expect(try snapshot.row("a", in: "names")?.coder == 1)
    #expect(try snapshot.row("b", in: "names")?.coder == 2)
    #expect(try store.snapshot(at: .commit(1)).get("b", in: new) == "BERT")
  }

  // MARK: - Reading many

  @Test("Several keys are read at once, in the order given, absent ones as nil")
  func multiGet() throws {
    let store = try Store.inMemory()
    for number in UInt8(0)..<10 { try store.put([number], for: Key("\(number)")) }
    let found = try store.snapshot().get(["7", "x", "3", "7"], in: blobs)
    #expect(found == [[7], nil, [3], [7]])
    #expect(try store.snapshot().get(["1"], in: Bucket<[UInt8]>.bytes("none")) == [nil])
  }

  @Test("Ranges are read both ways, bounded or not, up to a limit, and stopped at will")
  func ranges() throws {
    let store = try Store.tiny()
    try store.write { tx in
      for number in 10..<60 { try tx.put([UInt8(number)], for: Key("\(number)"), in: blobs) }
    }
    let snapshot = try store.snapshot()
    func keys(
      from lower: Key? = nil, to upper: Key? = nil, reversed: Bool = false, limit: Int = .max
    ) throws -> [Int] {
      try snapshot.rows(in: blobs, from: lower, to: upper, reversed: reversed, limit: limit).map {
        Int($0.row[0])
      }
    }
    #expect(try keys() == Array(10..<60))
    #expect(try keys(reversed: true) == Array((10..<60).reversed()))
    #expect(try keys(from: "2", to: "30") == Array(20..<30))
    #expect(try keys(from: "2", to: "30", reversed: true, limit: 3) == [29, 28, 27])
    #expect(try keys(from: "30", to: "2") == [])
    #expect(try keys(limit: 0) == [])
    var visited = 0
    try snapshot.forEachRow(in: "blobs") { _ in
      visited += 1
      return visited < 7
    }
    #expect(visited == 7)
  }
}
