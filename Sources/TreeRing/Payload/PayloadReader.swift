// Reads the payload of one commit, operation by operation (Operation.swift has the layout). A
// payload that passed its checksum may still come from a newer version: an unknown kind is a typed
// error. Callers that apply operations decode the whole commit once before they apply any of it.

package import TreeRingLog

/// Iterates the operations of one commit.
package struct PayloadReader {
  private var reader: ByteReader
  private let commit: CommitNumber
  private var buckets: [BucketReference] = []
  /// The number of operations read.
  package private(set) var count: UInt32 = 0
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
    var size: UInt32 = 1
    if case .stub(let stood, _) = operation { size = stood }
    let (total, overflow) = count.addingReportingOverflow(size)
    guard !overflow else { throw ByteReader.damaged }
    count = total
    return operation
  }

  private mutating func operation(_ kind: OperationKind) throws(TreeRingError) -> Operation {
    switch kind {
    case .put:
      let row = try row()
      let coder = try reader.integer32()
      let object = try value()
      let metadata = try reader.byte() == 0 ? nil : try value()
      return .put(row, coder: coder, object: object, metadata: metadata)
    case .object:
      let row = try row()
      return .object(row, coder: try reader.integer32(), object: try value())
    case .metadata: return .metadata(try row(), metadata: try value())
    case .touch: return .touch(try row())
    case .delete: return .delete(try row())
    case .deleteRange: return try deleteRange()
    case .tag:
      let name = try reader.name()
      return .tag(name: name, commit: try reader.integer())
    case .index: return .index(try IndexRecord(&reader))
    case .place: return try place()
    case .stub: return try stub()
    case .row:
      let row = try row()
      let stamp = Stamp(commit: commit, operation: count)
      return .row(row, try RowRecord(&reader, written: stamp))
    case .held:
      let row = try row()
      let parts = ValueParts(rawValue: try reader.byte())
      guard !parts.isEmpty, parts.isSubset(of: [.object, .metadata]) else {
        throw ByteReader.damaged
      }
      return .held(row, parts)
    }
  }

  private mutating func place() throws(TreeRingError) -> Operation {
    let index = try reader.name()
    let group = try reader.counted()
    guard GroupName.isWithinLimit(group) else { throw ByteReader.damaged }
    let row = try row()
    let label = try reader.counted()
    guard label.isEmpty || OrderLabel.isSound(label) else { throw ByteReader.damaged }
    return .place(PlaceAddress(index: index, group: GroupName(bytes: group)), row, label: label)
  }

  private mutating func stub() throws(TreeRingError) -> Operation {
    let size = try reader.integer32()
    guard size > 0 else { throw ByteReader.damaged }
    var buckets: [BucketReference] = []
    let count = try reader.integer()
    for _ in 0..<count { buckets.append(try bucket()) }
    return .stub(count: size, buckets: buckets)
  }

  /// Decodes every operation and applies none. Throws the errors of `next`.
  package static func check(
    _ payload: UnsafeRawBufferPointer, commit: CommitNumber, operationCount: UInt32
  ) throws(TreeRingError) {
    var reader = try PayloadReader(payload, commit: commit)
    while try reader.next() != nil {}
    guard reader.count == operationCount else { throw ByteReader.damaged }
  }

  private mutating func deleteRange() throws(TreeRingError) -> Operation {
    let bucket = try bucket()
    var rows: [DeletedRow] = []
    let count = try reader.integer()
    for _ in 0..<count {
      rows.append(DeletedRow(key: try key(), previous: try previous()))
    }
    return .deleteRange(bucket, rows)
  }

  private mutating func row() throws(TreeRingError) -> RowAddress {
    let bucket = try bucket()
    return RowAddress(bucket: bucket, key: try key(), previous: try previous())
  }

  private mutating func key() throws(TreeRingError) -> UnsafeRawBufferPointer {
    let key = try reader.counted()
    guard key.count <= Limits.keyByteCount else { throw ByteReader.damaged }
    return key
  }

  private mutating func bucket() throws(TreeRingError) -> BucketReference {
    let index = try reader.integer()
    if index < UInt64(buckets.count) { return buckets[Int(index)] }
    guard index == UInt64(buckets.count) else { throw ByteReader.damaged }
    let bucket = BucketReference(number: try reader.integer32(), name: try reader.name())
    buckets.append(bucket)
    return bucket
  }

  private mutating func previous() throws(TreeRingError) -> CommitNumber {
    let distance = try reader.integer()
    if distance == 0 { return 0 }
    guard distance - 1 <= commit else { throw ByteReader.damaged }
    return commit - (distance - 1)
  }

  private mutating func value() throws(TreeRingError) -> StoredValue {
    let part = try reader.byte()
    switch part {
    case 0: return .inline(try reader.counted())
    case 1:
      guard let byteCount = Int(exactly: try reader.integer()) else { throw ByteReader.damaged }
      // The operation's number is not stored: it is that of this operation.
      let digest = try reader.fixed64()
      let stamp = Stamp(commit: commit, operation: count)
      return .logged(LoggedReference(byteCount: byteCount, digest: digest, stamp: stamp))
    default: throw ByteReader.damaged
    }
  }
}
