import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections

struct Book: Codable, Hashable, Sendable {
  var genre: String
  var sales: Int
}

let books = Bucket<Book>("books")
let salesRank = GroupIndex("SalesRank", on: books, version: 1) { book in
  Place(in: book.genre, by: .descending(book.sales))
}

/// A store of books with random commits.
struct Library {
  let store: Store
  var random: SeededGenerator
  let genres = ["a", "b", "c"]

  init(seed: UInt64, _ options: StoreOptions = StoreOptions()) throws {
    random = SeededGenerator(seed: seed)
    var options = options
    options.durability = .unsynced
    options.indexes = [salesRank]
    store = try Store.inMemory(options: options)
  }

  init(seed: UInt64, in store: Store) {
    random = SeededGenerator(seed: seed)
    self.store = store
  }

  mutating func commit(_ count: Int? = nil) throws {
    let count = count ?? Int.random(in: 1...6, using: &random)
    var random = random
    try store.write { tx in
      for _ in 0..<count {
        let key = Key("book \(Int.random(in: 0..<25, using: &random))")
        if Int.random(in: 0..<4, using: &random) == 0 {
          try tx.delete(key, in: "books")
        } else {
          let book = Book(
            genre: genres[Int.random(in: 0..<3, using: &random)],
            sales: Int.random(in: 0..<12, using: &random))
          try tx.put(book, for: key, in: books)
        }
      }
    }
    self.random = random
  }
}

@Suite(.leavesSoundStores) struct TrackerTests {
  @Test func aTypedHandleAndValuesGiveTheRequestThatNamesGive() {
    let index = Index(named: "SalesRank", on: books, group: Int.self)
    let named = TrackerRequest(books, index: "SalesRank", groups: ["7", "3"])
    #expect(TrackerRequest(index, groups: [7, 3]).scope == named.scope)
    #expect(TrackerRequest(books, index: "SalesRank", groups: [7, 3]).scope == named.scope)
  }

