// References: every row referred to exists after every commit, and deletes have their effects.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("References", .leavesSoundStores) struct ReferenceTests {
  static func refusal(_ body: () throws -> Void) -> TreeRingError? {
    do {
      try body()
      return nil
    } catch { return error as? TreeRingError }
  }

  static func put(_ tx: Transaction, _ id: RowID, _ json: String) throws {
    try tx.put(Array(json.utf8), for: id.key, in: Bucket<[UInt8]>.bytes(id.bucket))
  }

  static func object(_ id: RowID, in readable: some Readable) throws -> String? {
    try readable.row(id.key, in: id.bucket).map { String(decoding: $0.object, as: UTF8.self) }
  }

  static let ann = RowID("ann", in: "authors")
  static let dune = RowID("dune", in: "books")
  static let ubik = RowID("ubik", in: "books")

  /// A store in which two books refer to an author.
  static func library(_ deletion: Reference.Deletion, isRequired: Bool = false) throws -> Store {
    let store = try Store.inMemory()
    try store.define(
      "author",
      Reference(
        on: "books", field: "author", to: "authors", onDelete: deletion, isRequired: isRequired))
    try store.write { tx in
      // The order does not matter.
      try put(tx, dune, #"{"author":"ann","n":1}"#)
      try put(tx, ubik, #"{"author":["bob","ann"],"n":2}"#)
      for key in ["ann", "bob"] { try put(tx, RowID(Key(key), in: "authors"), "{}") }
    }
    return store
  }

  @Test("A reference to no row is refused, and names both rows and the rule")
  func missing() throws {
    let store = try Self.library(.restrict)
    let refused = Self.refusal {
      _ = try store.write { try Self.put($0, Self.dune, #"{"author":"cid"}"#) }
    }
    #expect(refused?.code == .referenceMissing)
    #expect(refused?.violation?.rule == "author")
    #expect(refused?.violation?.row == Self.dune)
    #expect(refused?.violation?.other == RowID("cid", in: "authors"))
    // Neither null nor an absent field refers to a row.
    try store.write { tx in
      try Self.put(tx, Self.dune, #"{"author":null}"#)
      try Self.put(tx, Self.ubik, "{}")
    }
    #expect(try store.snapshot().index("author").isEmpty)
    try store.write { try $0.delete("ann", in: "authors") }
  }

  @Test("A required reference must be there")
  func required() throws {
    let store = try Self.library(.cascade, isRequired: true)
    for json in ["{}", #"{"author":null}"#, #"{"author":[]}"#, #"{"author":{}}"#, "no JSON"] {
      let refused = Self.refusal { _ = try store.write { try Self.put($0, Self.dune, json) } }
      #expect(refused?.code == .referenceMissing, "\(json)")
      #expect(refused?.violation?.row == Self.dune && refused?.violation?.other == nil)
    }
    // The end of the commit counts.
    try store.write { tx in
      try Self.put(tx, Self.dune, "{}")
      try Self.put(tx, Self.dune, #"{"author":"bob"}"#)
    }
    #expect(
      Self.refusal {
        _ = try Reference(on: "b", field: "f", to: "t", onDelete: .nullify, isRequired: true)
      }?.code == .invalidInput)
  }

  @Test("A row that others refer to cannot be deleted if the reference restricts it")
  func restricted() throws {
    let store = try Self.library(.restrict)
    let refused = Self.refusal { _ = try store.write { try $0.delete("ann", in: "authors") } }
    #expect(refused?.code == .restricted)
    #expect(refused?.violation?.row == Self.ann)
    #expect(refused?.violation?.other == Self.dune)
    #expect(refused?.message.contains("a further row") == true)
    #expect(Self.refusal { _ = try store.write { try $0.deleteAll(in: "authors") } } != nil)
    // It can, if what refers to it goes in the same commit, before or after it.
    try store.write { tx in
      try tx.delete("ann", in: "authors")
      try tx.deleteAll(in: "books")
    }
    #expect(try store.snapshot().count(in: "authors") == 1)
  }

  @Test("A cascade deletes what refers to the row; the log lists the deletes")
  func cascade() throws {
    let store = try Self.library(.cascade)
    let commit = try store.write { try $0.delete("ann", in: "authors") }.commit
    #expect(try store.snapshot().count(in: "books") == 0)
    #expect(
      try store.operations(of: commit).operations
        == [.row(Self.ann, .delete), .row(Self.dune, .delete), .row(Self.ubik, .delete)])
    // A row that comes back in the same commit takes nothing with it.
    try store.revert(to: .commit(commit - 1))
    try store.write { tx in
      try tx.delete("ann", in: "authors")
      try Self.put(tx, Self.ann, "{}")
    }
    #expect(try store.snapshot().count(in: "books") == 2)
    // A reference that is added after the delete is none to cascade along.
    let refused = Self.refusal {
      _ = try store.write { tx in
        try tx.delete("ann", in: "authors")
        try Self.put(tx, RowID("new", in: "books"), #"{"author":"ann"}"#)
      }
    }
    #expect(refused?.code == .referenceMissing)
    #expect(refused?.violation?.row == RowID("new", in: "books"))
  }

  @Test("Nullifying removes the key and leaves the rest of the object, metadata included")
  func nullify() throws {
    let store = try Self.library(.nullify)
    try store.write { try $0.put(metadata: [7], for: "ubik", in: "books") }
    try store.write { try $0.delete("ann", in: "authors") }
    let snapshot = try store.snapshot()
    #expect(try Self.object(Self.dune, in: snapshot) == #"{"author":null,"n":1}"#)
    #expect(try Self.object(Self.ubik, in: snapshot) == #"{"author":["bob"],"n":2}"#)
    #expect(try snapshot.metadata(of: "ubik", in: "books") == [7])
  }

  struct Book: Codable, Equatable {
    var title: String
    var shelf: String?
    var others: [String] = []
  }

  @Test("References by closures have the same effects, and need the closure", arguments: [1, 2, 3])
  func code(kind: Int) throws {
    let books = Bucket<Book>("books", coder: .binary())
    let deletion: GroupIndex.Deletion<Book> =
      switch kind {
      case 1: .restrict
      case 2: .cascade
      default: .nullify { book, key in if book.shelf == key.description { book.shelf = nil } }
      }
    let shelf = GroupIndex("shelf", on: books, version: 1, to: "shelves", onDelete: deletion) {
      $0.shelf
    }
    let files = MemoryFileSystem()
    var store = try Store(
      path: "store", fileSystem: files, options: StoreOptions(indexes: [shelf]))
    #expect(store.indexes.first?.reference?.target == "shelves")
    try store.write { tx in
      try tx.put(Book(title: "Dune", shelf: "top"), for: "dune", in: books)
      try tx.put(Book(title: "Ubik", shelf: nil), for: "ubik", in: books)
      try Self.put(tx, RowID("top", in: "shelves"), "{}")
    }
    let refused = Self.refusal {
      _ = try store.write { try tx($0) { Book(title: "x", shelf: "low") } }
    }
    func tx(_ tx: Transaction, _ book: () -> Book) throws {
      try tx.put(book(), for: "x", in: books)
    }
    #expect(refused?.code == .referenceMissing)
    try store.close()
    store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    for body in [
      { tx in try tx.delete("top", in: "shelves") },
      { tx in try tx.put(Book(title: "x", shelf: nil), for: "x", in: books) },
    ] as [(Transaction) throws -> Void] {
      #expect(Self.refusal { _ = try store.write(body) }?.code == .indexDefinedInCode)
    }
    try store.write { tx in
      try Self.put(tx, RowID("low", in: "shelves"), "{}")
      try tx.delete("ubik", in: books)
    }
    try store.register(shelf)
    let deleted = Self.refusal { _ = try store.write { try $0.delete("top", in: "shelves") } }
    #expect(deleted?.code == (kind == 1 ? .restricted : nil))
    let dune = try store.snapshot().get("dune", in: books)
    #expect(dune == (kind == 2 ? nil : Book(title: "Dune", shelf: kind == 1 ? "top" : nil)))
    try store.close()
  }

  @Test("All graphs of three rows, each row deleted, by each rule")
  func graphs() throws {
    let keys = ["x", "y", "z"]
    for deletion in Reference.Deletion.allCases {
      let store = try Store.inMemory()
      try store.define(
        "to", Reference(on: "rows", field: "to", to: "rows", onDelete: deletion))
      for edges in 0..<512 {
        func refers(_ from: Int, _ to: Int) -> Bool { edges >> (from * 3 + to) & 1 == 1 }
        try store.write(durability: .unsynced) { tx in
          for (row, key) in keys.enumerated() {
            let to = keys.indices.filter { refers(row, $0) }.map { "\"\(keys[$0])\"" }
            try Self.put(
              tx, RowID(Key(key), in: "rows"), #"{"to":[\#(to.joined(separator: ","))]}"#)
          }
        }
        let start = store.newestCommit
        for target in 0..<3 {
          let error = Self.refusal {
            try store.write(durability: .unsynced) { tx in
              try tx.delete(Key(keys[target]), in: "rows")
            }
          }
          var gone: Set<Int> = [target]
          let isReferredTo = (0..<3).contains { $0 != target && refers($0, target) }
          if deletion == .cascade {
            for _ in 0..<3 {
              for row in 0..<3 where gone.contains(where: { refers(row, $0) }) { gone.insert(row) }
            }
          }
          #expect(error?.code == (deletion == .restrict && isReferredTo ? .restricted : nil))
          if error != nil { continue }
          let snapshot = try store.snapshot()
          for row in 0..<3 {
            let to = (0..<3).filter { refers(row, $0) && !gone.contains($0) }
              .map { "\"\(keys[$0])\"" }
            let wanted = gone.contains(row) ? nil : #"{"to":[\#(to.joined(separator: ","))]}"#
            #expect(
              try Self.object(RowID(Key(keys[row]), in: "rows"), in: snapshot) == wanted,
              "graph \(edges), \(keys[target]) deleted, \(deletion)")
          }
          try store.revert(to: .commit(start))
        }
      }
      #expect(try store.checkInvariants() == [])
    }
  }

  @Test("A rule over rows that break it is refused, names them, and can be declared with the cure")
  func existing() throws {
    let store = try Store.inMemory()
    try store.write { tx in
      try Self.put(tx, Self.ann, "{}")
      try Self.put(tx, Self.dune, #"{"author":"cid"}"#)
      try Self.put(tx, Self.ubik, #"{"author":"ann"}"#)
      try Self.put(tx, RowID("v", in: "books"), "{}")
    }
    let rule = try Reference(
      on: "books", field: "author", to: "authors", onDelete: .cascade, isRequired: true)
    let refused = Self.refusal { try store.define("author", rule) }
    #expect(refused?.code == .referenceMissing)
    #expect(refused?.violation?.row == Self.dune)
    #expect(refused?.message.contains("books/v") == true)
    #expect(store.indexes == [])
    try store.write { tx in
      try tx.define("author", rule)
      try Self.put(tx, RowID("cid", in: "authors"), "{}")
      try tx.delete("v", in: "books")
    }
    #expect(store.indexes.map(\.reference) == [rule])
    // The state before is readable, and cannot come back: the revert deletes cid, to which the
    // book refers in that state.
    #expect(try store.snapshot(at: .commit(1)).index("author").count(in: "cid") == 1)
    #expect(Self.refusal { try store.revert(to: .commit(1)) } != nil)
    #expect(try store.snapshot().count(in: "books") == 2)
  }

  @Test("A reference may be unique: a row is referred to by one row at most")
  func unique() throws {
    let store = try Store.inMemory()
    let rule = try Reference(on: "cards", field: "owner", to: "members").unique()
    try store.define("owner", rule)
    #expect(try Reference(json: rule.json) == rule && rule.isUnique)
    try store.write { tx in
      try Self.put(tx, RowID("m", in: "members"), "{}")
      try Self.put(tx, RowID("1", in: "cards"), #"{"owner":"m"}"#)
    }
    let refused = Self.refusal {
      _ = try store.write { try Self.put($0, RowID("2", in: "cards"), #"{"owner":"m"}"#) }
    }
    #expect(refused?.code == .notUnique)
  }

  @Test("Erasing a row deletes what refers to it, or is refused with it")
  func erasing() throws {
    for deletion in Reference.Deletion.allCases {
      let store = try Self.library(deletion)
      let refused = Self.refusal { _ = try store.erase("ann", in: "authors") }
      #expect(refused?.code == (deletion == .restrict ? .restricted : nil))
      let left = [Reference.Deletion.restrict: 2, .cascade: 0, .nullify: 2][deletion]
      #expect(try store.snapshot().count(in: "books") == left)
      #expect(try store.snapshot().contains("ann", in: "authors") == (deletion == .restrict))
    }
  }

  @Test("A key too long to be indexed is refused")
  func tooLong() throws {
    let store = try Self.library(.restrict)
    let key = String(repeating: "k", count: 256)
    let refused = Self.refusal {
      _ = try store.write { try Self.put($0, Self.dune, #"{"author":["ann","\#(key)"]}"#) }
    }
    #expect(refused?.code == .tooLarge)
  }
}
