// Text indexes against a naive model, at every commit, after every kind of rebuilding.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

private let rows = Bucket<[UInt8]>.bytes("rows")

private func object(_ fields: [[String]]) throws -> [UInt8] {
  func value(_ texts: [String]) -> Any { texts.count == 1 ? texts[0] : texts }
  return Array(
    try JSONSerialization.data(withJSONObject: [
      "title": value(fields[0]), "body": value(fields[1]),
    ]))
}

extension Store {
  fileprivate func putRow(_ object: [UInt8], for key: Key) throws {
    try write { try $0.put(object, for: key, in: rows) }
  }
}

@Suite("Text indexes", .leavesSoundStores) struct TextIndexTests {
  private static func index(
    _ stemmer: TextStemmer? = nil, version: UInt32 = 1
  ) throws -> TextIndex {
    try TextIndex(
      "words", bucket: "rows", fields: [.init("title", weight: 4), "body"], stemmer: stemmer,
      version: version)
  }

  /// Compares hits, order and counts of some queries.
  private func check(
    _ snapshot: Snapshot, _ model: TextModel, _ maker: inout TextMaker, _ context: String,
    queries: Int = 12
  ) throws {
    let text = try snapshot.text("words")
    for _ in 0..<queries {
      let query = maker.query()
      let wanted = try model.find(query)
      let found = try text.find(query, limit: .max)
      let scores = Dictionary(uniqueKeysWithValues: wanted.map { ($0.key, $0.score) })
      #expect(
        Set(found.map(\.id.key)) == Set(scores.keys) && found.count == wanted.count,
        "\(context): \(query)")
      for (index, hit) in found.enumerated() {
        let score = scores[hit.id.key] ?? -1
        #expect(abs(hit.score - score) <= 1e-9 * max(1, score), "\(context): \(query)")
        guard index > 0 else { continue }
        let before = found[index - 1]
        #expect(
          before.score > hit.score
            || before.score == hit.score
              && (model.rows[before.id.key]?.created ?? 0) < (model.rows[hit.id.key]?.created ?? 0),
          "\(context): \(query)")
      }
      let limit = Int.random(in: 0...6, using: &maker.random)
      #expect(try text.find(query, limit: limit) == Array(found.prefix(limit)), "\(query)")
      #expect(try text.count(of: query) == found.count, "\(context): \(query)")
      for hit in found.prefix(2) {
        #expect(try !text.matches(of: query, in: hit).isEmpty, "\(context): \(query)")
      }
    }
  }

  @Test(
    "Hits, scores and order are those of the model: now, then, after replay and compaction",
    arguments: seeds(1...4))
  func model(seed: UInt64) throws {
    var maker = TextMaker(random: SeededGenerator(seed: seed))
    let files = MemoryFileSystem()
    let options = StoreOptions(segmentSize: 4 << 10, logger: quietLogger)
    var store = try Store(path: "store", fileSystem: files, options: options)
    let index = try Self.index(seed % 2 == 0 ? .english : nil)
    var model = TextModel(index: index)
    var history: [CommitNumber: TextModel] = [:]
    for turn in 0..<60 {
      if turn == 5 { try store.define(index) }
      try store.write { tx in
        for _ in 0..<Int.random(in: 1...4, using: &maker.random) {
          let key = Key("k\(Int.random(in: 0..<24, using: &maker.random))")
          switch Int.random(in: 0..<8, using: &maker.random) {
          case 0:
            try tx.delete(key, in: rows)
            model.rows[key] = nil
          case 1: if try tx.contains(key, in: rows) { try tx.touch(key, in: rows) }
          default:
            let titles = (0..<Int.random(in: 0...2, using: &maker.random)).map { _ in
              maker.words(0...3)
            }
            let fields = [titles, [maker.words(0...40)]]
            try tx.put(try object(fields), for: key, in: rows)
            model.put(key, fields)
          }
        }
        if turn >= 5, turn % 7 == 0 {
          // A transaction sees the words that it has written.
          let found = try tx.text("words").find(.phrase("the"), limit: .max)
          #expect(found.count == (try model.find(.phrase("the"))).count)
        }
      }
      history[store.newestCommit] = model
      switch turn {
      case 20, 35:
        try store.close()
        if turn == 35 { try files.unlink("store/pages") }
        store = try Store(path: "store", fileSystem: files, options: options)
      case 28: try store.checkpoint()
      case 45: try store.compact(to: .before(store.newestCommit - 8))
      default: break
      }
      guard turn >= 5, turn % 5 == 0 else { continue }
      try check(try store.snapshot(), model, &maker, "seed \(seed), turn \(turn)")
      let earlier = history.keys.filter { $0 + 8 > store.newestCommit }.randomElement(
        using: &maker.random)
      if let earlier, let then = history[earlier] {
        try check(
          try store.snapshot(at: .commit(earlier)), then, &maker, "seed \(seed), commit \(earlier)",
          queries: 4)
      }
    }
    #expect(try store.checkInvariants() == [])
    var readOnly = options
    readOnly.mode = .readOnly
    let follower = try Store(path: "store", fileSystem: files, options: readOnly)
    try check(try follower.snapshot(), model, &maker, "seed \(seed), follower")
    try follower.close()
    try store.close()
  }

  @Test("Chunks split, fill and empty: many rows of few words", arguments: seeds(1...2))
  func chunks(seed: UInt64) throws {
    var maker = TextMaker(random: SeededGenerator(seed: seed))
    let store = try Store.inMemory()
    let index = try Self.index()
    var model = TextModel(index: index)
    try store.define(index)
    var keys = (0..<900).map { Key("k\($0)") }
    keys.shuffle(using: &maker.random)
    for part in 0..<9 {
      try store.write { tx in
        for key in keys[part * 100..<part * 100 + 100] {
          let fields = [["common"], ["common \(maker.words(1...6))"]]
          try tx.put(try object(fields), for: key, in: rows)
          model.put(key, fields)
        }
      }
    }
    try check(try store.snapshot(), model, &maker, "seed \(seed)", queries: 10)
    #expect(try store.snapshot().text("words").count(of: .phrase("common")) == 900)
    #expect(try store.checkInvariants() == [])
    keys.shuffle(using: &maker.random)
    while let key = keys.popLast() {
      try store.write { tx in
        try tx.delete(key, in: rows)
        model.rows[key] = nil
        // Others change between.
        if let other = keys.randomElement(using: &maker.random), keys.count % 3 == 0 {
          let fields = [[maker.words(0...2)], ["common"]]
          try tx.put(try object(fields), for: other, in: rows)
          model.put(other, fields)
        }
      }
      if keys.count % 200 == 50 {
        try check(try store.snapshot(), model, &maker, "seed \(seed)", queries: 4)
        #expect(try store.checkInvariants() == [])
      }
    }
    #expect(try store.snapshot().text("words").count == 0)
    let roots = try #require(try store.snapshot().text("words").roots as IndexRoots?)
    #expect(roots.places.count == 0 && roots.order.count == 1)
  }

  @Test("A word that occurs thousands of times in one row is found everywhere in it")
  func longDocument() throws {
    let store = try Store.inMemory()
    try store.define(try Self.index())
    let text = String(repeating: "沙 丘 ", count: 6000) + "終"
    try store.putRow(try object([["a"], ["沙"]]), for: "before")
    try store.putRow(try object([["a"], [text]]), for: "long")
    try store.putRow(try object([["a"], ["沙"]]), for: "after")
    func find(_ query: TextQuery) throws -> [Key] {
      try store.snapshot().text("words").find(query).map(\.id.key).sorted()
    }
    #expect(try find(.phrase("沙")) == ["after", "before", "long"])
    #expect(try find(.near(["丘", "終"], within: 1)) == ["long"])
    #expect(try store.checkInvariants() == [])
    try store.putRow(try object([["a"], [text + "了"]]), for: "long")
    #expect(try find(.phrase("終了")) == ["long"])
    try store.putRow(try object([["a"], ["沙"]]), for: "before")
    #expect(try store.checkInvariants() == [])
    // The build of a new version merges what the other has edited.
    try store.define(try Self.index(version: 2))
    #expect(try find(.phrase("終了")) == ["long"])
    try store.write { try $0.delete("long", in: rows) }
    #expect(try find(.phrase("沙")) == ["after", "before"])
    #expect(try store.checkInvariants() == [])
    try store.close()
  }

  @Test(
    "Runs of a build are merged into the trees that one run gives", arguments: [20, 900, 60_000])
  func runs(byteLimit: Int) throws {
    var maker = TextMaker(random: SeededGenerator(seed: 7))
    let store = try Store.inMemory()
    let index = try Self.index()
    var model = TextModel(index: index)
    try store.write { tx in
      for number in 0..<300 {
        let fields = [[maker.words(0...3)], [maker.words(0...30)]]
        try tx.put(try object(fields), for: Key("k\(number * 7919 % 1000)"), in: rows)
        model.put(Key("k\(number * 7919 % 1000)"), fields)
      }
    }
    let (text, editor) = try build(index, of: store, byteLimit: byteLimit)
    for _ in 0..<20 {
      let query = maker.query()
      let wanted = try model.find(query)
      #expect(
        try Set(text.find(query, limit: .max).map(\.id.key)) == Set(wanted.map(\.key)), "\(query)")
    }
    #expect(TreeChecker.check(text.roots.order, pages: editor.pages) == [])
    editor.discard()
    try store.close()
  }

  @Test("A build fills its chunks: none exceeds the limit or has room for the next posting")
  func fullChunks() throws {
    var maker = TextMaker(random: SeededGenerator(seed: 11))
    let store = try Store.inMemory()
    let index = try Self.index()
    try store.write { tx in
      for number in 0..<5000 {
        let fields = [[maker.words(0...2)], [maker.words(0...40)]]
        try tx.put(try object(fields), for: Key("k\(10_000 + number)"), in: rows)
      }
    }
    let (text, editor) = try build(index, of: store, byteLimit: .max)
    var fullCount = 0
    var last: (term: [UInt8], chunk: PostingList)?
    Tree(text.roots.order, pages: editor.pages).forEach { key, chunk in
      let term = Array(TextKey.term(key))
      let list = PostingList(chunk)
      if term.isEmpty { return true }
      #expect(chunk.count <= PostingFormat.chunkByteCount || list.count == 1)
      if let known = last, known.term == term {
        var before = known.chunk
        let next = list.postings[0]
        list.bytes.withUnsafeBytes { bytes in
          before.append(
            next.document, length: next.length, isSingle: next.isSingle,
            UnsafeRawBufferPointer(rebasing: bytes[next.occurrences]))
        }
        var encoded: [UInt8] = []
        before.encode(0..<before.count, index.format, into: &encoded)
        #expect(encoded.count > PostingFormat.chunkByteCount)
        fullCount += 1
      }
      last = (term, list)
      return true
    }
    #expect(fullCount > 100)
    editor.discard()
    try store.close()
  }

  @Test("Full chunks of runs of consecutive rows are merged as they are")
  func consecutiveRuns() throws {
    let store = try Store.inMemory()
    let index = try Self.index()
    try store.write { tx in
      for number in 0..<6000 {
        let words = (0...(number % 4)).map { "w\($0 * (number % 3))" }
        let fields = [["a"], [words.joined(separator: " ")]]
        try tx.put(try object(fields), for: Key("k\(10_000 + number)"), in: rows)
      }
    }
    try store.define(index)
    let whole = try store.snapshot().text("words")
    let (text, editor) = try build(index, of: store, byteLimit: 60_000)
    for query in ["a", "w0", "w3", "w0 NOT w2", "\"w0 w2\"", "\"w0 w2 w4 w6\"", "w*"] {
      #expect(try text.find(query, limit: .max) == whole.find(query, limit: .max), "\(query)")
    }
    let (count, wanted) = (text.roots.order.count, whole.roots.order.count)
    #expect(wanted > 100 && count > wanted && count < wanted + wanted / 8)
    #expect(TreeChecker.check(text.roots.order, pages: editor.pages) == [])
    editor.discard()
    try store.close()
  }

  /// Builds an index of a store's newest rows in runs of so many bytes.
  private func build(
    _ index: TextIndex, of store: Store, byteLimit: Int
  ) throws -> (TextReader, PageEditor) {
    let version = store.queue.visible
    let editor = PageEditor(pages: version.pages, epoch: version.roots.commit, isPrivate: true)
    let draft = TextDraft(text: index, editor: editor, byteLimit: byteLimit)
    let state = store.reader(of: version)
    let bucket = try #require(version.catalog.buckets["rows"])
    var roots = IndexRoots(number: 1)
    try version.pages.reading {
      try state.rows.forEach(in: 0..<state.rows.count) { key, bytes in
        try state.values.withInput(
          of: try RowRecord(bytes), bucket: bucket, key: RowTreeKey.key(of: key),
          readsMetadata: false
        ) { input in
          let document = draft.add(input)
          document?.withUnsafeBytes { document in
            TextKey.row(bucket, input.key).withUnsafeBytes {
              _ = editor.put(&roots.places, key: document, value: $0)
            }
          }
        }
        if draft.isFull { try draft.writeRun(nil) }
        return true
      }
    }
    try draft.finish(&roots, nil)
    return (
      TextReader(definition: index, state: state, roots: roots, pin: nil), editor
    )
  }

  @Test("Group readers refuse a text index, and text readers refuse others") func kinds() throws {
    let store = try Store.inMemory()
    try store.define(try Self.index())
    try store.define("groups", try FieldIndex(bucket: "rows", group: "title", order: []))
    let snapshot = try store.snapshot()
    #expect(throws: TreeRingError.self) { try snapshot.index("words") }
    #expect(throws: TreeRingError.self) { try snapshot.text("groups") }
    #expect(throws: TreeRingError.self) {
      try store.define("filter", FieldFilter(of: "words", where: ["title=a"]))
    }
    #expect(store.indexes.compactMap(\.text) == [try Self.index()])
    try store.close()
  }

  @Test("Hits in the order of another index, first or last ones") func otherOrder() throws {
    let store = try Store.inMemory()
    try store.define(try Self.index())
    try store.define(
      "byTitle", try FieldIndex(bucket: "rows", group: "kind", order: [.init("title")]))
    try store.write { tx in
      for number in 0..<30 {
        let word = number % 3 == 0 ? "dune" : "worm"
        let text = #"{"kind":"\#(number % 2)","title":"t\#(100 - number)","body":"\#(word)"}"#
        try tx.put(Array(text.utf8), for: Key("k\(number)"), in: rows)
      }
    }
    let snapshot = try store.snapshot()
    let (text, index) = (try snapshot.text("words"), try snapshot.index("byTitle"))
    let wanted = try index.rows(in: "0").map(\.key).filter { key in
      try text.find(.phrase("dune"), limit: .max).contains { $0.id.key == key }
    }
    #expect(wanted.count == 5)
    let first = try text.find(.phrase("dune"), in: index, group: "0", limit: 3)
    #expect(first.map(\.id.key) == Array(wanted.prefix(3)))
    let last = try text.find(.phrase("dune"), in: index, group: "0", limit: 3, reversed: true)
    #expect(last.map(\.id.key) == Array(wanted.reversed().prefix(3)))
    try store.close()
  }
}
