// A row that moves from group to group is one row: it keeps the values that a recurrent consumer
// carries over.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections
@testable import TreeRingMappings

/// A tracked row and a value that only the list has.
private struct Kept<Row> {
  let row: Row
  var mark: String?
}

@Suite(.leavesSoundStores) struct CarryOverTests {
  private static func put(_ library: Library, _ key: Key, _ genre: String, _ sales: Int) throws {
    try library.store.write { try $0.put(Book(genre: genre, sales: sales), for: key, in: books) }
  }

  private static func kinds<Model>(_ batch: [ListTransaction<Model>]) -> [String] {
    batch.map {
      switch $0 {
      case .insert: "insert"
      case .delete: "delete"
      case .update: "update"
      case .move: "move"
      }
    }.sorted()
  }

  private static func marked<Row>() -> RecurrentConsumer<Kept<Row>> {
    RecurrentConsumer { old, new in Kept(row: new.row, mark: old.mark) }
  }

  @Test func aTrackedRowThatChangesItsGroupIsAMove() throws {
    let library = try Library(seed: 1)
    for (key, genre, sales) in [("x", "a", 9), ("y", "a", 8), ("z", "b", 7)] as [(Key, String, Int)]
    {
      try Self.put(library, key, genre, sales)
    }
    var tracker = try Tracker(
      of: TrackerRequest(books, index: "SalesRank", groups: ["a", "b"]), in: library.store)
    let consumer: RecurrentConsumer<Kept<TrackedRow<Book>>> = Self.marked()
    consumer.reset(with: tracker.rows.map { Kept(row: $0, mark: "\($0.id.key)") })
    try Self.put(library, "x", "b", 1)
    let batch = try tracker.advance()
    #expect(Self.kinds(batch) == ["move", "update"])
    consumer.willChange()
    consumer.consume(batch.map { $0.map { Kept(row: $0, mark: nil) } })
    try consumer.didChange()
    #expect(consumer.items.map(\.mark) == ["y", "z", "x"])
    #expect(consumer.items.map(\.row) == tracker.rows)
    // The row leaves a list of two behind its end, and another one enters before it.
    var first = try Tracker(
      of: TrackerRequest(books, index: "SalesRank", groups: ["a", "b"]).first(2),
      in: library.store)
    try Self.put(library, "y", "b", 0)
    #expect(Self.kinds(try first.advance()) == ["delete", "insert"])
  }

  @Test(arguments: seeds(1...10)) func marksFollowTheirRowsThroughTrackers(seed: UInt64) throws {
    var library = try Library(seed: seed)
    try library.commit(20)
    let request = TrackerRequest(books, index: "SalesRank", groups: ["c", "a", "b"])
    var tracker = try Tracker(of: request, in: library.store)
    let consumer: RecurrentConsumer<Kept<TrackedRow<Book>>> = Self.marked()
    consumer.reset(with: tracker.rows.map { Kept(row: $0, mark: "\($0.id.key)") })
    for _ in 0..<12 {
      try library.commit()
      let before = Set(tracker.rows.map(\.id))
      let marks = Dictionary(
        uniqueKeysWithValues: consumer.items.map { ($0.row.id, $0.mark) })
      let batch = try tracker.advance()
      consumer.willChange()
      consumer.consume(batch.map { $0.map { Kept(row: $0, mark: nil) } })
      try consumer.didChange()
      #expect(consumer.items.map(\.row) == tracker.rows)
      for item in consumer.items where before.contains(item.row.id) {
        #expect(item.mark == marks[item.row.id], "seed \(seed)")
      }
    }
  }

  static let mappings: [Mappings] = [
    Mappings(of: "SalesRank", groups: ["a", "b", "c"]).hidingEmptySections(),
    Mappings(of: "SalesRank", groups: ["a", "b", "c"]).consolidated(below: 6, as: "all"),
    Mappings(
      of: "SalesRank", groupsWhere: { $0.count > 1 },
      orderedBy: { [.descending($0.first(in: books)?.sales, nils: .last)] }),
  ]

  @Test(arguments: seeds(1...10)) func marksFollowTheirRowsThroughMappings(seed: UInt64) throws {
    for mappings in Self.mappings {
      var library = try Library(seed: seed)
      try library.commit(8)
      var observer = library.store.observer(of: mappings, limit: .max)
      let consumer: RecurrentConsumer<Kept<ChangedRow>> = Self.marked()
      let first = try observer.advance()
      try consumer.reset(
        applying: first.transactions().map { $0.map { Kept(row: $0, mark: "\($0.row.key)") } })
      for _ in 0..<12 {
        try library.commit(4)
        let change = try observer.advance()
        let marks = Dictionary(
          uniqueKeysWithValues: consumer.items.map { ($0.row.row, $0.mark) })
        consumer.willChange()
        consumer.consume(try change.transactions().map { $0.map { Kept(row: $0, mark: nil) } })
        try consumer.didChange()
        #expect(consumer.items.map(\.row.row) == change.after.sections.flatMap { Array($0) })
        for item in consumer.items {
          guard let mark = marks[item.row.row] else { continue }
          #expect(item.mark == mark, "seed \(seed), \(item.row.row)")
        }
      }
    }
  }
}
