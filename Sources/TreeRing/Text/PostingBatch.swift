// The postings of a chunk in one pass, as arrays: a search compares documents far more often than
// it reads their occurrences. One step takes a whole posting from a word of eight bytes, if all of
// its integers have one byte, as most do.

internal import TreeRingLog

/// The documents of a chunk, in place of another batch.
struct PostingBatch {
  private let documents: UnsafeMutablePointer<TextDocument>
  /// For each posting: the offset of its length, twice, and 1 if it has a single occurrence.
  private let starts: UnsafeMutablePointer<UInt32>
  private let capacity: Int
  private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  private var leastLength: UInt64 = 0
  /// The number of postings.
  private(set) var count = 0

  /// Allocates memory for chunks of up to `capacity` postings.
  static func allocate(capacity: Int) -> PostingBatch { PostingBatch(capacity: max(1, capacity)) }

  private init(capacity: Int) {
    documents = .allocate(capacity: capacity)
    starts = .allocate(capacity: capacity)
    self.capacity = capacity
  }

  func deallocate() {
    documents.deallocate()
    starts.deallocate()
  }

  /// The document of a posting.
  @inline(__always)
  subscript(index: Int) -> TextDocument { documents[index] }

  /// Removes all postings.
  mutating func removeAll() { count = 0 }

  /// Reads the postings of a chunk: those that a `PostingScanner` would find.
  mutating func load(_ chunk: UnsafeRawBufferPointer) {
    let scanner = PostingScanner(chunk)
    (bytes, leastLength, count) = (chunk, scanner.leastLength, 0)
    let end = min(scanner.count, capacity)
    var at = scanner.postingStart
    var (index, commit, operation) = (0, UInt64(0), UInt64(0))
    while index < end, at < chunk.count {
      if at &+ 8 <= chunk.count {
        let word = UInt64(
          littleEndian: chunk.loadUnaligned(fromByteOffset: at, as: UInt64.self))
        // Head, length, occurrences: one integer, or their count and as many integers.
        let isSingle = word >> 1 & 1
        let size = 3 &+ (isSingle != 0 ? 0 : word >> 16 & 0xFF)
        if size <= 8, word & 1 == 0, word << (64 &- 8 &* size) & 0x8080_8080_8080_8080 == 0 {
          operation &+= (word & 0xFF) >> 2
          documents[index] = TextDocument(commit: commit, operation: operation)
          starts[index] = UInt32(truncatingIfNeeded: at &+ 1) << 1 | UInt32(isSingle)
          index &+= 1
          at &+= Int(size)
          continue
        }
      }
      var reader = PostingBytes(chunk)
      reader.position = at
      let isSingle = reader.takeHead(&commit, &operation)
      documents[index] = TextDocument(commit: commit, operation: operation)
      starts[index] = UInt32(truncatingIfNeeded: reader.position) << 1 | (isSingle ? 1 : 0)
      index &+= 1
      _ = reader.integer()
      reader.skip(isSingle ? 1 : reader.integer())
      at = reader.position
    }
    count = index
  }

  // MARK: - One posting

  /// Whether the term occurs once in the document, and in field 0.
  @inline(__always)
  func isSingle(_ index: Int) -> Bool { starts[index] & 1 != 0 }

  /// The number of terms of the document.
  @inline(__always)
  func length(_ index: Int) -> UInt64 {
    var reader = reader(index)
    return leastLength &+ reader.integer()
  }

  /// The bytes of the occurrences and all behind them, which need not be found.
  @inline(__always)
  func occurrences(_ index: Int) -> UnsafeRawBufferPointer {
    var reader = reader(index)
    _ = reader.integer()
    return UnsafeRawBufferPointer(rebasing: bytes[reader.position...])
  }

  /// The bytes of the occurrences.
  @inline(__always)
  func wholeOccurrences(_ index: Int) -> UnsafeRawBufferPointer {
    var reader = reader(index)
    _ = reader.integer()
    let start = reader.position
    reader.skip(isSingle(index) ? 1 : reader.integer())
    return UnsafeRawBufferPointer(rebasing: bytes[start..<reader.position])
  }

  /// The position of a single occurrence.
  @inline(__always)
  func singlePosition(_ index: Int) -> UInt64 {
    var reader = reader(index)
    _ = reader.integer()
    return reader.integer() &- 1
  }

  @inline(__always)
  private func reader(_ index: Int) -> PostingBytes {
    var reader = PostingBytes(bytes)
    reader.position = Int(starts[index] >> 1)
    return reader
  }
}