  @Test(arguments: [1, 3, Store.newestAttempts])
  func aTrackerRetriesAnExpiredReadALimitedNumberOfTimes(times: Int) throws {
    let store = try Library(seed: 9, StoreOptions(pinLimit: PinLimit(commits: 2))).store
    let (written, wanted) = (Counter(), Counter())
    /// Makes more commits than a snapshot outlives, and drops the history that readers pin.
    @Sendable func overtake() {
      do {
        for _ in 0..<4 { try store.write { try $0.put([1, 2], for: "k", in: .bytes("other")) } }
        try store.compact(to: .dropHistory)
      } catch {
        Issue.record(error)
      }
    }
    /// Overtakes the reader of a row, as often as wanted; then the next row is no longer readable.
    let request = TrackerRequest(books, index: "SalesRank", groups: ["a"]).matching { _ in
      if written.count < wanted.count {
        _ = written.next()
        overtake()
      }
      return true
    }
    try store.write { tx in
      try tx.put(Book(genre: "a", sales: 100), for: "first", in: books)
      try tx.put(Book(genre: "a", sales: 1), for: "second", in: books)
    }
    for _ in 0..<min(times, 3) { _ = wanted.next() }
    var tracker = try Tracker(of: request, in: store)
    #expect(written.count == min(times, 3))
    #expect(tracker.commit == store.newestCommit && tracker.rows.map(\.row.sales) == [100, 1])
    try store.write { tx in
      try tx.put(Book(genre: "a", sales: 200), for: "first", in: books)
      try tx.put(Book(genre: "a", sales: 2), for: "second", in: books)
    }
    // The tracker's own snapshot has expired too: it reads everything again.
    overtake()
    let before = written.count
    for _ in 0..<times { _ = wanted.next() }
    if times == Store.newestAttempts {
      #expect {
        _ = try tracker.advance()
      } throws: {
        ($0 as? TreeRingError)?.code == .snapshotExpired
      }
      #expect(written.count - before == times && tracker.rows.map(\.row.sales) == [100, 1])
    }
    #expect(try !tracker.advance().isEmpty)
    #expect(written.count - before == times)
    #expect(tracker.commit == store.newestCommit && tracker.rows.map(\.row.sales) == [200, 2])
  }

  static let requests: [TrackerRequest<Book>] = [
    TrackerRequest(books),
    TrackerRequest(books).first(5),
    TrackerRequest(books).matching { $0.row.sales > 4 }.first(3),
    TrackerRequest(books).sorted { $0.row.sales < $1.row.sales }.first(6),
    TrackerRequest(books, index: "SalesRank", groups: ["b"]),
    TrackerRequest(books, index: "SalesRank", groups: ["c", "a"]).first(7),
    TrackerRequest(books, index: "SalesRank", groups: ["a", "b", "c"])
      .matching { $0.row.sales % 3 != 0 }.sorted { $0.row.genre > $1.row.genre },
    TrackerRequest(books).first(0),
    TrackerRequest(books).first(4, after: 3),
    TrackerRequest(books).sorted { $0.row.sales < $1.row.sales }.first(5, after: 2),
    TrackerRequest(books, index: "SalesRank", groups: ["c", "a"]).first(.max, after: 6),
    TrackerRequest(books).matching { $0.row.sales > 9 }.first(3, after: 4),
  ]

  @Test(arguments: seeds(1...25)) func aConsumerFedByATrackerEqualsTheStore(seed: UInt64) throws {
    var library = try Library(seed: seed)
    try library.commit(20)
    for (number, request) in Self.requests.enumerated() {
      var tracker = try Tracker(of: request, in: library.store)
      let consumer = PlainConsumer<TrackedRow<Book>>()
      try consumer.reset(applying: tracker.transactionsForCurrentState)
      for _ in 0..<15 {
        for _ in 0..<Int.random(in: 1...2, using: &library.random) { try library.commit() }
        let before = tracker.rows
        let batch = try tracker.advance()
        consumer.willChange()
        consumer.consume(batch)
        let changes = try #require(try consumer.didChange(returnChanges: true))
        let fresh = try Tracker(of: request, in: library.store)
        #expect(consumer.items == fresh.rows, "seed \(seed), request \(number)")
        #expect(tracker.rows == fresh.rows)
        if batch.contains(where: { if case .update = $0 { true } else { false } }) == false {
          #expect(changes.count >= batch.count, "seed \(seed), request \(number)")
        }
        if before == fresh.rows { #expect(changes.moves.isEmpty && changes.inserts.isEmpty) }
      }
    }
  }

  @Test func aTrackerGoesBackInTime() throws {
    var library = try Library(seed: 3)
    for _ in 0..<10 { try library.commit() }
    let early = try library.store.snapshot(at: .commit(4))
    for request in Self.requests {
      var tracker = try Tracker(of: request, in: library.store)
      let now = tracker.rows
      _ = try tracker.advance(to: early)
      #expect(tracker.rows == (try Tracker(of: request, in: library.store, at: early)).rows)
      _ = try tracker.advance()
      #expect(tracker.rows == now)
    }
  }

  @Test func rowsSlideIntoAndOutOfTheLimitInOneBatch() throws {
    let store = try Store.inMemory(
      options: StoreOptions(durability: .unsynced, indexes: [salesRank]))
    for sales in 1...4 {
      try store.write { tx in
        try tx.put(Book(genre: "a", sales: sales), for: Key("\(sales)"), in: books)
      }
    }
    var tracker = try Tracker(
      of: TrackerRequest(books, index: "SalesRank", groups: ["a"]).first(2), in: store)
    #expect(tracker.rows.map(\.row.sales) == [4, 3])
    try store.write { tx in try tx.delete("4", in: "books") }
    let book = TrackedRow(
      id: RowID(bucket: "books", key: "2"), row: Book(genre: "a", sales: 2))
    #expect(try tracker.advance() == [.delete(index: 0), .insert(book, newIndex: 1)])
  }

  @Test(arguments: seeds(1...10)) func anOffsetLeavesOutThatManyRows(seed: UInt64) throws {
    var library = try Library(seed: seed)
    try library.commit(20)
    let all = TrackerRequest(books).sorted { $0.row.sales < $1.row.sales }
    for offset in [0, 1, 5, 30] {
      for limit in [0, 1, 4, Int.max] {
        var tracker = try Tracker(of: all.first(limit, after: offset), in: library.store)
        for _ in 0..<4 {
          try library.commit()
          _ = try tracker.advance()
          let rows = try Tracker(of: all, in: library.store).rows.dropFirst(offset).prefix(limit)
          #expect(tracker.rows == Array(rows), "seed \(seed), \(limit) rows after \(offset)")
        }
      }
    }
  }

  @Test func rowsSlideThroughBothEndsOfALimitWithAnOffset() throws {
    let store = try Store.inMemory(
      options: StoreOptions(durability: .unsynced, indexes: [salesRank]))
    func put(_ sales: Int) throws {
      try store.write { tx in
        try tx.put(Book(genre: "a", sales: sales), for: Key("\(sales)"), in: books)
      }
    }
    func book(_ sales: Int) -> TrackedRow<Book> {
      TrackedRow(
        id: RowID(bucket: "books", key: Key("\(sales)")), row: Book(genre: "a", sales: sales))
    }
    for sales in 1...5 { try put(sales) }
    let request = TrackerRequest(books, index: "SalesRank", groups: ["a"]).first(2, after: 1)
    var tracker = try Tracker(of: request, in: store)
    #expect(tracker.rows.map(\.row.sales) == [4, 3])
    try put(6)
    #expect(try tracker.advance() == [.delete(index: 1), .insert(book(5), newIndex: 0)])
    try store.write { tx in try tx.delete("6", in: "books") }
    #expect(try tracker.advance() == [.delete(index: 0), .insert(book(3), newIndex: 1)])
    try put(0)
    #expect(try tracker.advance().isEmpty)
  }

  @Test func batchesArriveAsCommitsBecomeVisible() async throws {
    var library = try Library(seed: 7)
    let tracker = try Tracker(of: TrackerRequest(books), in: library.store)
    var batches = tracker.batches.makeAsyncIterator()
    try await library.store.write { tx in
      try tx.put(Book(genre: "a", sales: 1), for: "new", in: books)
    }
    let batch = try #require(try await batches.next())
    #expect(batch.count == 1)
    try library.commit()
    _ = try await batches.next()
    #expect(
      batches.tracker.rows == (try Tracker(of: TrackerRequest(books), in: library.store)).rows)
  }

  @Test func aDeliveryIsBeginTransactionsEndAndAbsentWithoutAChange() throws {
    final class Recorder: TrackerDelegate {
      var calls: [String] = []
      func trackerWillChange() { calls.append("begin") }
      func tracker(did transactions: [ListTransaction<TrackedRow<Book>>]) {
        calls.append("\(transactions.count)")
      }
      func trackerDidChange() { calls.append("end") }
    }
    let library = try Library(seed: 1)
    var tracker = try Tracker(
      of: TrackerRequest(books).matching { $0.row.sales > 0 }, in: library.store)
    let recorder = Recorder()
    try tracker.deliver(to: recorder)
    #expect(recorder.calls.isEmpty)
    try library.store.write { tx in
      try tx.put(Book(genre: "a", sales: 1), for: "1", in: books)
      try tx.put(Book(genre: "a", sales: 2), for: "2", in: books)
    }
    try library.store.write { tx in try tx.delete("1", in: "books") }
    try tracker.deliver(to: recorder)
    #expect(recorder.calls == ["begin", "1", "end"])
    // A commit without effect on the shown rows is no delivery.
    try library.store.write { tx in
      try tx.put(Book(genre: "a", sales: 0), for: "3", in: books)
    }
    try tracker.deliver(to: recorder)
    #expect(recorder.calls.count == 3)
    #expect(tracker.commit == library.store.newestCommit)
  }

  @Test(arguments: seeds(1...10)) func aTrackerWhoseSnapshotHasExpiredComparesAllRows(
    seed: UInt64
  ) throws {
    for request in Self.requests {
      var library = try Library(seed: seed, StoreOptions(pinLimit: PinLimit(commits: 2)))
      try library.commit(20)
      var tracker = try Tracker(of: request, in: library.store)
      let consumer = PlainConsumer<TrackedRow<Book>>(isEqual: { $0 == $1 })
      consumer.reset(with: tracker.rows)
      for _ in 0..<4 {
        for _ in 0..<6 { try library.commit() }
        _ = try library.store.compact(to: .dropHistory)
        consumer.willChange()
        consumer.consume(try tracker.advance())
        try consumer.didChange()
        #expect(consumer.items == (try Tracker(of: request, in: library.store)).rows)
        #expect(consumer.items == tracker.rows)
      }
    }
  }

  @Test func aTrackerThrowsReadErrorsAndKeepsItsState() throws {
    let store = try Store.inMemory(options: StoreOptions(durability: .unsynced))
    #expect {
      try Tracker(of: TrackerRequest(books, index: "none", groups: ["a"]), in: store)
    } throws: {
      ($0 as? TreeRingError)?.code == .notFound
    }
    try store.write { tx in try tx.put(Book(genre: "a", sales: 1), for: "1", in: books) }
    var tracker = try Tracker(of: TrackerRequest(books), in: store)
    let notes = Bucket<String>("books")
    try store.write { tx in try tx.put("no book", for: "2", in: notes) }
    #expect(throws: (any Error).self) { try tracker.advance() }
    #expect(tracker.rows.count == 1)
    try store.write { tx in try tx.delete("2", in: "books") }
    #expect(try tracker.advance().isEmpty)
    try store.close()
    #expect { try tracker.advance() } throws: { ($0 as? TreeRingError)?.code == .closed }
  }
}
