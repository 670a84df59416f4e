// Reads a text index at one commit.

public import TreeRingLog

/// A row that a search has found.
public struct TextHit: Hashable, Sendable {
  /// The row.
  public let id: RowID
  /// The score, “BM25”: greater for rows in which the words are more frequent, and for rarer words.
  public let score: Double

  package init(id: RowID, score: Double) {
    self.id = id
    self.score = score
  }
}

/// A text index at one commit.
///
/// It keeps its snapshot alive. A reader from a transaction is valid until the transaction's next
/// write.
public struct TextReader: Sendable {
  /// The definition of the index.
  public let definition: TextIndex
  let state: StateReader
  let roots: IndexRoots
  private let pin: (any AnyObject & Sendable)?
  private var order: Tree { Tree(roots.order, pages: state.pages) }
  private var places: Tree { Tree(roots.places, pages: state.pages) }

  init(
    definition: TextIndex, state: StateReader, roots: IndexRoots,
    pin: (any AnyObject & Sendable)?
  ) {
    self.definition = definition
    self.state = state
    self.roots = roots
    self.pin = pin
  }

  /// The commit whose rows it finds.
  public var commit: CommitNumber { state.roots.commit }

  /// The number of rows that have words. O(1).
  public var count: Int { places.count }

  /// The best hits of a search, the best first. Rows of equal scores stand in the order of their
  /// creation.
  ///
  /// O(chunks + hits read) for one word, where a chunk holds the word of about a hundred rows; only
  /// chunks that may hold one of the best are read. Otherwise O(rows with the words).
  /// - Parameters:
  ///   - query: The search.
  ///   - limit: The maximum number of hits.
  /// - Throws: `invalidInput` if the search names a field that the index does not have.
  public func find(_ query: TextQuery, limit: Int = 20) throws(TreeRingError) -> [TextHit] {
    try findCounting(query, limit: limit).hits
  }

  /// The best hits of a search, and the number of all hits.
  package func findCounting(
    _ query: TextQuery, limit: Int
  ) throws(TreeRingError) -> (hits: [TextHit], count: Int) {
    let plan = try TextPlan(query, of: definition)
    return try state.read {
      var search = TextSearch(plan, order: order, documentCount: count)
      let best = search.best(limit)
      let hits = try best.documents.map { entry in
        TextHit(id: try state.id(try row(of: entry.document)), score: entry.score)
      }
      return (hits, best.count)
    }
  }

  /// The best hits of a search as a user types it; see `TextQuery.init(_:)`.
  /// - Throws: `invalidInput` with the offset of a mistake.
  public func find(_ text: String, limit: Int = 20) throws(TreeRingError) -> [TextHit] {
    try find(try TextQuery(text), limit: limit)
  }

  /// The number of rows that a search finds. O(chunks) for one word, else as `find`.
  public func count(of query: TextQuery) throws(TreeRingError) -> Int {
    let plan = try TextPlan(query, of: definition)
    return try state.read {
      var search = TextSearch(plan, order: order, documentCount: count)
      return search.count()
    }
  }

  /// Hits in the order of a group of another index: the first ones of the group that the search
  /// finds. O(rows found · log n).
  ///
  /// - Parameters:
  ///   - query: The search.
  ///   - index: A reader of the other index, of the same snapshot.
  ///   - group: Its group. Rows that are not in it are no hits.
  ///   - limit: The maximum number of hits.
  ///   - reversed: Whether the last ones of the group come first.
  public func find(
    _ query: TextQuery, in index: IndexReader, group: GroupName, limit: Int = 20,
    reversed: Bool = false
  ) throws(TreeRingError) -> [TextHit] {
    let plan = try TextPlan(query, of: definition)
    return try state.read {
      var search = TextSearch(plan, order: order, documentCount: count)
      var found: [(order: [UInt8], row: RowReference, score: Double)] = []
      try search.forEach { document, score in
        let row = try row(of: document)
        for place in try index.places(of: row) where place.group == group {
          found.append((place.order, row, score))
        }
        return true
      }
      found.sort {
        reversed
          ? $1.order.lexicographicallyPrecedes($0.order)
          : $0.order.lexicographicallyPrecedes($1.order)
      }
      return try found.prefix(max(0, limit)).map {
        TextHit(id: try state.id($0.row), score: $0.score)
      }
    }
  }

  /// The rows of hits, as a bucket's coder reads them. O(log n) each.
  public func rows<Row>(
    of hits: [TextHit], in bucket: Bucket<Row>
  ) throws -> [(key: Key, row: Row)] {
    try hits.map { hit in
      let stored = try state.row(hit.id)
      let row = try stored.object.withUnsafeBytes { try bucket.coder.decode($0, stored.coder) }
      return (hit.id.key, row)
    }
  }

  /// The row of a hit, with its bytes. O(log n).
  public func row(of hit: TextHit) throws(TreeRingError) -> StoredRow { try state.row(hit.id) }

  /// The texts of a row in which a search finds words, with the ranges of these words. O(bytes of
  /// the row).
  public func matches(
    of query: TextQuery, in hit: TextHit
  ) throws(TreeRingError) -> [TextMatch] {
    try matches(of: query, in: try row(of: hit))
  }

  /// The texts of a row that was read already in which a search finds words.
  package func matches(
    of query: TextQuery, in row: StoredRow
  ) throws(TreeRingError) -> [TextMatch] {
    let plan = try TextPlan(query, of: definition)
    return row.object.withUnsafeBytes { TextMatch.all(in: $0, plan) }
  }

  private func row(of document: TextDocument) throws(TreeRingError) -> RowReference {
    let value = document.key.withUnsafeBytes { places.value(of: $0) }
    guard let value else { throw ByteReader.damaged }
    return try TextKey.reference(value)
  }
}

extension IndexRecord {
  /// The definition of a text index.
  /// - Throws: `invalidInput` for an index of another kind.
  func textDefinition() throws(TreeRingError) -> TextIndex {
    if let text = try active(code: [])?.text { return text }
    throw TreeRingError(
      .invalidInput,
      "The index \(name) is no text index. Read it by `index(_:)`, or define a TextIndex.")
  }
}
