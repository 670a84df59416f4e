// Finds the documents of a search, one after another in their order, or the best of them.
//
// A word in any field is read from its chunks. Everything else (phrases, prefixes, words in some
// fields, NEAR) is found in advance, since the score needs to know how many documents have it.
//
// The best documents of a single word: every chunk states the pairs of frequency and length that
// bound its scores. Chunks are read in the order of their bounds, until the bound of the next one
// is below the score of the worst document kept.

internal import TreeRingLog

/// A search at one state. Used within one read section.
struct TextSearch {
  /// The documents of one phrase: a cursor of a term, or a list.
  private struct Leaf {
    var cursor: TermCursor?
    var list = ScoredList()
    var index = 0
    let factor: Double
    /// The document at the cursor, or in the list.
    var document: TextDocument

    init(_ cursor: TermCursor, factor: Double) {
      self.cursor = cursor
      self.factor = factor
      document = cursor.document
    }

    init(_ list: ScoredList, factor: Double) {
      self.list = list
      self.factor = factor
      document = list.documents.first ?? .end
    }

    mutating func seek(_ target: TextDocument) -> TextDocument {
      if document >= target { return document }
      if cursor != nil {
        cursor?.seek(target)
        document = cursor?.document ?? .end
      } else {
        index = list.position(of: target, from: index)
        document = index < list.documents.count ? list.documents[index] : .end
      }
      return document
    }

    mutating func score(_ score: TextScore, _ format: PostingFormat) -> Double {
      let frequency = cursor?.frequency(format) ?? list.frequencies[index]
      let length = cursor?.length ?? list.lengths[index]
      return factor * score.part(frequency: frequency, length: length)
    }
  }

  private let plan: TextPlan
  private let score: TextScore
  private var leaves: [Leaf] = []
  private var root: TextPlan.Node?
  /// The term of a search for one word.
  private var only: TermChunks?
  /// Keeps the chunks that cursors point to.
  private var terms: [TermChunks] = []

  /// Begins a search. O(postings of phrases, prefixes and words in some fields).
  ///
  /// - Parameters:
  ///   - order: The order tree of the index.
  ///   - documentCount: The number of documents.
  init(_ plan: TextPlan, order: Tree, documentCount: Int) {
    self.plan = plan
    score = TextScore(documentCount: documentCount, termTotal: order.termTotal)
    root = plan.root
    let finder = PhraseFinder(text: plan.text, order: order)
    let near = Self.nearPhrases(plan.root)
    for (number, phrase) in plan.phrases.enumerated() {
      if phrase.isPlain(in: plan.text), !near.contains(number) {
        let term = TermChunks(phrase.parts[0].term, in: order)
        terms.append(term)
        leaves.append(Leaf(term.makeCursor(), factor: score.factor(matching: term.count)))
        if case .phrase = plan.root { only = term }
      } else {
        let list = finder.find(phrase, keepingPlaces: near.contains(number))
        leaves.append(Leaf(list, factor: score.factor(matching: list.documents.count)))
      }
    }
    root = plan.root.map { trimNear($0, finder) }
  }

  private static func nearPhrases(_ node: TextPlan.Node?) -> Set<Int> {
    switch node {
    case nil, .phrase: []
    case .and(let nodes), .or(let nodes):
      nodes.reduce(into: []) { $0.formUnion(nearPhrases($1)) }
    case .not(let a, let b): nearPhrases(a).union(nearPhrases(b))
    case .near(let numbers, _): Set(numbers)
    }
  }

  /// Replaces the groups of NEAR by the phrases in them, which have the same documents.
  private mutating func trimNear(
    _ node: TextPlan.Node, _ finder: PhraseFinder
  ) -> TextPlan.Node {
    switch node {
    case .phrase: return node
    case .and(let nodes): return .and(nodes.map { trimNear($0, finder) })
    case .or(let nodes): return .or(nodes.map { trimNear($0, finder) })
    case .not(let a, let b): return .not(trimNear(a, finder), trimNear(b, finder))
    case .near(let numbers, let distance):
      let found = numbers.map { leaves[$0].list }
      let groups = finder.near(found, numbers.map { plan.phrases[$0] }, within: distance)
      for (index, number) in numbers.enumerated() {
        // As in FTS5, the factor is that of the phrase anywhere.
        leaves[number] = Leaf(
          groups[index], factor: score.factor(matching: found[index].documents.count))
      }
      return .and(numbers.map { .phrase($0) })
    }
  }

