// Rows of earlier versions: read through migrations at every commit, rewritten in batches, refused
// by older programs.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// A book as three versions of a program store it.
private struct Book1: Codable, Equatable { var name: String, sales: Int }
private struct Book2: Codable, Equatable { var title: String, sales: Int, genre: String }
private struct Book3: Codable, Equatable {
  struct Numbers: Codable, Equatable { var sales: Int, pages: Int }
  var title: String
  var genre: String
  var numbers: Numbers
}

private enum Books {
  static let one = Bucket<Book1>("books")
  static let toTwo = Migration(
    from: 1, to: 2,
    fields: { fields in
      fields.rename("name", to: "title")
      try fields.setDefault("genre", "unknown")
    })
  static let toThree = Migration(from: 2, to: 3) { (old: Book2) in
    Book3(
      title: old.title, genre: old.genre, numbers: .init(sales: old.sales, pages: old.title.count))
  }
  static let two = Bucket<Book2>("books", version: 2, migrations: [toTwo])
  static let three = Bucket<Book3>("books", version: 3, migrations: [toTwo, toThree])
  static let binary = Bucket<Book3>(
    "books", version: 3, format: .binary, migrations: [toTwo, toThree])
  static let byGenre = GroupIndex("byGenre", on: three, version: 1) { book in
    Place(in: book.genre, by: .descending(book.numbers.sales))
  }

  /// The third version of the first one.
  static func third(_ book: Book1) -> Book3 {
    Book3(
      title: book.name, genre: "unknown",
      numbers: .init(sales: book.sales, pages: book.name.count))
  }
}

@Suite(.leavesSoundStores) struct MigrationTests {
  private let first = (0..<10).map { Book1(name: "book \($0)", sales: $0) }

  private func key(_ number: Int) -> Key { Key("k\(number)") }

  /// A store with rows of the first two versions, at commits 1 and 2.
  private func store(_ files: MemoryFileSystem = MemoryFileSystem()) throws -> Store {
    let store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    try store.write { tx in
      for (number, book) in first.enumerated() {
        try tx.put(book, metadata: [UInt8(number)], for: key(number), in: Books.one)
      }
    }
    try store.write { tx in
      try tx.put(Book2(title: "new", sales: 7, genre: "x"), for: key(3), in: Books.two)
    }
    return store
  }

  private func expectThird(_ snapshot: Snapshot, _ label: Comment) throws {
    let rows = try snapshot.rows(in: Books.three)
    #expect(rows.count == 10, label)
    for (number, row) in rows.enumerated() {
      let replaced = Book3(title: "new", genre: "x", numbers: .init(sales: 7, pages: 3))
      let isNew = number == 3 && snapshot.commit > 1
      #expect(row.row == (isNew ? replaced : Books.third(first[number])), label)
    }
  }

  @Test("Old rows are read through the chain at every commit, before and after the rewriting")
  func reading() throws {
    let store = try store()
    for commit in [1, 2] as [CommitNumber] {
      try expectThird(store.snapshot(at: .commit(commit)), "commit \(commit)")
    }
    #expect(try store.get("k1", in: Books.three, at: .commit(1)) == Books.third(first[1]))
    let versions = try store.history(of: "k3", in: Books.three)
    #expect(versions.count == 2)
    let progress = try store.migrate(Books.three, batchCount: 4)
    #expect(progress.rewritten == 10 && progress.isComplete && progress.failures.isEmpty)
    for commit in 1...store.newestCommit {
      try expectThird(store.snapshot(at: .commit(commit)), "commit \(commit)")
    }
    try store.snapshot().forEachRow(in: "books") { row in
      #expect(row.coder == 3 && row.metadata == (row.key == "k3" ? nil : [row.key.bytes[1] - 48]))
      return true
    }
    #expect(try store.migrate(Books.three).rewritten == 0)
  }

