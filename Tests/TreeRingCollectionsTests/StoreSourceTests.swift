import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections

private struct BookModel: ValueModel, Equatable {
  var identifier: String
  var book: Book
}

private struct BookDataSource: CollectionDataSource {
  func prepare(_ row: StoredRow) async throws -> BookModel? {
    let book = try books.decode(row)
    return BookModel(identifier: row.key.description, book: book)
  }
}

@Suite(.leavesSoundStores) struct StoreSourceTests {
  private func collection(
    _ source: StoreSource, _ mode: LoadingMode
  ) -> LiveCollection<BookModel> {
    LiveCollection(
      source: source, dataSource: BookDataSource(),
      options: CollectionOptions(order: .source, mode: mode, prepareTimeout: nil))
  }

  private func expected(_ snapshot: Snapshot, _ group: GroupName) throws -> [String] {
    try snapshot.index("SalesRank").rows(in: group).map(\.key.description)
  }

  @Test func aTypedHandleGivesTheRowsThatNamesGive() async throws {
    var library = try Library(seed: 3)
    try library.commit(40)
    let index = Index(named: "SalesRank", on: books, group: String.self)
    let source = StoreSource(library.store, index: index, group: "a")
    let grouped = collection(source, .paged(batchSize: 50))
    while await grouped.load(.forward).hasMore {}
    let wanted = try expected(try library.store.snapshot(), "a")
    #expect(!wanted.isEmpty && grouped.shown.map(\.identifier) == wanted)
    grouped.stop()
  }

  @Test(arguments: seeds(1...8)) func pagesInBothDirectionsBringEveryRowOnce(
    seed: UInt64
  ) async throws {
    var library = try Library(seed: seed)
    try library.commit(40)
    let snapshot = try library.store.snapshot()
    for direction in [LoadDirection.forward, .backward] {
      for size in [1, 3, 50] {
        let grouped = collection(
          StoreSource(library.store, bucket: "books", index: "SalesRank", group: "a"),
          .paged(batchSize: size))
        while await grouped.load(direction).hasMore {}
        #expect(grouped.shown.map(\.identifier) == (try expected(snapshot, "a")), "seed \(seed)")
        let keyed = collection(
          StoreSource(library.store, bucket: "books"), .paged(batchSize: size))
        while await keyed.load(direction).hasMore {}
        let keys = try snapshot.rows(in: books).map { $0.0.description }
        #expect(keyed.shown.map(\.identifier) == keys, "seed \(seed)")
        grouped.stop()
        keyed.stop()
      }
    }
  }