  // MARK: - Documents in order

  /// The first document from `target` on that fits.
  mutating func seek(_ target: TextDocument) -> TextDocument {
    guard let root else { return .end }
    return seek(root, target)
  }

  private mutating func seek(_ node: TextPlan.Node, _ target: TextDocument) -> TextDocument {
    switch node {
    case .phrase(let number): return leaves[number].seek(target)
    case .and(let nodes):
      var wanted = target
      while true {
        var found = wanted
        for node in nodes {
          found = seek(node, wanted)
          if found != wanted { break }
        }
        if found == wanted || found == .end { return found }
        wanted = found
      }
    case .or(let nodes):
      var least = TextDocument.end
      for node in nodes { least = min(least, seek(node, target)) }
      return least
    case .not(let wanted, let unwanted):
      var target = target
      while true {
        let found = seek(wanted, target)
        if found == .end || seek(unwanted, found) != found { return found }
        target = found.next
      }
    case .near: return .end
    }
  }

  /// The score of the document at which the last `seek` stopped.
  private mutating func score(_ node: TextPlan.Node, _ document: TextDocument) -> Double {
    switch node {
    case .phrase(let number): return leaves[number].score(score, plan.text.format)
    case .and(let nodes):
      var sum = 0.0
      for node in nodes { sum += score(node, document) }
      return sum
    case .or(let nodes):
      var sum = 0.0
      for node in nodes where seek(node, document) == document { sum += score(node, document) }
      return sum
    case .not(let wanted, _): return score(wanted, document)
    case .near: return 0
    }
  }

  /// Calls `body` with every document that fits and its score, in ascending order, until it returns
  /// false.
  mutating func forEach(_ body: (TextDocument, _ score: Double) throws -> Bool) rethrows {
    guard let root else { return }
    var document = seek(root, .none)
    while document != .end {
      if try !body(document, score(root, document)) { return }
      document = seek(root, document.next)
    }
  }

  /// The number of documents that fit.
  mutating func count() -> Int {
    if let only { return only.count }
    if case .phrase(let number) = root { return leaves[number].list.documents.count }
    var count = 0
    var document = seek(.none)
    while document != .end {
      count += 1
      document = seek(document.next)
    }
    return count
  }

  // MARK: - The best

  /// The best documents, the best first, equal ones in their order; and the number of all that fit.
  mutating func best(_ limit: Int) -> (documents: [BestDocuments.Entry], count: Int) {
    if limit <= 0 { return ([], count()) }
    var best = BestDocuments(limit: limit)
    if let only {
      findBest(of: only, factor: leaves[0].factor, &best)
      return (best.sorted, only.count)
    }
    var count = 0
    forEach { document, score in
      best.add(document, score)
      count += 1
      return true
    }
    return (best.sorted, count)
  }

  /// The best documents of one term.
  private func findBest(of term: TermChunks, factor: Double, _ best: inout BestDocuments) {
    let (format, score) = (plan.text.format, score)
    var bounds: [(bound: Double, chunk: Int)] = []
    bounds.reserveCapacity(term.chunks.count)
    for (index, chunk) in term.chunks.enumerated() {
      let scanner = PostingScanner(chunk.bytes)
      var bound = scanner.hasFront ? 0 : Double.infinity
      scanner.forEachImpact { pair in
        bound = max(bound, factor * score.part(frequency: pair.frequency, length: pair.length))
      }
      bounds.append((bound, index))
    }
    bounds.sort { $0.bound == $1.bound ? $0.chunk < $1.chunk : $0.bound > $1.bound }
    for (bound, index) in bounds {
      // The bound is computed as scores are, but of a pair that no document may have.
      if bound * (1 + 1e-12) < best.threshold { break }
      var scanner = PostingScanner(term.chunks[index].bytes)
      while scanner.next() {
        let frequency = scanner.frequency(format)
        best.add(
          scanner.document, factor * score.part(frequency: frequency, length: scanner.length))
      }
    }
  }
}
