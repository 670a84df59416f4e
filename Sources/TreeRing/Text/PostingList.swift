// Postings in memory, to be edited and encoded.

internal import TreeRingLog

/// The occurrences of a term in one document.
struct Posting {
  var document: TextDocument
  /// The number of terms of the whole document.
  var length: UInt64
  /// Whether the term occurs once.
  var isSingle: Bool
  private var start: Int
  private var end: Int

  /// The bytes of the occurrences, a range of the list's bytes.
  var occurrences: Range<Int> {
    @inline(__always) get { start..<end }
  }

  @inline(__always)
  init(_ document: TextDocument, length: UInt64, isSingle: Bool, occurrences: Range<Int>) {
    (self.document, self.length, self.isSingle) = (document, length, isSingle)
    (start, end) = (occurrences.lowerBound, occurrences.upperBound)
  }
}

/// Postings of one term in the order of their documents.
struct PostingList {
  private(set) var postings: [Posting] = []
  private(set) var bytes: [UInt8] = []

  init() {}

  /// The postings of a chunk.
  init(_ chunk: UnsafeRawBufferPointer) {
    append(chunk)
  }

  var isEmpty: Bool { postings.isEmpty }
  var count: Int { postings.count }

  /// Whether the bytes may be those of a chunk in pieces.
  var hasLongChunk: Bool { bytes.count + 64 > TextKey.pieceByteCount }

  mutating func removeAll() {
    postings.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  /// Appends the postings of a chunk.
  mutating func append(_ chunk: UnsafeRawBufferPointer) {
    var scanner = PostingScanner(chunk)
    while scanner.next() {
      append(
        scanner.document, length: scanner.length, isSingle: scanner.isSingle, scanner.occurrences)
    }
  }

  /// Appends a posting, whose document is later than those before it.
  @inline(__always)
  mutating func append(
    _ document: TextDocument, length: UInt64, isSingle: Bool, _ occurrences: UnsafeRawBufferPointer
  ) {
    let start = bytes.count
    bytes.append(contentsOf: occurrences)
    postings.append(
      Posting(document, length: length, isSingle: isSingle, occurrences: start..<bytes.count))
  }

  /// The position of a document, or of the first one after it.
  func position(of document: TextDocument) -> Int {
    postings.partitioningIndex { $0.document >= document }
  }

  /// Puts a posting in its place; replaces that of the same document.
  mutating func put(
    _ document: TextDocument, length: UInt64, isSingle: Bool, _ occurrences: UnsafeRawBufferPointer
  ) {
    let start = bytes.count
    bytes.append(contentsOf: occurrences)
    let posting = Posting(
      document, length: length, isSingle: isSingle, occurrences: start..<bytes.count)
    let index = position(of: document)
    if index < postings.count, postings[index].document == document {
      postings[index] = posting
    } else {
      postings.insert(posting, at: index)
    }
  }

  /// Removes the posting of a document, if there is one.
  mutating func remove(_ document: TextDocument) {
    let index = position(of: document)
    if index < postings.count, postings[index].document == document { postings.remove(at: index) }
  }

  /// Appends some of the postings to `output` as a chunk.
  func encode(_ range: Range<Int>, _ format: PostingFormat, into output: inout [UInt8]) {
    postings.withUnsafeBufferPointer { postings in
      bytes.withUnsafeBytes { bytes in
        Self.encode(
          UnsafeBufferPointer(rebasing: postings[range]), bytes, format, into: &output)
      }
    }
  }

  /// Appends postings, whose occurrences are ranges of `bytes`, to `output` as a chunk.
  static func encode(
    _ postings: UnsafeBufferPointer<Posting>, _ bytes: UnsafeRawBufferPointer,
    _ format: PostingFormat, into output: inout [UInt8]
  ) {
    let hasFront = postings.count >= PostingFormat.frontCount
    output.append(integer: UInt64(postings.count) << 1 | (hasFront ? 1 : 0))
    var least: UInt64 = 0
    if postings.count > 1 {
      least = .max
      for posting in postings { least = min(least, posting.length) }
      output.append(integer: least)
    }
    if hasFront {
      var front = PostingFront(postings, bytes, format)
      front.encode(least: least, into: &output)
    }
    let byteCount = postings.reduce(0) { $0 + $1.occurrences.count }
    PostingWriter.write(postings.count, occurrenceByteCount: byteCount, to: &output) { writer in
      var last = TextDocument.none
      for posting in postings {
        writer.append(
          posting.document, after: last, length: posting.length &- least,
          isSingle: posting.isSingle, UnsafeRawBufferPointer(rebasing: bytes[posting.occurrences]))
        last = posting.document
      }
    }
  }

  /// The length of a posting in a chunk, without that of its `length`.
  @inline(__always)
  static func byteCount(
    of document: TextDocument, after last: TextDocument, occurrences: Int
  ) -> Int {
    if document.commit == last.commit {
      return LEB128.byteCount(of: (document.operation &- last.operation) << 2) + occurrences
    }
    return LEB128.byteCount(of: (document.commit &- last.commit) << 2)
      + LEB128.byteCount(of: document.operation) + occurrences
  }
}
