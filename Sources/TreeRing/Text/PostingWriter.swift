// Writes postings side by side into memory with room for them.

internal import TreeRingLog

/// Writes the bytes of postings.
struct PostingWriter {
  private let room: UnsafeMutableRawBufferPointer
  private(set) var count = 0
  /// The most bytes of a posting besides its occurrences.
  private static let overhead = 3 * LEB128.maxByteCount

  private init(_ room: UnsafeMutableRawBufferPointer) { self.room = room }

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
    withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { room in
      var writer = PostingWriter(room)
      body(&writer)
      output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<writer.count]))
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
    UnsafeMutableRawBufferPointer(rebasing: room[count...]).copyMemory(from: occurrences)
    count &+= occurrences.count
  }

  @inline(__always)
  private mutating func append(_ integer: UInt64) {
    count = LEB128.write(integer, to: room, at: count)
  }
}
