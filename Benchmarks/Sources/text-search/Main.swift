// Compares text indexes with SQLite's FTS5 in one run: the same documents, the same searches. First
// it checks that both find the same rows with the same scores; then it measures.
//
//   text-search [--documents N] [--queries N] [--runs N] [--folder PATH]

internal import BenchmarkHarness
internal import Foundation
internal import TreeRing

@main
struct TextSearchBenchmark {
  var documentCount = 100_000
  var queryCount = 10_000
  var runCount = 5
  var folder = NSTemporaryDirectory() + "text-search-\(ProcessInfo.processInfo.processIdentifier)"

  static func main() throws {
    var benchmark = TextSearchBenchmark()
    var rest = CommandLine.arguments.dropFirst()
    while let option = rest.popFirst(), let value = rest.popFirst() {
      switch option {
      case "--documents": benchmark.documentCount = Int(value) ?? 0
      case "--queries": benchmark.queryCount = Int(value) ?? 0
      case "--runs": benchmark.runCount = Int(value) ?? 1
      case "--folder": benchmark.folder = value
      default: throw BenchmarkError("unknown option \(option)")
      }
    }
    try FileManager.default.createDirectory(
      atPath: benchmark.folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: benchmark.folder) }
    try benchmark.checkHits()
    try benchmark.measure()
  }

  private let bucket = Bucket<[UInt8]>.bytes("documents")

  private func index(_ version: UInt32 = 1) throws -> TextIndex {
    try TextIndex(
      "words", on: bucket, fields: [.init("title", weight: 4), "body"], version: version)
  }

  private func key(_ number: Int) -> Key { Key(String(format: "d%08d", number)) }

  // MARK: - The same hits

  private func checkHits() throws {
    var corpus = Corpus(words: 300, seed: 1)
    let documents = (0..<2_000).map { _ in corpus.document() }
    let peer = try FullTextTable(folder + "/check.sqlite")
    try peer.insert(documents)
    let store = try Store(at: folder + "/check.ring")
    try store.define(try index())
    for start in stride(from: 0, to: documents.count, by: 250) {
      try store.write { tx in
        for number in start..<start + 250 {
          try tx.put(documents[number].json, for: key(number), in: bucket)
        }
      }
    }
    let text = try store.snapshot().text("words")
    var (hitCount, scoreCount) = (0, 0)
    for number in 0..<queryCount {
      let (query, hasPlainScore) = corpus.query()
      let wanted = try peer.find(query, limit: Int.max)
      let found = try text.find(query, limit: .max)
      let scores = Dictionary(
        uniqueKeysWithValues: found.map { (Int($0.id.key.description.dropFirst()) ?? -1, $0.score) }
      )
      guard Set(scores.keys) == Set(wanted.map(\.row)) else {
        throw BenchmarkError("query \(number), \(query): \(scores.count) hits, not \(wanted.count)")
      }
      hitCount += wanted.count
      if !hasPlainScore { continue }
      for hit in wanted {
        guard abs((scores[hit.row] ?? 0) - hit.score) <= 1e-6 * max(1, hit.score) else {
          throw BenchmarkError(
            "query \(number), \(query), row \(hit.row): score \(scores[hit.row] ?? 0), "
              + "not \(hit.score)")
        }
        scoreCount += 1
      }
    }
    print("\(queryCount) searches: the same \(hitCount) hits, and the same \(scoreCount) scores")
    try store.close()
  }

  // MARK: - Times

  private func measure() throws {
    var corpus = Corpus(words: 60_000, seed: 2)
    let documents = (0..<documentCount).map { _ in corpus.document() }
    let textByteCount = documents.reduce(0) { $0 + $1.byteCount }
    print(
      "\(documentCount) documents, \(textByteCount / 1_000_000) MB of text, "
        + "\(textByteCount / documentCount) bytes each")

    let peer = try FullTextTable(folder + "/measure.sqlite")
    let peerBuild = try Clocks.wallSeconds { try peer.insert(documents) }
    print("build, documents/s", "FTS5", Int(Double(documentCount) / peerBuild))
    let peerSize = try peer.indexByteCount()
    try peer.optimize()

    let store = try Store(at: folder + "/measure.ring")
    for start in stride(from: 0, to: documentCount, by: 1000) {
      try store.write { tx in
        for number in start..<min(start + 1000, documentCount) {
          try tx.put(documents[number].json, for: key(number), in: bucket)
        }
      }
    }
    let before = try pageBytes(store)
    let build = try Clocks.wallSeconds { try store.define(try index()) }
    print("build, documents/s", "TreeRing", Int(Double(documentCount) / build))
    let size = try pageBytes(store) - before
    print("size / text", "FTS5", Double(peerSize) / Double(textByteCount))
    print(
      "size / text, optimized", "FTS5", Double(try peer.indexByteCount()) / Double(textByteCount))
    print("size / text", "TreeRing", Double(size) / Double(textByteCount))

    let text = try store.snapshot().text("words")
    let rare =
      corpus.vocabulary[50_000...].first {
        (try? text.count(of: .phrase($0))).map { (3...9).contains($0) } ?? false
      } ?? ""
    let words = corpus.vocabulary
    for (name, query) in [
      ("common word, top ten", words[0]), ("word of rank 100", words[100]), ("rare word", rare),
      ("phrase", "\"\(words[40]) \(words[60])\""), ("both words", "\(words[20]) \(words[90])"),
      ("one of two words", "\(words[20]) OR \(words[90])"), ("prefix", "\(words[500].prefix(3))*"),
    ] {
      let count = try text.count(of: try TextQuery(query))
      let peerTime = try median { _ = try peer.find(query, limit: 10) }
      let time = try median { _ = try text.find(query, limit: 10) }
      print("\(name), \(count) hits, ms", "FTS5", peerTime, "TreeRing", time)
    }
    try measureCommits(store, &corpus, peer)
    try store.close()
  }

  private func pageBytes(_ store: Store) throws -> Int {
    try store.checkpoint()
    return try store.statistics().pageCount * 4096
  }

  /// The time of one document's commit: with the index, and of a plain one.
  private func measureCommits(
    _ store: Store, _ corpus: inout Corpus, _ peer: FullTextTable
  ) throws {
    var number = documentCount
    func commit(_ name: String) throws {
      var times: [Double] = []
      for _ in 0..<200 {
        let document = corpus.document()
        number += 1
        times.append(
          try Clocks.wallSeconds {
            try store.write(durability: .unsynced) { tx in
              try tx.put(document.json, for: key(number), in: bucket)
            }
          } * 1000)
      }
      print("commit of a document, ms", name, times.sorted()[100])
    }
    try commit("TreeRing with the index")
    var times: [Double] = []
    for _ in 0..<200 {
      let document = corpus.document()
      times.append(try Clocks.wallSeconds { try peer.insert([document]) } * 1000)
    }
    print("commit of a document, ms", "FTS5", times.sorted()[100])
    try store.removeIndex("words")
    try commit("TreeRing plain")
  }

  /// The median time of some runs of a hundred calls, in milliseconds for one.
  private func median(_ body: () throws -> Void) throws -> Double {
    try body()
    var times: [Double] = []
    for _ in 0..<runCount {
      times.append(try Clocks.wallSeconds { for _ in 0..<20 { try body() } } * 1000 / 20)
    }
    return times.sorted()[runCount / 2]
  }
}

extension Corpus {
  /// A random query, and whether FTS5 documents its score: with `OR` over conditions it depends on
  /// how far its iterators are.
  mutating func query(depth: Int = 2) -> (text: String, hasPlainScore: Bool) {
    switch Int.random(in: 0..<(depth == 0 ? 5 : 9), using: &random) {
    case 0, 1: return (word(), true)
    case 2: return ("\"\(word()) \(word())\"", true)
    case 3: return ("\(word().prefix(2))*", true)
    case 4:
      return ("NEAR(\(word()) \(word()), \(Int.random(in: 0...8, using: &random)))", true)
    case 5: return ("\(Bool.random(using: &random) ? "title" : "body"):\(word())", true)
    default:
      let (a, b) = (query(depth: depth - 1), query(depth: depth - 1))
      let word = ["AND", "OR", "NOT"].randomElement(using: &random) ?? "AND"
      return (
        "(\(a.text)) \(word) (\(b.text))", word == "AND" && a.hasPlainScore && b.hasPlainScore
      )
    }
  }
}
