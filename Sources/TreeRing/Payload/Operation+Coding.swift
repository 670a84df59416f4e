// The bytes of each kind of operation: the fields after its kind, written and read.

package import TreeRingLog

extension PayloadWriter {
  /// Appends an operation.
  package mutating func append(_ operation: Operation) {
    if case .row(let row, let change) = operation { return append(row, change) }
    bytes.append(operation.kind.rawValue)
    switch operation {
    case .row: break
    case .deleteRange(let bucket, let rows):
      append(bucket)
      bytes.append(integer: UInt64(rows.count))
      for row in rows { deleteRange(row.key, previous: row.previous) }
    case .tag(let name, let commit):
      bytes.append(counted: name)
      bytes.append(integer: commit)
    case .index(let record): record.encode(into: &bytes)
    case .place(let place, let row, let label):
      bytes.append(counted: place.index)
      place.group.bytes.withUnsafeBytes { bytes.append(counted: $0) }
      append(row)
      bytes.append(counted: label)
    case .stub(let count, let buckets):
      bytes.append(integer: UInt64(count))
      bytes.append(integer: UInt64(buckets.count))
      for bucket in buckets { append(bucket) }
    case .held(let row, let parts):
      append(row)
      bytes.append(parts.rawValue)
    }
    count += operation.count
  }

  /// Begins the delete of so many rows. The caller then adds each row with
  /// `deleteRange(_:previous:)`.
  package mutating func beginDeleteRange(_ bucket: BucketReference, rowCount: Int) {
    bytes.append(OperationKind.deleteRange.rawValue)
    append(bucket)
    bytes.append(integer: UInt64(rowCount))
    count += 1
  }

  /// Adds the next row of a delete that has begun.
  package mutating func deleteRange(_ key: UnsafeRawBufferPointer, previous: CommitNumber) {
    bytes.append(counted: key)
    append(previous: previous)
  }
}

extension PayloadReader {
  /// The operation of a kind, whose fields follow.
  mutating func operation(_ kind: OperationKind) throws(TreeRingError) -> Operation {
    switch kind {
    case .put, .object, .metadata, .touch, .delete, .whole:
      let (row, stamp) = (try row(), stamp)
      return .row(row, try change(kind, at: stamp))
    case .deleteRange:
      let bucket = try bucket()
      var rows: [DeletedRow] = []
      let count = try reader.integer()
      for _ in 0..<count { rows.append(DeletedRow(key: try key(), previous: try previous())) }
      return .deleteRange(bucket, rows)
    case .tag: return .tag(name: try reader.name(), commit: try reader.integer())
    case .index: return .index(try IndexRecord(&reader))
    case .place:
      let index = try reader.name()
      let group = try reader.counted()
      guard GroupName.isWithinLimit(group) else { throw ByteReader.damaged }
      let row = try row()
      let label = try reader.counted()
      guard label.isEmpty || OrderLabel.isSound(label) else { throw ByteReader.damaged }
      return .place(
        PlaceAddress(index: index, group: GroupName(bytes: group)), row, label: label)
    case .stub:
      let size = try reader.integer32()
      guard size > 0 else { throw ByteReader.damaged }
      var buckets: [BucketReference] = []
      let count = try reader.integer()
      for _ in 0..<count { buckets.append(try bucket()) }
      return .stub(count: size, buckets: buckets)
    case .held:
      let row = try row()
      let parts = ValueParts(rawValue: try reader.byte())
      guard !parts.isEmpty, parts.isSubset(of: [.object, .metadata]) else {
        throw ByteReader.damaged
      }
      return .held(row, parts)
    }
  }
}
