// The hot paths whose instructions Tools/instructions counts: fixed work on one thread, in stores
// too small for a checkpoint. Only the measured part of each is counted.

internal import BenchmarkHarness
internal import Foundation
internal import TreeRing
internal import TreeRingMappings
internal import TreeRingStreams

/// A hot path.
struct HotPath: Sendable {
  let name: String
  /// Prepares a store in a folder and measures operations. Returns their number.
  let run: @Sendable (_ folder: String, _ work: MeasuredWork) throws -> Int

  static let all = [
    HotPath(name: "random get") { folder, work in
      let loaded = try Loaded(folder)
      var random = Random(seed: 1)
      let keys = random.rows(10_000, below: Loaded.count).map { PlainRows.key($0) }
      let snapshot = try loaded.store.snapshot()
      var sum: UInt64 = 0
      try work.measure {
        for key in keys {
          sum &+= try snapshot.withObject(of: key, in: "rows") { bytes, _ in digestOf(bytes) } ?? 0
        }
      }
      guard sum != 0 else { throw WrongResult("no row was read") }
      return keys.count
    },
    HotPath(name: "scan") { folder, work in
      let loaded = try Loaded(folder)
      let digests = Bucket<UInt64>(
        "rows", coder: RowCoder(encode: { _ in [] }, decode: { bytes, _ in digestOf(bytes) }))
      let snapshot = try loaded.store.snapshot()
      var count = 0
      try work.measure {
        try snapshot.forEach(in: digests) { _, _ in
          count += 1
          return true
        }
      }
      guard count == Loaded.count else { throw WrongResult("the scan is not complete") }
      return count
    },
    HotPath(name: "put in key order") { folder, work in
      try put(Array(0..<5_000), in: folder, work)
    },
    HotPath(name: "put in random order") { folder, work in
      var random = Random(seed: 2)
      return try put(random.rows(5_000, below: 1 << 40), in: folder, work)
    },
    HotPath(name: "commit without a sync") { folder, work in
      let store = try open(folder)
      let rows = PlainRows()
      var random = Random(seed: 3)
      let order = random.rows(1_000, below: 1 << 40)
      try work.measure {
        for row in order { try store.write { try rows.put(row, $0) } }
      }
      return order.count
    },
    HotPath(name: "append to a stream") { folder, work in
      let store = try open(folder)
      let streams = (0..<64).map { store.stream("order-\($0)") }
      let data = Array(#"{"note":"\#(String(repeating: "n", count: 80))"}"#.utf8)
      let placed = NewEvent(type: "OrderPlaced", data: data)
      for stream in streams { try stream.append(placed) }
      let count = 1_000
      try work.measure {
        for number in 0..<count {
          let expected = ExpectedRevision.exactly(UInt64(number / streams.count))
          try streams[number % streams.count].append(placed, expecting: expected)
        }
      }
      return count
    },
    HotPath(name: "batch of 100 rows of JSON") { folder, work in
      let data = Dataset(count: 1_000, kind: .json)
      let keys = data.keys.map { Key(bytes: $0) }
      let store = try open(folder)
      try work.measure {
        for start in stride(from: 0, to: data.count, by: 100) {
          try store.write { tx in
            for row in start..<start + 100 {
              try tx.put(data.value(row), for: keys[row], in: PlainRows.bucket)
            }
          }
        }
      }
      return data.count
    },
    HotPath(name: "replay") { folder, work in
      try Loaded(folder).store.close()
      try FileManager.default.removeItem(atPath: folder + "/pages")
      var store: Store?
      try work.measure { store = try open(folder) }
      guard try store?.snapshot().count(in: "rows") == Loaded.count else {
        throw WrongResult("the replay is not complete")
      }
      return Loaded.count
    },
    HotPath(name: "changeset of 10 rows") { folder, work in
      let store = try indexed(folder)
      var observer = store.observer(of: Mappings(of: "order", groups: ["all"]))
      _ = try observer.advance()
      var random = Random(seed: 4)
      var operations = 0
      for _ in 0..<50 {
        let rows = random.rows(10, below: indexedCount)
        try store.write { tx in
          for row in rows { try putIndexed(row, place: random.next() >> 12, tx) }
        }
        try work.measure { operations += try observer.advance().changeset.count }
      }
      guard operations > 0 else { throw WrongResult("no change was found") }
      return 50
    },
    HotPath(name: "position of a row") { folder, work in
      let store = try indexed(folder)
      let group = try store.snapshot().index("order").group("all")
      var random = Random(seed: 5)
      let ids = random.rows(5_000, below: indexedCount).map {
        RowID(bucket: "rows", key: PlainRows.key($0))
      }
      var sum = 0
      try work.measure { for id in ids { sum += try group.index(of: id) ?? 0 } }
      guard sum > 0 else { throw WrongResult("no row has a position") }
      return ids.count
    },
    HotPath(name: "row at a position") { folder, work in
      let store = try indexed(folder)
      let group = try store.snapshot().index("order").group("all")
      var random = Random(seed: 5)
      let positions = random.rows(5_000, below: indexedCount)
      var sum = 0
      try work.measure {
        for place in positions { sum += try group.id(at: place)?.key.bytes.count ?? 0 }
      }
      guard sum > 0 else { throw WrongResult("no row is at a position") }
      return positions.count
    },
    HotPath(name: "typed get") { folder, work in
      let store = try open(folder)
      let bucket = Bucket<Shipment>("shipments")
      try store.write { tx in
        for id in 0..<1_000 { try tx.put(Shipment(id), for: Key(String(id)), in: bucket) }
      }
      let keys = (0..<1_000).map { Key(String($0 * 7 % 1_000)) }
      let snapshot = try store.snapshot()
      var sum = 0
      try work.measure { for key in keys { sum += try snapshot.get(key, in: bucket)?.weight ?? 0 } }
      guard sum > 0 else { throw WrongResult("no row was read") }
      return keys.count
    },
    HotPath(name: "text index of a document") { folder, work in
      let store = try open(folder)
      try putDocuments(store)
      try work.measure { try store.define(try words()) }
      guard try store.snapshot().text("words").count == documentCount else {
        throw WrongResult("the index lacks documents")
      }
      return documentCount
    },
  ]

  private static let documentCount = 2_000

  private static func words() throws -> TextIndex {
    try TextIndex("words", on: PlainRows.bucket, fields: ["t"])
  }

  /// Puts documents of a hundred words, of which the first are the most frequent.
  private static func putDocuments(_ store: Store) throws {
    var random = Random(seed: 6)
    try store.write { tx in
      for row in 0..<documentCount {
        let ranks = random.rows(100, below: 1 << 15).map { $0 * $0 >> 19 }
        let text = ranks.map { "w\($0)" }.joined(separator: " ")
        try tx.put(Array("{\"t\":\"\(text)\"}".utf8), for: PlainRows.key(row), in: PlainRows.bucket)
      }
    }
  }

  private static func open(_ folder: String) throws -> Store {
    try Store(at: folder, options: StoreOptions(durability: .unsynced, memoryBudget: 512 << 20))
  }

  /// Puts rows in one transaction. Its commit is not measured: the thread that compresses full
  /// blocks leaves a changing number of them to it.
  private static func put(_ order: [Int], in folder: String, _ work: MeasuredWork) throws -> Int {
    let store = try open(folder)
    let rows = PlainRows()
    try store.write { tx in
      try work.measure { for row in order { try rows.put(row, tx) } }
    }
    return order.count
  }

  /// A store of plain rows.
  private struct Loaded {
    static let count = 8_000
    let store: Store

    init(_ folder: String) throws {
      store = try open(folder)
      let rows = PlainRows()
      try store.write { tx in
        // All rows, in no order.
        for row in 0..<Self.count { try rows.put(row * 4_999 % Self.count, tx) }
      }
    }
  }

  private static let indexedCount = 5_000

  /// A store of rows in one group of an index.
  private static func indexed(_ folder: String) throws -> Store {
    let store = try open(folder)
    try store.define("order", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    try store.write { tx in
      for row in 0..<indexedCount { try putIndexed(row, place: mix(UInt64(row)) >> 12, tx) }
    }
    return store
  }

  private static func putIndexed(_ row: Int, place: UInt64, _ tx: Transaction) throws {
    try tx.put(
      Array("{\"g\":\"all\",\"n\":\(place)}".utf8), for: PlainRows.key(row), in: PlainRows.bucket)
  }
}
