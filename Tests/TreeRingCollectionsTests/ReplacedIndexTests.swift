// An index that is redefined while trackers and collections show it: they then show the rows of the
// new definition, and report only the differences.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections

@Suite("Replaced indexes", .leavesSoundStores) struct ReplacedIndexTests {
  private static let definitions: [FieldIndex] = {
    let rules: [(order: String, descending: Bool)] = [
      ("sales", false), ("sales", true), ("year", false), ("year", true),
    ]
    return rules.compactMap { rule in
      try? FieldIndex(
        bucket: "books", group: "genre",
        order: [.init(rule.order, descending: rule.descending)])
    }
  }()

  struct DatedBook: Codable, Hashable, Sendable {
    var genre: String
    var sales: Int
    var year: Int
  }
  private static let books = Bucket<DatedBook>("books")

  private static func commit(to store: Store, using random: inout SeededGenerator) throws {
    let edits = (0..<Int.random(in: 1...4, using: &random)).map { _ in
      (
        key: Key("book \(Int.random(in: 0..<20, using: &random))"),
        book: Int.random(in: 0..<5, using: &random) == 0
          ? nil
          : DatedBook(
            genre: Bool.random(using: &random) ? "a" : "b",
            sales: Int.random(in: 0..<9, using: &random),
            year: Int.random(in: 1990..<2020, using: &random))
      )
    }
    try store.write { tx in
      for edit in edits {
        if let book = edit.book {
          try tx.put(book, for: edit.key, in: books)
        } else {
          _ = try tx.delete(edit.key, in: books)
        }
      }
    }
  }

  /// Defines the index by any of the rules.
  private static func define(in store: Store, using random: inout SeededGenerator) throws {
    try store.define("order", definitions.randomElement(using: &random) ?? definitions[0])
  }

  private static func listed(_ store: Store, _ groups: [GroupName]) throws -> [Key] {
    let index = try store.snapshot().index("order")
    return try groups.flatMap { try index.rows(in: $0) }.map(\.key)
  }

  @Test(arguments: seeds(1...20)) func aTrackerShowsTheRowsOfTheNewDefinition(seed: UInt64) throws {
    let store = try Store.inMemory()
    var random = SeededGenerator(seed: seed)
    try store.define("order", Self.definitions[0])
    for _ in 0..<6 { try Self.commit(to: store, using: &random) }
    let groups: [GroupName] = ["a", "b"]
    var tracker = try Tracker(
      of: TrackerRequest(Self.books, index: "order", groups: groups), in: store)
    let consumer = PlainConsumer<TrackedRow<DatedBook>>()
    try consumer.reset(applying: tracker.transactionsForCurrentState)
    for _ in 0..<15 {
      let replaces = Int.random(in: 0..<3, using: &random) == 0
      if replaces {
        try Self.define(in: store, using: &random)
      }
      let commits = Int.random(in: replaces ? 0...2 : 1...2, using: &random)
      for _ in 0..<commits { try Self.commit(to: store, using: &random) }
      let batch = try tracker.advance()
      consumer.willChange()
      consumer.consume(batch)
      _ = try consumer.didChange(returnChanges: false)
      #expect(tracker.rows.map(\.id.key) == (try Self.listed(store, groups)), "seed \(seed)")
      #expect(consumer.items == tracker.rows, "seed \(seed)")
      if commits == 0 {
        // No row was written: rows move, and none is reported as changed.
        #expect(
          batch.allSatisfy { if case .move = $0 { true } else { false } }, "seed \(seed)")
      }
    }
  }

  @Test(arguments: seeds(1...20)) func aLiveCollectionShowsTheRowsOfTheNewDefinition(
    seed: UInt64
  ) throws {
    for mode in Stage.modes {
      let store = try Store.inMemory()
      var random = SeededGenerator(seed: seed)
      try store.define("order", Self.definitions[0])
      for _ in 0..<8 { try Self.commit(to: store, using: &random) }
      let executor = TestExecutor()
      let live = LiveCollection(
        source: StoreSource(
          store: store, bucket: "books", scope: .group(index: "order", "a"), snapshot: nil,
          executor: executor),
        options: CollectionOptions(
          order: .source, mode: mode, prepareTimeout: nil, executor: executor)
      ) { row in
        NoteModel(
          identifier: row.key.description, text: nil, number: try Self.books.decode(row).sales)
      }
      for _ in 0..<25 {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try Self.commit(to: store, using: &random)
        case 1: try Self.define(in: store, using: &random)
        case 2: live.startLoading(Bool.random(using: &random) ? .forward : .backward)
        default: executor.step(using: &random)
        }
      }
      executor.run(using: &random)
      for direction in [LoadDirection.forward, .backward] {
        var loads = 0
        while live.startLoading(direction) != .atEnd, loads < 60 {
          executor.run(using: &random)
          loads += 1
        }
        #expect(loads < 60, "there is no end, seed \(seed), \(mode)")
      }
      // A definition alone, with no row written after it.
      for definition in Self.definitions {
        try store.define("order", definition)
        executor.run(using: &random)
        #expect(
          live.shown.map(\.identifier) == (try Self.listed(store, ["a"]).map(\.description)),
          "seed \(seed), \(mode)")
      }
      live.stop()
      executor.run(using: &random)
    }
  }
}
