// Reads the payload of one commit, operation by operation (Operation.swift has the layout,
// Operation+Coding.swift and RowChange+Coding.swift the fields). A payload that passed its checksum
// may still come from a newer version: an unknown kind is a typed error. Callers that apply
// operations decode the whole commit once before they apply any of it.

package import TreeRingLog

/// Iterates the operations of one commit.
package struct PayloadReader {
  var reader: ByteReader
  private let commit: CommitNumber
  /// The buckets named so far.
  private(set) var buckets: [BucketReference] = []
  /// The fields of the change that the operation read last makes, if it changes one row.
  private(set) var fields = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The number of operations read.
  package private(set) var count: UInt32 = 0
  /// The stamp of the operation read next.
  package var stamp: Stamp { Stamp(commit: commit, operation: count) }
  /// The number of payload bytes read.
  package var position: Int { reader.position }
  /// The content of the commit besides its operations.
  package let notes: CommitNotes

  package init(_ payload: UnsafeRawBufferPointer, commit: CommitNumber) throws(TreeRingError) {
    var reader = ByteReader(payload)
    notes = try CommitNotes(&reader)
    self.reader = reader
    self.commit = commit
  }

  /// The next operation; nil at the end. Its byte runs point into the payload.
  package mutating func next() throws(TreeRingError) -> Operation? {
    guard !reader.isAtEnd else { return nil }
    let number = try reader.byte()
    guard let kind = OperationKind(rawValue: number) else {
      throw TreeRingError(
        .unsupportedFormat,
        "Operation kind \(number) is unknown to this version; the commit was not applied. "
          + "Open the store with a newer version.", commit: commit)
    }
    let operation = try operation(kind)
    let (total, overflow) = count.addingReportingOverflow(operation.count)
    guard !overflow else { throw ByteReader.damaged }
    count = total
    return operation
  }

  /// The next operation and its stamp; nil at the end.
  mutating func nextStamped() throws(TreeRingError) -> (operation: Operation, stamp: Stamp)? {
    let stamp = stamp
    guard let operation = try next() else { return nil }
    return (operation, stamp)
  }

  /// Decodes every operation and applies none. Throws the errors of `next`.
  package static func check(
    _ payload: UnsafeRawBufferPointer, commit: CommitNumber, operationCount: UInt32
  ) throws(TreeRingError) {
    var reader = try PayloadReader(payload, commit: commit)
    while try reader.next() != nil {}
    guard reader.count == operationCount else { throw ByteReader.damaged }
  }

  /// The change of one row, whose fields follow.
  @inline(__always)
  mutating func change(
    _ kind: OperationKind, at stamp: Stamp
  ) throws(TreeRingError) -> RowChange<StoredValue> {
    let start = reader.position
    let change = try RowChange(kind, &reader, at: stamp)
    fields = UnsafeRawBufferPointer(rebasing: reader.bytes[start..<reader.position])
    return change
  }

  mutating func row() throws(TreeRingError) -> RowAddress {
    let bucket = try bucket()
    return RowAddress(bucket: bucket, key: try key(), previous: try previous())
  }

  mutating func key() throws(TreeRingError) -> UnsafeRawBufferPointer {
    let key = try reader.counted()
    guard key.count <= Limits.keyByteCount else { throw ByteReader.damaged }
    return key
  }

  mutating func bucket() throws(TreeRingError) -> BucketReference {
    let index = try reader.integer()
    if index < UInt64(buckets.count) { return buckets[Int(index)] }
    guard index == UInt64(buckets.count) else { throw ByteReader.damaged }
    let bucket = BucketReference(number: try reader.integer32(), name: try reader.name())
    buckets.append(bucket)
    return bucket
  }

  mutating func previous() throws(TreeRingError) -> CommitNumber {
    let distance = try reader.integer()
    if distance == 0 { return 0 }
    guard distance - 1 <= commit else { throw ByteReader.damaged }
    return commit - (distance - 1)
  }
}
