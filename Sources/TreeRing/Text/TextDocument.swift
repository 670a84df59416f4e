// The identity of a document in a text index: the operation that created its row. It is part of the
// row's record, so writes, replay, followers and compacted logs agree on it, and no numbers have to
// be assigned. Documents in this order are rows in the order of their creation, so the rows of a
// load lie near each other, and the distances between them are small.

internal import TreeRingLog

/// A document of a text index. Greater ones were created later.
struct TextDocument: Hashable, Comparable, Sendable {
  /// The commit in the upper half, the operation in the lower one.
  let bits: UInt128

  @inline(__always)
  init(commit: UInt64, operation: UInt64) {
    bits = UInt128(_low: operation, _high: commit)
  }

  init(_ created: Stamp) {
    self.init(commit: created.commit, operation: UInt64(created.operation))
  }

  @inline(__always)
  var commit: UInt64 { bits._high }
  @inline(__always)
  var operation: UInt64 { bits._low }

  /// A document before all others, which no row has.
  static let none = TextDocument(commit: 0, operation: 0)
  /// A document after all others, which no row has.
  static let end = TextDocument(commit: .max, operation: .max)

  @inline(__always)
  static func < (a: Self, b: Self) -> Bool { a.bits < b.bits }

  @inline(__always)
  static func == (a: Self, b: Self) -> Bool { a.bits == b.bits }

  // MARK: - Bytes

  /// Appends the document to a key: commit and operation, each as its length in bytes and these
  /// bytes, big-endian. The order of such keys is that of the documents.
  func append(to key: inout [UInt8]) {
    for value in [commit, operation] {
      let count = (64 - value.leadingZeroBitCount + 7) / 8
      key.append(UInt8(count))
      for index in (0..<count).reversed() {
        key.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
      }
    }
  }

  /// Reads the document at the end of a key, from an offset on.
  init(_ key: UnsafeRawBufferPointer, at offset: Int) throws(TreeRingError) {
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: key[offset...]))
    var parts: [UInt64] = []
    for _ in 0..<2 {
      let count = Int(try reader.byte())
      guard count <= 8 else { throw ByteReader.damaged }
      parts.append(try reader.run(count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
    guard reader.isAtEnd else { throw ByteReader.damaged }
    self.init(commit: parts[0], operation: parts[1])
  }
}
