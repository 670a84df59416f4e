// The postings of one term at one state: where its chunks are, and a cursor over their documents.
// All of it is valid within the read section in which it was made.

internal import TreeRingLog

/// The chunks of a term, in place.
final class TermChunks {
  struct Chunk {
    var bytes: UnsafeRawBufferPointer
    var first: TextDocument
  }

  @exclusivity(unchecked) private var all = PlainArray<Chunk>(capacity: 8)
  /// The number of postings, which is that of the documents with the term.
  @exclusivity(unchecked) private(set) var count = 0
  /// The number of postings of the longest chunk.
  @exclusivity(unchecked) private var longestCount = 0
  /// The chunks that had to be joined from pieces.
  private var joined: [UnsafeMutableRawBufferPointer] = []
  /// The memory of the cursor; nil without one.
  private var batch: PostingBatch?

  init() {}

  /// Finds the chunks of a term. O(log n + chunks).
  convenience init(_ term: [UInt8], in order: Tree) {
    self.init()
    let prefix = term + [0]
    order.forEach(from: prefix, to: term + [1]) { key, value in
      add(key, value, first: prefix.count)
      return true
    }
  }

  deinit {
    for bytes in joined { bytes.deallocate() }
    batch?.deallocate()
  }

  /// The chunks, valid until the next `add`.
  var chunks: UnsafeBufferPointer<Chunk> { UnsafeBufferPointer(all.elements) }

  /// Adds the next entry of the term.
  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, first: Int) {
    let isPiece =
      key.count > first && TextKey.chunkKeyByteCount(ofEntry: key, first: first) < key.count
    if isPiece, let last = chunks.last {
      let whole = UnsafeMutableRawBufferPointer.allocate(
        byteCount: last.bytes.count + value.count, alignment: 8)
      whole.copyMemory(from: last.bytes)
      UnsafeMutableRawBufferPointer(rebasing: whole[last.bytes.count...]).copyMemory(from: value)
      joined.append(whole)
      all[all.count - 1].bytes = UnsafeRawBufferPointer(whole)
      return
    }
    var scanner = PostingScanner(value)
    count += scanner.count
    longestCount = max(longestCount, scanner.count)
    if scanner.next() { all.append(Chunk(bytes: value, first: scanner.document)) }
  }

  /// A cursor at the first document: the only one of these chunks, which have to outlive it. No
  /// chunk may be added afterwards.
  func makeCursor() -> TermCursor {
    precondition(batch == nil, "a term has one cursor")
    let batch = PostingBatch.allocate(capacity: longestCount)
    self.batch = batch
    return TermCursor(chunks, batch)
  }
}

/// A position in the postings of a term.
struct TermCursor {
  private let chunks: UnsafeBufferPointer<TermChunks.Chunk>
  /// The postings of the present chunk.
  private var batch: PostingBatch
  private var chunk = -1
  private var index = 0

  fileprivate init(_ chunks: UnsafeBufferPointer<TermChunks.Chunk>, _ batch: PostingBatch) {
    (self.chunks, self.batch) = (chunks, batch)
    _ = load(for: .none)
  }

  /// The document at the cursor; `end` behind the last one.
  var document: TextDocument {
    @inline(__always) get { hasPosting ? batch[index] : .end }
  }

  private var hasPosting: Bool {
    @inline(__always) get { index < batch.count }
  }

  /// Moves to a document, or to the first one after it. Never moves back.
  mutating func seek(_ target: TextDocument) {
    if document >= target { return }
    if chunk + 1 < chunks.count, chunks[chunk + 1].first <= target { _ = load(for: target) }
    repeat {
      while hasPosting {
        if batch[index] >= target { return }
        index &+= 1
      }
    } while load(for: target)
  }

  /// Moves to the next document.
  @inline(__always)
  mutating func next() {
    index &+= 1
    if !hasPosting { _ = load(for: .none) }
  }

  /// Moves two cursors to the next document that both have, the present one included.
  /// - Returns: That document; `end` if there is none.
  static func meet(_ a: inout TermCursor, _ b: inout TermCursor) -> TextDocument {
    repeat {
      var (first, second) = (a.index, b.index)
      let (one, other) = (a.batch, b.batch)
      defer { (a.index, b.index) = (first, second) }
      while first < one.count, second < other.count {
        let (left, right) = (one[first], other[second])
        if left == right { return left }
        // Without branches: no processor could predict them.
        first &+= left < right ? 1 : 0
        second &+= right < left ? 1 : 0
      }
      // The one whose chunk has ended reads the next that may have the other's document.
    } while a.hasPosting ? b.load(for: a.document) : a.load(for: b.hasPosting ? b.document : .none)
    return .end
  }

  /// Reads the next chunk; or a later one, if the documents before `target` are not wanted.
  /// - Returns: False at the end.
  private mutating func load(for target: TextDocument) -> Bool {
    index = 0
    guard chunk + 1 < chunks.count else {
      chunk = chunks.count
      batch.removeAll()
      return false
    }
    chunk = chunk(of: target, from: chunk + 1)
    batch.load(chunks[chunk].bytes)
    return true
  }

  /// The position of the chunk in which a document is, or belongs; at least `start`.
  private func chunk(of document: TextDocument, from start: Int) -> Int {
    // The next chunk is likely, so look further in growing steps.
    var step = 1
    var low = start
    while low + step < chunks.count, chunks[low + step].first <= document {
      low += step
      step *= 2
    }
    var high = min(low + step, chunks.count)
    while low + 1 < high {
      let middle = (low + high) / 2
      if chunks[middle].first <= document { low = middle } else { high = middle }
    }
    return low
  }

  // MARK: - The present posting

  /// The number of terms of the present document.
  var length: UInt64 { batch.length(index) }

  /// Whether the term occurs once in the present document, and in field 0.
  var isSingle: Bool {
    @inline(__always) get { batch.isSingle(index) }
  }

  /// The position of a single occurrence.
  var singlePosition: UInt64 {
    @inline(__always) get { batch.singlePosition(index) }
  }

  /// Calls `body` with the places of the term in the present document.
  @inline(__always)
  func forEachPlace(_ format: PostingFormat, _ body: (UInt64) -> Void) {
    format.forEachPlace(in: batch.occurrences(index), isSingle: isSingle, body)
  }

  /// The weighted number of occurrences in the present document.
  func frequency(_ format: PostingFormat) -> UInt64 {
    format.frequency(of: batch.occurrences(index), isSingle: isSingle)
  }
}
