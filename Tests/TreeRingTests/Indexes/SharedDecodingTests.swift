// Indexes defined by closures share one decoding of a row by their bucket's coder. A coder counts
// the decodings.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("One decoding of a row for all indexes", .leavesSoundStores)
struct SharedDecodingTests {
  private let decodings = Counter()
  private let bucket: Bucket<Note>
  private let files = MemoryFiles()

  init() {
    let decodings = decodings
    bucket = Bucket(
      "notes",
      coder: RowCoder(
        encode: { Array("\($0.group ?? "-"),\($0.number)".utf8) },
        decode: { bytes, _ in
          _ = decodings.next()
          let parts = String(decoding: bytes, as: UTF8.self).split(separator: ",")
          guard parts.count == 2, let number = Int(parts[1]) else { throw Unreadable() }
          return Note(group: parts[0] == "-" ? nil : String(parts[0]), number: number)
        }))
  }

  private struct Unreadable: Error {}

  /// Indexes of every kind that uses decoded rows.
  private var indexes: [GroupIndex] {
    let places = (0..<3).map { number in
      GroupIndex("places\(number)", on: bucket, version: 1) { (note: Note) in
        note.group.map { Place(in: $0, by: .ascending(note.number + number)) }
      }
    }
    return places + [
      GroupIndex("keyed", on: bucket, version: 1) { (row: IndexedRow<Note>) in
        Place(in: row.key.description, by: .ascending(row.row.number))
      },
      GroupIndex("few", filtering: "places0", on: bucket, version: 1) { $0.row.number < 5 },
    ]
  }

  private var compared: GroupIndex {
    GroupIndex(
      "compared", on: bucket, version: 1, groupedBy: { (note: Note) in note.group },
      sortedBy: { (a: Note, b: Note) in a.number > b.number })
  }

  /// The number of rows that `body` decodes.
  private func count(_ body: () throws -> Void) rethrows -> Int {
    let before = decodings.count
    try body()
    return decodings.count - before
  }

  private func undecodable(_ store: Store) throws -> [Int] {
    try store.statistics().undecodable.sorted { $0.key < $1.key }.map(\.value)
  }

  @Test("A row that is put, replaced or touched is decoded once, a deleted one never")
  func writes() throws {
    let store = try files.open(indexes: indexes)
    func put(_ number: Int) throws {
      try store.write { try $0.put(Note(group: "g", number: number), for: "a", in: bucket) }
    }
    #expect(try count { try put(1) } == 1)
    #expect(try count { try put(2) } == 1)
    #expect(try count { try put(2) } == 1)
    #expect(try count { try store.write { try $0.put(metadata: [1], for: "a", in: bucket) } } == 1)
    #expect(try count { try store.write { try $0.touch("a", in: bucket) } } == 1)
    #expect(try store.snapshot().index("few").keys("g") == ["a"])
    #expect(try count { try store.write { try $0.delete("a", in: bucket) } } == 0)
    #expect(try store.checkInvariants() == [])
  }

  @Test("An index that compares rows decodes the row it places once")
  func comparing() throws {
    let store = try files.open(indexes: indexes + [compared])
    func put(_ key: Key, _ group: String) throws {
      try store.write { try $0.put(Note(group: group, number: 1), for: key, in: bucket) }
    }
    #expect(try count { try put("a", "g") } == 1)
    #expect(try count { try put("b", "h") } == 1)
    #expect(try count { try put("c", "g") } == 2, "the new row, and the one in its group")
  }

  @Test("A row that cannot be decoded is tried once, and counted in each index")
  func undecodable() throws {
    let store = try files.open(indexes: indexes + [compared])
    func put(_ text: String) throws {
      try store.write { tx in
        try Array(text.utf8).withUnsafeBytes { bytes in
          try Array("a".utf8).withUnsafeBytes {
            try tx.put($0, in: "notes", object: bytes, metadata: nil)
          }
        }
      }
    }
    #expect(try count { try put("nonsense") } == 1)
    #expect(try undecodable(store) == [1, 1, 1, 1, 1, 1])
    #expect(try count { try put("rubbish") } == 2, "the old row and the new one")
    #expect(try undecodable(store) == [1, 1, 1, 1, 1, 1])
    #expect(try count { try put("g,1") } == 2)
    #expect(try undecodable(store) == [])
    #expect(try store.checkInvariants() == [])
  }

  @Test("Replaying the log and building several indexes decodes each row once")
  func replay() throws {
    let rowCount = 600
    func check(_ indexes: [GroupIndex]) throws {
      try fileSystem.unlink("store/pages")
      var store: Store?
      #expect(try count { store = try files.open(indexes: indexes) } == rowCount)
      let opened = try #require(store)
      #expect(try opened.snapshot().index("places1").keys("g").count == rowCount)
      #expect(try opened.snapshot().index("few").keys("g") == ["k1", "k2", "k3", "k4"])
      #expect(try opened.checkInvariants() == [])
      try opened.close()
    }
    let store = try files.open(indexes: indexes)
    try store.write { tx in
      for number in 1...rowCount {
        try tx.put(Note(group: "g", number: number), for: Key("k\(number)"), in: bucket)
      }
    }
    try store.close()
    try check(indexes)
    // A store opened without the closures leaves their indexes stale.
    let without = try files.open(indexes: [])
    try without.put([1], for: "other")
    try without.close()
    try check(indexes)
  }

  private var fileSystem: MemoryFileSystem { files.fileSystem }

  @Test("Each of several coders of a bucket decodes a row for its own indexes")
  func severalCoders() throws {
    struct Numbered: Codable, Sendable { var number: Int }
    let other = Counter()
    let numbers = Bucket(
      "notes",
      coder: RowCoder<Numbered>(
        encode: { Array("-,\($0.number)".utf8) },
        decode: { bytes, _ in
          _ = other.next()
          let text = String(decoding: bytes, as: UTF8.self)
          return Numbered(number: text.split(separator: ",").last.flatMap { Int($0) } ?? 0)
        }))
    let odd = (0..<2).map { number in
      GroupIndex("odd\(number)", on: numbers, version: 1) { (row: Numbered) in
        row.number % 2 == 1 ? Place(in: "odd", by: .ascending(row.number)) : nil
      }
    }
    let store = try files.open(indexes: indexes + odd)
    let found = try count {
      try store.write { try $0.put(Note(group: "g", number: 3), for: "a", in: bucket) }
    }
    #expect(found == 1 && other.count == 1)
    #expect(try store.snapshot().index("odd1").keys("odd") == ["a"])
    #expect(try store.snapshot().index("places2").keys("g") == ["a"])
  }

  @Test("JSON coders of one type share decoded rows, those of two types do not")
  func identities() {
    struct Other: Codable, Sendable {}
    #expect(Bucket<Note>("a").coder.identity == Bucket<Note>("b").coder.identity)
    #expect(Bucket<Note>("a").coder.identity != Bucket<Other>("a").coder.identity)
    #expect(bucket.coder.identity == indexesBucket.coder.identity)
    #expect(bucket.coder.identity != SharedDecodingTests().bucket.coder.identity)
  }

  private var indexesBucket: Bucket<Note> { Bucket("copy", coder: bucket.coder) }
}