  @Test("Indexes in code see the present form of old rows, also at earlier commits")
  func indexes() throws {
    let store = try store()
    try store.register(Books.byGenre)
    for commit in [1, 2] as [CommitNumber] {
      let index = try store.snapshot(at: .commit(commit)).index("byGenre")
      #expect(try index.count(in: "unknown") == (commit == 1 ? 10 : 9))
      let titles = try index.rows(in: "unknown").map { try Books.three.decode($0).title }
      #expect(titles.first == "book 9")
    }
    let before = try store.snapshot().index("byGenre").rows(in: "unknown").map(\.key)
    try store.migrate(Books.three, batchCount: 3)
    #expect(try store.snapshot().index("byGenre").rows(in: "unknown").map(\.key) == before)
    #expect(try store.checkInvariants() == [])
  }

  @Test("Binary rows migrate too, in both directions of the format")
  func binary() throws {
    let store = try Store.inMemory()
    let old = Bucket<Book1>("books", coder: .binary())
    try store.write { try $0.put(first[4], for: "k", in: old) }
    #expect(try store.snapshot().get("k", in: Books.three) == Books.third(first[4]))
    try store.migrate(Books.binary)
    let stored = try #require(try store.snapshot().row("k", in: "books"))
    #expect(stored.object.withUnsafeBytes { BinaryRow.isMarked($0) } && stored.coder == 3)
    #expect(try store.snapshot().get("k", in: Books.three) == Books.third(first[4]))
    let numbers = Bucket<[Double]>("n", coder: .binary())
    try store.write { try $0.put([.infinity, 1], for: "k", in: numbers) }
    struct List: Codable, Equatable { var values: [Double] }
    let lists = Bucket<List>(
      "n", version: 2,
      migrations: [Migration(from: 1, to: 2) { (old: [Double]) in List(values: old) }])
    #expect(try store.snapshot().get("k", in: lists) == List(values: [.infinity, 1]))
  }

