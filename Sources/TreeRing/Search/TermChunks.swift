// The postings of one term at one state: where its chunks are, and a cursor over their documents.
// All of it is valid within the read section in which it was made.

internal import TreeRingLog

/// The chunks of a term, in place.
final class TermChunks {
  struct Chunk {
    var bytes: UnsafeRawBufferPointer
    var first: TextDocument
  }

  private(set) var chunks: [Chunk] = []
  /// The number of postings, which is that of the documents with the term.
  private(set) var count = 0
  /// The chunks that had to be joined from pieces.
  private var joined: [UnsafeMutableRawBufferPointer] = []

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

  deinit { for bytes in joined { bytes.deallocate() } }

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
      chunks[chunks.count - 1].bytes = UnsafeRawBufferPointer(whole)
      return
    }
    var scanner = PostingScanner(value)
    count += scanner.count
    if scanner.next() { chunks.append(Chunk(bytes: value, first: scanner.document)) }
  }

  /// The position of the chunk in which a document is, or belongs; at least `start`.
  func chunk(of document: TextDocument, from start: Int) -> Int {
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
}

/// A position in the postings of a term.
struct TermCursor {
  private let term: TermChunks
  private var chunk = 0
  private(set) var scanner: PostingScanner
  /// The document at the cursor; `end` behind the last one.
  private(set) var document = TextDocument.end

  init(_ term: TermChunks) {
    self.term = term
    scanner = PostingScanner(
      term.chunks.first?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0))
    step()
  }

  private mutating func step(to target: TextDocument = .none) {
    while true {
      if scanner.move(to: target) {
        document = scanner.document
        return
      }
      chunk += 1
      guard chunk < term.chunks.count else {
        document = .end
        return
      }
      scanner = PostingScanner(term.chunks[chunk].bytes)
    }
  }

  /// Moves to a document, or to the first one after it. Never moves back.
  mutating func seek(_ target: TextDocument) {
    if document >= target { return }
    let next = term.chunk(of: target, from: chunk)
    if next != chunk {
      chunk = next
      scanner = PostingScanner(term.chunks[chunk].bytes)
    }
    step(to: target)
  }

  /// Moves to the next document.
  mutating func next() { step() }

  var length: UInt64 { scanner.length }

  /// The occurrences in the present document.
  var occurrences: UnsafeRawBufferPointer {
    mutating get { scanner.occurrences }
  }
  var isSingle: Bool { scanner.isSingle }

  mutating func frequency(_ format: PostingFormat) -> UInt64 { scanner.frequency(format) }
}
