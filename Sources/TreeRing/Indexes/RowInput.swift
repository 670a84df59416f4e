// A row in the form that index definitions read: its bytes and the decoded row. All definitions
// that evaluate one write of a row share one input, so each coder decodes the row only once.

internal import TreeRingLog

/// A row in the form that a definition reads. The bytes are valid during the call only.
package struct RowInput {
  package var bucket: UInt32
  package var key: UnsafeRawBufferPointer
  package var object: UnsafeRawBufferPointer
  package var metadata: UnsafeRawBufferPointer?
  let record: RowRecord
  private let decoded = DecodedRow()

  /// Returns the decoded row. The first call decodes it; if that fails, every call throws the
  /// error.
  func row<Row>(by coder: RowCoder<Row>) throws -> IndexedRow<Row> {
    try decoded.row(by: coder.identity) {
      IndexedRow(
        row: try coder.decode(object, record.coder), key: Key(bytes: key),
        metadata: metadata.map { Array($0) })
    }
  }
}

/// The row as decoded by each coder. One thread at a time uses it.
private final class DecodedRow {
  private final class Box<Row> {
    let result: Result<Row, any Error>
    init(_ result: Result<Row, any Error>) { self.result = result }
  }
  private var known: [(coder: CoderIdentity, box: AnyObject)] = []

  func row<Row>(by coder: CoderIdentity, decode: () throws -> Row) throws -> Row {
    for entry in known where entry.coder == coder {
      if let box = entry.box as? Box<Row> { return try box.result.get() }
    }
    let result = Result { try decode() }
    known.append((coder, Box(result)))
    return try result.get()
  }
}

extension ValueSource {
  /// Calls `body` with a row in the form that definitions read. Its bytes are read once, however
  /// many definitions use them.
  func withInput<R>(
    of record: RowRecord, bucket: UInt32, key: UnsafeRawBufferPointer, readsMetadata: Bool,
    _ body: (RowInput) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    try typed {
      try withBytes(of: record.object, part: .object) { object in
        var input = RowInput(bucket: bucket, key: key, object: object, record: record)
        guard let metadata = record.metadata, readsMetadata else { return try body(input) }
        return try withBytes(of: metadata, part: .metadata) { bytes in
          input.metadata = bytes
          return try body(input)
        }
      }
    }
  }
}
