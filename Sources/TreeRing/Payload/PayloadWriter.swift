// Builds the payload of one commit, operation by operation (Operation.swift has the layout).

package import TreeRingLog

/// The growing payload of one commit.
package struct PayloadWriter {
  private let commit: CommitNumber
  private var operations: [UInt8] = []
  /// The index of each bucket named so far, by its number.
  private var buckets: [UInt32: Int] = [:]
  /// The last named bucket, since most operations name it again.
  private var last: (number: UInt32, index: Int)?
  /// The number of operations written.
  package private(set) var count: UInt32 = 0

  package init(commit: CommitNumber) {
    self.commit = commit
    operations.reserveCapacity(256)
  }

  /// The whole payload.
  package func payload(notes: CommitNotes) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(operations.count + 16)
    notes.encode(into: &bytes)
    bytes.append(contentsOf: operations)
    return bytes
  }

  /// Takes the whole payload, without copying the operations; the writer is empty afterwards.
  mutating func takePayload(notes: CommitNotes) -> [UInt8] {
    var head: [UInt8] = []
    notes.encode(into: &head)
    var bytes: [UInt8] = []
    swap(&bytes, &operations)
    bytes.insert(contentsOf: head, at: 0)
    return bytes
  }

  /// The number of the next operation in its commit.
  package var next: UInt32 { count }

  package mutating func put(
    _ row: RowAddress, coder: UInt32, object: NewValue, metadata: NewValue?
  ) {
    begin(.put, row)
    operations.append(integer: UInt64(coder))
    append(object)
    operations.append(metadata == nil ? 0 : 1)
    if let metadata { append(metadata) }
    count += 1
  }

  package mutating func object(_ row: RowAddress, coder: UInt32, object: NewValue) {
    begin(.object, row)
    operations.append(integer: UInt64(coder))
    append(object)
    count += 1
  }

  package mutating func metadata(_ row: RowAddress, metadata: NewValue) {
    begin(.metadata, row)
    append(metadata)
    count += 1
  }

  package mutating func touch(_ row: RowAddress) {
    begin(.touch, row)
    count += 1
  }

  package mutating func delete(_ row: RowAddress) {
    begin(.delete, row)
    count += 1
  }

  package mutating func deleteRange(
    _ bucket: BucketReference, rows: [(key: [UInt8], previous: CommitNumber)]
  ) {
    beginDeleteRange(bucket, rowCount: rows.count)
    for row in rows { row.key.withUnsafeBytes { deleteRange($0, previous: row.previous) } }
  }

  /// Begins the delete of so many rows. The caller then adds each row with
  /// `deleteRange(_:previous:)`.
  package mutating func beginDeleteRange(_ bucket: BucketReference, rowCount: Int) {
    operations.append(OperationKind.deleteRange.rawValue)
    append(bucket)
    operations.append(integer: UInt64(rowCount))
    count += 1
  }

  /// Adds the next row of a delete that has begun.
  package mutating func deleteRange(_ key: UnsafeRawBufferPointer, previous: CommitNumber) {
    operations.append(counted: key)
    append(previous: previous)
  }

  package mutating func tag(name: String, commit: CommitNumber) {
    operations.append(OperationKind.tag.rawValue)
    operations.append(counted: name)
    operations.append(integer: commit)
    count += 1
  }

  package mutating func index(_ record: IndexRecord) {
    operations.append(OperationKind.index.rawValue)
    record.encode(into: &operations)
    count += 1
  }

  /// Writes a stub for `size` removed operations that introduced these buckets.
  package mutating func stub(_ size: UInt32, buckets: [BucketReference] = []) {
    operations.append(OperationKind.stub.rawValue)
    operations.append(integer: UInt64(size))
    operations.append(integer: UInt64(buckets.count))
    for bucket in buckets { append(bucket) }
    count += size
  }

  /// Writes the whole row as this operation leaves it; `record.written` must be this operation's
  /// stamp.
  package mutating func row(_ row: RowAddress, _ record: RowRecord) {
    precondition(
      record.written == Stamp(commit: commit, operation: count),
      "a row must lie where it was last written")
    begin(.row, row)
    record.encodeUnstamped(into: &operations)
    count += 1
  }

  /// Writes the rest of an operation whose logged values are still in use.
  package mutating func held(_ row: RowAddress, _ parts: ValueParts) {
    begin(.held, row)
    operations.append(parts.rawValue)
    count += 1
  }

  /// Copies an operation of another payload of the same commit.
  mutating func copy(_ operation: Operation) {
    switch operation {
    case .put(let row, let coder, let object, let metadata):
      begin(.put, row)
      operations.append(integer: UInt64(coder))
      append(object)
      operations.append(metadata == nil ? 0 : 1)
      if let metadata { append(metadata) }
      count += 1
    case .object(let row, let coder, let object):
      begin(.object, row)
      operations.append(integer: UInt64(coder))
      append(object)
      count += 1
    case .metadata(let row, let metadata):
      begin(.metadata, row)
      append(metadata)
      count += 1
    case .touch(let row): touch(row)
    case .delete(let row): delete(row)
    case .deleteRange(let bucket, let rows):
      deleteRange(bucket, rows: rows.map { (Array($0.key), $0.previous) })
    case .tag(let name, let commit): tag(name: name, commit: commit)
    case .index(let record): index(record)
    case .place(let place, let row, let label): self.place(place, row, label: label)
    case .stub(let size, let buckets): stub(size, buckets: buckets)
    case .row(let address, let record): row(address, record)
    case .held(let row, let parts): held(row, parts)
    }
  }

  /// Writes a row's place in a group of a manual index; an empty label removes it from the group.
  package mutating func place(
    _ place: PlaceAddress, _ row: RowAddress, label: UnsafeRawBufferPointer
  ) {
    operations.append(OperationKind.place.rawValue)
    operations.append(counted: place.index)
    place.group.bytes.withUnsafeBytes { operations.append(counted: $0) }
    append(row)
    operations.append(counted: label)
    count += 1
  }

  private mutating func append(_ row: RowAddress) {
    append(row.bucket)
    operations.append(counted: row.key)
    append(previous: row.previous)
  }

  private mutating func append(_ value: StoredValue) {
    switch value {
    case .inline(let bytes):
      operations.append(0)
      operations.append(counted: bytes)
    case .logged(let reference):
      operations.append(1)
      operations.append(integer: UInt64(reference.byteCount))
      operations.append(fixed64: reference.digest)
    }
  }

  private mutating func begin(_ kind: OperationKind, _ row: RowAddress) {
    operations.append(kind.rawValue)
    append(row)
  }

  private mutating func append(_ bucket: BucketReference) {
    let known = last?.number == bucket.number ? last?.index : buckets[bucket.number]
    let index = known ?? buckets.count
    last = (bucket.number, index)
    operations.append(integer: UInt64(index))
    if known != nil { return }
    operations.append(integer: UInt64(bucket.number))
    operations.append(counted: bucket.name)
    buckets[bucket.number] = index
  }

  private mutating func append(previous: CommitNumber) {
    operations.append(integer: previous == 0 ? 0 : commit - previous + 1)
  }

  private mutating func append(_ value: NewValue) {
    operations.append(value.isLogged ? 1 : 0)
    if value.isLogged {
      operations.append(integer: UInt64(value.bytes.count))
      operations.append(fixed64: value.digest)
    } else {
      operations.append(counted: value.bytes)
    }
  }
}
