// The entries of a text index's two trees. docs/rows.md states their bytes.
//
//   order    00                   → the number of terms of all documents
//            term 00              → the first chunk of the term's postings
//            term 00 document     → a chunk of postings from this document on
//            key of a chunk 00 n  → the piece n + 1 of a chunk that is too long for a page
//   places   document             → the row: bucket, key
//
// No term contains a zero byte, so a term's chunks are neighbours.

internal import TreeRingLog

/// Keys and values of the entries of a text index.
enum TextKey {
  /// The key of the number of terms.
  static let total: [UInt8] = [0]

  /// The key of the first chunk of a term, or the prefix of all its chunks.
  static func chunks(of term: UnsafeRawBufferPointer) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(term.count + 16)
    key.append(contentsOf: term)
    key.append(0)
    return key
  }

  /// The maximum length of a piece of a chunk.
  static let pieceByteCount = 1800

  /// The key of a piece after the first of a chunk.
  static func piece(_ number: Int, of chunk: [UInt8]) -> [UInt8] {
    chunk + [0, UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  /// The key of the chunk that an entry is, or is a piece of.
  /// - Parameter first: The length of the key of the term's first chunk.
  static func chunk(ofEntry key: UnsafeRawBufferPointer, first: Int) -> [UInt8] {
    Array(key[..<chunkKeyByteCount(ofEntry: key, first: first)])
  }

  /// The length of the key of the chunk that an entry is, or is a piece of.
  static func chunkKeyByteCount(ofEntry key: UnsafeRawBufferPointer, first: Int) -> Int {
    // A document is two counted runs of bytes; a commit is never 0.
    guard key.count > first, key[first] != 0 else { return first }
    let operation = first + 1 + Int(key[first])
    guard operation < key.count else { return key.count }
    return min(operation + 1 + Int(key[operation]), key.count)
  }

  /// The value of a document: its row.
  static func row(_ bucket: UInt32, _ key: UnsafeRawBufferPointer) -> [UInt8] {
    var value: [UInt8] = []
    value.append(integer: UInt64(bucket))
    value.append(contentsOf: key)
    return value
  }

  /// The row of a document.
  static func reference(_ value: UnsafeRawBufferPointer) throws(TreeRingError) -> RowReference {
    var reader = ByteReader(value)
    return RowReference(bucket: try reader.integer32(), key: Array(reader.rest()))
  }

  /// The term of a chunk's key.
  static func term(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: key[..<(key.firstIndex(of: 0) ?? key.count)])
  }
}
