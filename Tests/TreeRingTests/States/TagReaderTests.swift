// Tags by name and by commit: both lookups agree, also in stores of earlier versions. Testing
// whether a commit is kept costs one descent of the catalog tree, whatever the number of tags.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Tags", .leavesSoundStores) struct TagReaderTests {
  private static func memory(cellCapacity: Int = .max) throws -> Store {
    // Room for all rebuilt states, so that none is rebuilt from the beginning.
    var options = StoreOptions(durability: .unsynced, memoryBudget: 1 << 30, logger: quietLogger)
    options.pageCellCapacity = cellCapacity
    return try Store.inMemory(options: options)
  }

  /// Checks the tags of the state against the model.
  private func check(_ model: [String: CommitNumber], in store: Store) throws {
    let reader = store.reader(of: store.queue.visible)
    let newest = store.newestCommit
    for bound in [0, 1, newest / 2, newest, .max] {
      let expected = model.filter { $0.value < bound }.sorted {
        ($0.value, $0.key) < ($1.value, $1.key)
      }
      let found = try reader.tags(below: bound)
      #expect(found.map(\.name) == expected.map(\.key))
      #expect(found.map(\.commit) == expected.map(\.value))
    }
    let tagged = Set(model.values)
    for commit in 0...newest + 1 {
      #expect(try reader.isTagged(commit) == tagged.contains(commit), "commit \(commit)")
    }
    #expect(try reader.tags().map(\.name) == model.keys.sorted())
  }

  @Test("After any changes, tags are found by name and by commit")
  func model() throws {
    let store = try Self.memory()
    var random = SeededGenerator(seed: 21)
    var model: [String: CommitNumber] = [:]
    for step in 1...300 {
      let name = "tag \(Int.random(in: 0..<40, using: &random))"
      try store.write { tx in
        try tx.put([UInt8(step % 256)], for: "row", in: blobs)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          tx.tags = [name, "last"]
          (model[name], model["last"]) = (tx.commit, tx.commit)
        case 1, 2:
          let commit = CommitNumber.random(in: 1...tx.commit, using: &random)
          try tx.tag(name, commit: commit)
          model[name] = commit
        default:
          if model[name] != nil { try tx.removeTag(name) }
          model[name] = nil
        }
      }
      if step % 50 == 0 { try check(model, in: store) }
    }
    #expect(try store.checkInvariants() == [])
  }

  @Test("Tags of a page file that has them by name alone are found, and the next tag adds the rest")
  func namesAlone() throws {
    let store = try Self.memory()
    for number in 0..<200 {
      try store.write { tx in
        try tx.put([1], for: Key("row \(number)"), in: blobs)
        tx.tags = ["tag \(number)", "other \(number / 2)"]
      }
    }
    let whole = store.queue.visible
    let tags = try store.reader(of: whole).tags()
    let editor = StateEditor(
      pages: whole.pages, epoch: whole.roots.commit, base: whole.roots, catalog: whole.catalog,
      active: ActiveIndexes(), code: [], values: ValueSource(log: store.log), recorder: nil,
      isPrivate: true)
    defer { editor.editor.discard() }
    for tag in tags { editor.removeCatalog(CatalogKey.tag(of: tag.commit, tag.name.utf8)) }
    let old = TagReader(editor.catalogTree)
    #expect(!old.isIndexed)
    let expected = try store.reader(of: whole).tags(below: 100)
    try store.pages.reading {
      #expect(try old.tags(below: 100) == expected)
      for commit in 0...201 as ClosedRange<CommitNumber> {
        #expect(try old.contains(commit) == (1...200).contains(commit))
      }
      try editor.setTag("one more", commit: 7)
      try editor.setTag("tag 0", commit: 0)
    }
    let new = TagReader(editor.catalogTree)
    #expect(new.isIndexed)
    #expect(try new.problems() == [])
    #expect(try new.tags(below: 8).filter { $0.commit == 7 }.map(\.name).contains("one more"))
    #expect(try !new.contains(1))
  }

  #if DEBUG
    @Test("A lookup by commit visits as many pages with many tags as with few")
    func questionCost() throws {
      func visits(_ count: Int) throws -> Int {
        let store = try Self.memory(cellCapacity: 8)
        for number in 1...count {
          try store.write { tx in
            try tx.put([UInt8(number % 256)], for: "row", in: blobs)
            tx.tags = ["tag \(number)"]
          }
        }
        try store.put([0], for: "row")
        try store.compact(to: .dropHistory)
        let table = store.pages.table
        let before = table.visitCount
        for number in stride(from: 1, through: CommitNumber(count), by: count / 20) {
          try store.checkReadable(number)
          #expect(try store.commit(at: .tag("tag \(number)")) == number)
          _ = try store.pin(number, creator: PinCreator(file: "", line: 0))
        }
        return table.visitCount - before
      }
      let (few, many) = (try visits(100), try visits(800))
      // Each descent has one more level of the tree.
      #expect(many <= few * 2, "\(few) and \(many) pages")
    }

    @Test("Compaction of twice as many tagged commits visits about twice as many pages")
    func compactionCost() throws {
      func visits(_ count: Int) throws -> Int {
        let store = try Self.memory(cellCapacity: 8)
        for number in 1...count {
          try store.write { tx in
            try tx.put([UInt8(number % 256)], for: Key("row \(number % 7)"), in: blobs)
            tx.tags = ["tag \(number)"]
          }
        }
        try store.put([0], for: "row")
        let table = store.pages.table
        let before = table.visitCount
        try store.compact(to: .dropHistory)
        return table.visitCount - before
      }
      let (few, many) = (try visits(150), try visits(300))
      #expect(many <= few * 3, "\(few) and \(many) pages")
    }
  #endif
}