  @Test(arguments: seeds(1...5)) func commitsArriveInALoadedCollection(seed: UInt64) async throws {
    var library = try Library(seed: seed)
    try library.commit(30)
    for mode in [LoadingMode.live, .whole, .paged(batchSize: 4)] {
      let live = collection(
        StoreSource(library.store, bucket: "books", index: "SalesRank", group: "b"), mode)
      var changes = live.changes.makeAsyncIterator()
      while await live.load().hasMore {}
      for _ in 0..<5 { try library.commit() }
      // A last row. When it arrives, all earlier events have been delivered.
      let last = Key("last \(mode)")
      try await library.store.write { tx in
        try tx.put(Book(genre: "b", sales: -1), for: last, in: books)
      }
      while live.model(last.description) == nil { try #require(await changes.next() != nil) }
      let snapshot = try library.store.snapshot()
      while live.shown.map(\.identifier) != (try expected(snapshot, "b")) {
        try #require(await changes.next() != nil)
      }
      live.stop()
    }
  }

  /// Every wait is on the test's executor, which runs jobs in a random order by the seed.
  @Test(arguments: seeds(1...30)) func commitsLoadsAndStopsInAnyOrderEndInTheNewestCommit(
    seed: UInt64
  ) throws {
    for mode in Stage.modes {
      var library = try Library(seed: seed)
      var random = SeededGenerator(seed: seed)
      try library.commit(20)
      let executor = TestExecutor()
      let grouped = seed % 2 == 0
      let live = LiveCollection(
        source: StoreSource(
          store: library.store, bucket: "books",
          scope: grouped ? .group(index: "SalesRank", "b") : .bucket, snapshot: nil,
          executor: executor),
        dataSource: BookDataSource(),
        options: CollectionOptions(
          order: .source, mode: mode, prepareTimeout: nil, executor: executor))
      for _ in 0..<40 {
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: try library.commit()
        case 2: live.startLoading(Bool.random(using: &random) ? .forward : .backward)
        case 3 where seed % 3 == 0: live.cancelLoad()
        case 4 where seed % 5 == 0: live.stop()
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
      for _ in 0..<3 {
        try library.commit()
        executor.run(using: &random)
        let snapshot = try library.store.snapshot()
        let rows: [(Key, Book)] =
          try grouped
          ? snapshot.index("SalesRank").rows(in: "b").map { ($0.key, try books.decode($0)) }
          : snapshot.rows(in: books)
        #expect(live.shown.map(\.identifier) == rows.map(\.0.description), "seed \(seed), \(mode)")
        #expect(live.shown.map(\.book) == rows.map(\.1), "seed \(seed), \(mode)")
      }
      live.stop()
      executor.run(using: &random)
    }
  }

  @Test func aSourceAtAPastCommitDoesNotChange() async throws {
    var library = try Library(seed: 2)
    try library.commit(20)
    let past = try library.store.snapshot()
    try library.commit(20)
    let source = StoreSource(
      library.store, bucket: "books", index: "SalesRank", group: "c", at: past)
    let then = collection(source, .whole)
    await then.load()
    #expect(then.shown.map(\.identifier) == (try expected(past, "c")))
  }

  @Test(arguments: seeds(1...4)) func aFollowerShowsTheCommitsOfItsWriter(seed: UInt64) async throws
  {
    let folder = try TemporaryFolder()
    func open(_ mode: StoreMode) throws -> Store {
      try Store(
        at: folder.path + "/books.ring",
        options: StoreOptions(mode: mode, durability: .full, indexes: [salesRank]))
    }
    let writer = try open(.create)
    var library = Library(seed: seed, in: writer)
    try library.commit(20)
    let follower = try open(.readOnly)
    for mode in [LoadingMode.live, .whole, .paged(batchSize: 4)] {
      let grouped = collection(
        StoreSource(follower, bucket: "books", index: "SalesRank", group: "b"), mode)
      let keyed = collection(StoreSource(follower, bucket: "books"), mode)
      var changes = (grouped.changes.makeAsyncIterator(), keyed.changes.makeAsyncIterator())
      while await grouped.load().hasMore {}
      while await keyed.load().hasMore {}
      for _ in 0..<5 { try library.commit() }
      let snapshot = try writer.snapshot()
      let keys = try snapshot.rows(in: books).map { $0.0.description }
      while grouped.shown.map(\.identifier) != (try expected(snapshot, "b")) {
        try #require(await changes.0.next() != nil)
      }
      let rows = try snapshot.rows(in: books).map(\.1)
      while keyed.shown.map(\.identifier) != keys || keyed.shown.map(\.book) != rows {
        try #require(await changes.1.next() != nil)
      }
      grouped.stop()
      keyed.stop()
    }
    try await follower.close()
    try await writer.close()
  }

  @Test func aListenerWhoseStateHasExpiredSendsItsRangeAgain() async throws {
    var library = try Library(seed: 4, StoreOptions(pinLimit: PinLimit(commits: 2)))
    try library.commit(20)
    let source = StoreSource(library.store, bucket: "books")
    let old = try library.store.snapshot()
    for _ in 0..<6 { try library.commit() }
    _ = try await library.store.compact(to: .dropHistory)
    let reading = source.reading(at: try library.store.snapshot())
    #expect {
      try reading.snapshot.diff(from: old) { _ in true }
    } throws: {
      [.snapshotExpired, .beyondHorizon].contains(($0 as? TreeRingError)?.code)
    }
    let events = try reading.events(since: old, in: PositionRange())
    guard events.count == 1, case .state(PositionRange(), let children) = events[0] else {
      Issue.record("the listener receives \(events)")
      return
    }
    #expect(try children == reading.children(in: PositionRange()))
    // The same behind a collection: it shows the newest rows, whatever it has missed.
    let live = collection(source, .live)
    var changes = live.changes.makeAsyncIterator()
    await live.load()
    for _ in 0..<20 {
      for _ in 0..<6 { try library.commit() }
      _ = try await library.store.compact(to: .dropHistory)
    }
    let rows = try library.store.snapshot().rows(in: books)
    while live.shown.map(\.identifier) != rows.map({ $0.0.description })
      || live.shown.map(\.book) != rows.map(\.1)
    {
      try #require(await changes.next() != nil)
    }
    live.stop()
  }

  @Test func loadsOfAFailedSourceEndWithItsError() async throws {
    var library = try Library(seed: 5)
    try library.commit(20)
    let missing = collection(
      StoreSource(library.store, bucket: "books", index: "none", group: "a"),
      .paged(batchSize: 2))
    #expect((await missing.load().error as? TreeRingError)?.code == .notFound)
    #expect(missing.loadingState == .failed)
    let live = collection(
      StoreSource(library.store, bucket: "books", index: "none", group: "a"), .live)
    #expect((await live.load().error as? TreeRingError)?.code == .notFound)
    try await library.store.close()
    let closed = collection(StoreSource(library.store, bucket: "books"), .whole)
    #expect((await closed.load().error as? TreeRingError)?.code == .closed)
  }
}
