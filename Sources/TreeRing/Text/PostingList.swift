// Postings in memory, to be edited and encoded.

internal import TreeRingLog

/// The occurrences of a term in one document.
struct Posting {
  var document: TextDocument
  /// The number of terms of the whole document.
  var length: UInt64
  /// Whether the term occurs once.
  var isSingle: Bool
  /// The bytes of the occurrences, a range of the list's bytes.
  var occurrences: Range<Int>
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
      Posting(
        document: document, length: length, isSingle: isSingle, occurrences: start..<bytes.count))
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
      document: document, length: length, isSingle: isSingle, occurrences: start..<bytes.count)
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
    let part = postings[range]
    let hasFront = part.count >= PostingFormat.frontCount
    output.append(integer: UInt64(part.count) << 1 | (hasFront ? 1 : 0))
    var least: UInt64 = 0
    if part.count > 1 {
      least = part.reduce(.max) { min($0, $1.length) }
      output.append(integer: least)
    }
    bytes.withUnsafeBytes { all in
      if hasFront {
        var front = PostingFront()
        for posting in part {
          let occurrences = UnsafeRawBufferPointer(rebasing: all[posting.occurrences])
          front.add(
            PostingImpact(
              frequency: format.frequency(of: occurrences, isSingle: posting.isSingle),
              length: posting.length))
        }
        front.encode(least: least, into: &output)
      }
      var last = TextDocument.none
      for posting in part {
        Self.append(
          posting.document, after: last, length: posting.length &- least,
          isSingle: posting.isSingle,
          UnsafeRawBufferPointer(rebasing: all[posting.occurrences]), to: &output)
        last = posting.document
      }
    }
  }

  /// Appends a posting to a chunk.
  /// - Parameter length: The length of the document, less the least length.
  @inline(__always)
  static func append(
    _ document: TextDocument, after last: TextDocument, length: UInt64, isSingle: Bool,
    _ occurrences: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) {
    let flag: UInt64 = isSingle ? 2 : 0
    if document.commit == last.commit {
      output.append(integer: (document.operation &- last.operation) << 2 | flag)
    } else {
      output.append(integer: (document.commit &- last.commit) << 2 | flag | 1)
      output.append(integer: document.operation)
    }
    output.append(integer: length)
    output.append(contentsOf: occurrences)
  }

  /// The length of an integer.
  @inline(__always)
  static func byteCount(of value: UInt64) -> Int {
    (70 - (value | 1).leadingZeroBitCount) / 7
  }

  /// The length of a posting in a chunk, without that of its `length`.
  @inline(__always)
  static func byteCount(
    of document: TextDocument, after last: TextDocument, occurrences: Int
  ) -> Int {
    if document.commit == last.commit {
      return byteCount(of: (document.operation &- last.operation) << 2) + occurrences
    }
    return byteCount(of: (document.commit &- last.commit) << 2)
      + byteCount(of: document.operation) + occurrences
  }
}
