// Writes postings side by side into memory with room for them.

internal import TreeRingLog

/// Writes the bytes of postings.
struct PostingWriter {
  private let start: UnsafeMutablePointer<UInt8>
  private(set) var count = 0
  /// The most bytes of a posting besides its occurrences.
  private static let overhead = 3 * 10

  private init(start: UnsafeMutablePointer<UInt8>) { self.start = start }

  /// Appends postings to `output` that `body` writes.
  /// - Parameters:
  ///   - postingCount: The number of postings.
  ///   - occurrenceByteCount: The bytes of all their occurrences.
  @inline(__always)
  static func write(
    _ postingCount: Int, occurrenceByteCount: Int, to output: inout [UInt8],
    _ body: (inout PostingWriter) -> Void
  ) {
    let limit = postingCount * overhead + occurrenceByteCount
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: limit) { room in
      guard let start = room.baseAddress else { return }
      var writer = PostingWriter(start: start)
      body(&writer)
      output.append(contentsOf: room[..<writer.count])
    }
  }

  /// Writes a posting.
  /// - Parameter length: The length of the document, less the least length of the chunk.
  @inline(__always)
  mutating func append(
    _ document: TextDocument, after last: TextDocument, length: UInt64, isSingle: Bool,
    _ occurrences: UnsafeRawBufferPointer
  ) {
    let flag: UInt64 = isSingle ? 2 : 0
    if document.commit == last.commit {
      append((document.operation &- last.operation) << 2 | flag)
    } else {
      append((document.commit &- last.commit) << 2 | flag | 1)
      append(document.operation)
    }
    append(length)
    guard let bytes = occurrences.baseAddress else { return }
    UnsafeMutableRawPointer(start + count).copyMemory(from: bytes, byteCount: occurrences.count)
    count &+= occurrences.count
  }

  /// Writes a LEB128 integer.
  @inline(__always)
  private mutating func append(_ integer: UInt64) {
    var rest = integer
    while rest >= 0x80 {
      start[count] = UInt8(truncatingIfNeeded: rest) | 0x80
      rest >>= 7
      count &+= 1
    }
    start[count] = UInt8(truncatingIfNeeded: rest)
    count &+= 1
  }
}
