import TestSupport
import Testing
import TreeRing

@testable import TreeRingCollections

private struct BookModel: ValueModel, Equatable {
  var identifier: String
  var book: Book
}

private struct BookDataSource: CollectionDataSource {
  func prepare(_ row: StoredRow) async throws -> BookModel? {
    let book = try row.object.withUnsafeBytes { try books.coder.decode($0, row.coder) }
    return BookModel(identifier: row.key.description, book: book)
  }
}

@Suite struct StoreSourceTests {
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
      // A last row that surely comes, after which everything before has been told of.
      let last = Key("last \(mode)")
      try await library.store.write { tx in
        try tx.put(Book(genre: "b", sales: -1), for: last, in: books)
      }
      while live.model(last.description) == nil { _ = await changes.next() }
      let snapshot = try library.store.snapshot()
      while live.shown.map(\.identifier) != (try expected(snapshot, "b")) {
        _ = await changes.next()
      }
      live.stop()
    }
  }

  @Test func aPastCommitStaysWhatItWas() async throws {
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
}