  @Test("Fields are got, set, given defaults, renamed and removed; the others stay as written")
  func fields() throws {
    var fields = try RowFields(json: Array(#"{"a":1.0,"b":null,"a":2.50,"c":{"x":[1]}}"#.utf8))
    #expect(fields.names == ["b", "a", "c"])
    #expect(try fields.get("a", as: Double.self) == 2.5)
    #expect(try fields.get("b", as: Int.self) == nil && fields.get("z", as: Int.self) == nil)
    try fields.setDefault("a", 9)
    try fields.setDefault("b", [true])
    try fields.set("d", "text \"quoted\"")
    fields.rename("c", to: "e")
    fields.rename("none", to: "a")
    fields.rename("d", to: "d")
    let text = String(decoding: fields.json, as: UTF8.self)
    #expect(text == #"{"b":[true],"a":2.50,"e":{"x":[1]},"d":"text \"quoted\""}"#)
    fields.rename("a", to: "b")
    fields.remove("e")
    #expect(String(decoding: fields.json, as: UTF8.self) == #"{"b":2.50,"d":"text \"quoted\""}"#)
    #expect(throws: TreeRingError.self) { try RowFields(json: Array("[1]".utf8)) }
  }

  @Test("A rewriting stops after any commit, and goes on after reopening, also by replay")
  func resumed() throws {
    for stop in 1...5 {
      let files = MemoryFileSystem()
      var store = try store(files)
      let part = try store.migrate(Books.three, batchCount: 2) { $0.rewritten < 2 * stop }
      #expect(part.rewritten == 2 * stop)
      try store.close()
      if stop % 2 == 0 { try files.unlink("store/pages") }
      store = try Store(path: "store", fileSystem: files, options: StoreOptions())
      try expectThird(store.snapshot(), "stopped after \(stop)")
      let rest = try store.migrate(Books.three, batchCount: 2)
      #expect(rest.rewritten == 10 - 2 * stop && rest.isComplete)
      #expect(rest.scanned == 10 - 2 * stop, "what was done is not looked at again")
      try expectThird(store.snapshot(), "after the end")
      try store.close()
    }
  }

  @Test("Other writes between the batches stay, and are rewritten if they are old")
  func betweenBatches() throws {
    let store = try store()
    var isFirst = true
    try store.migrate(Books.three, batchCount: 2) { _ in
      if isFirst {
        _ = try? store.write { tx in
          try tx.delete(key(5), in: "books")
          try tx.put(Book1(name: "late", sales: 1), for: key(8), in: Books.one)
        }
      }
      isFirst = false
      return true
    }
    #expect(try store.snapshot().get(key(5), in: Books.three) == nil)
    #expect(try store.snapshot().get(key(8), in: Books.three)?.title == "late")
    #expect(try store.snapshot().row(key(8), in: "books")?.coder == 3)
  }

  @Test("A store of a later version is refused at opening, by a follower too; later rows by reads")
  func newer() throws {
    let files = MemoryFileSystem()
    func open(_ bucket: any VersionedBucket, _ mode: StoreMode = .create) throws -> Store {
      try Store(
        path: "store", fileSystem: files, options: StoreOptions(mode: mode, buckets: [bucket]))
    }
    var store = try open(Books.two)
    try store.write { try $0.put(Book2(title: "a", sales: 1, genre: "g"), for: "a", in: Books.two) }
    try store.close()
    store = try open(Books.three)
    try store.write { tx in
      let numbers = Book3.Numbers(sales: 1, pages: 2)
      try tx.put(Book3(title: "b", genre: "g", numbers: numbers), for: "b", in: Books.three)
    }
    let newest = store.newestCommit
    #expect(try store.snapshot().get("a", in: Books.three)?.title == "a")
    let read = error { try store.snapshot().get("b", in: Books.two) }
    #expect(read?.code == .newerVersion)
    try store.close()
    for mode in [StoreMode.create, .readWrite, .readOnly] {
      let refused = error { try open(Books.two, mode).close() }
      #expect(refused?.code == .newerVersion && refused?.message.contains("version 3") == true)
    }
    store = try open(Books.three)
    #expect(store.newestCommit == newest)
    let swept = error { try store.migrate(Books.two) }
    #expect(swept?.code == .newerVersion)
    try store.close()
  }

  @Test("Rows that cannot be migrated stay, are named, and keep the rewriting from being complete")
  func failures() throws {
    let store = try store()
    let stubborn = Bucket<Book3>(
      "books", version: 3,
      migrations: [
        Books.toTwo,
        Migration(from: 2, to: 3) { (old: Book2) in
          if old.sales == 5 { throw CancellationError() }
          return Books.third(Book1(name: old.title, sales: old.sales))
        },
      ])
    let progress = try store.migrate(stubborn, batchCount: 3)
    #expect(progress.failures.map(\.key) == ["k5"] && !progress.isComplete)
    #expect(progress.rewritten == 9)
    #expect(try store.snapshot().row("k5", in: "books")?.coder == 0)
    let rest = try store.migrate(Books.three)
    #expect(rest.rewritten == 1 && rest.isComplete)
    let gap = Bucket<Book3>(
      "books", version: 4, migrations: [Migration(from: 2, to: 4) { (b: Book2) in b }])
    let missing = error { try store.snapshot().get("k1", in: gap) }
    #expect(missing?.code == .notSupported)
  }

  @Test("An asynchronous rewriting stops when its task is cancelled")
  func asynchronous() async throws {
    let store = try store()
    let task = Task { try await store.migrate(Books.three, batchCount: 1) }
    let progress = try await task.value
    #expect(progress.rewritten == 10 && progress.isComplete)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.migrate(Books.three, batchCount: 1)
    }
    #expect(try await cancelled.value.scanned == 0)
  }

  @Test("Power failures during a rewriting leave whole commits, and it goes on")
  func crashes() throws {
    let disk = Disk()
    let store = try disk.open()
    try store.write(durability: .full) { tx in
      for (number, book) in first.enumerated() { try tx.put(book, for: key(number), in: Books.one) }
    }
    try store.migrate(Books.three, batchCount: 2, durability: .unsynced) { $0.rewritten < 6 }
    try withExtendedLifetime(store) {
      for seed in 1...8 as ClosedRange<UInt64> {
        let found = try Disk(disk.files.afterCrash(seed: seed)).open()
        let rows = try found.snapshot().rows(in: Books.three).map(\.row)
        #expect(rows == first.map(Books.third), "seed \(seed)")
        #expect(try found.migrate(Books.three).isComplete)
        #expect(try found.snapshot().rows(in: Books.three).map(\.row) == rows)
      }
    }
  }
}
