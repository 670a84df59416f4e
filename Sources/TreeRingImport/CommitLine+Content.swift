// Operations of a line as operations of a store.

package import TreeRing
internal import TreeRingLog

extension CommitLine {
  /// An operation of a base, with copies of its bytes.
  package func content(of operation: Operation) throws -> CommitOperation {
    let row = RowID(bucket: text(operation.bucket), key: Key(bytes: Array(bytes(operation.key))))
    switch operation.kind {
    case .put:
      return .row(
        row,
        .put(
          coder: 0, object: operation.object.map { Array(bytes($0)) } ?? [],
          metadata: operation.metadata.map { Array(bytes($0)) }))
    case .delete: return .row(row, .delete)
    case .tag: return .tag(name: text(operation.key), commit: operation.commit)
    case .index:
      let name = text(operation.key)
      guard let definition = operation.object else {
        return .index(name: name, version: 0, .removed)
      }
      let (version, read) = try contents.withUnsafeBytes {
        try IndexRecord.Definition.read(UnsafeRawBufferPointer(rebasing: $0[definition]))
      }
      return .index(name: name, version: version, read)
    case .unplace: return .place(place(of: operation), row, label: [])
    case .place:
      guard let label = operation.label, !label.isEmpty else {
        throw TreeRingError(.invalidInput, "In a base a row is placed by its label.")
      }
      return .place(place(of: operation), row, label: Array(bytes(label)))
    case .object, .metadata, .touch:
      throw TreeRingError(.invalidInput, "A base cannot hold “\(operation.kind.rawValue)”.")
    }
  }

  /// The group of a manual index into which an operation places a row.
  package func place(of operation: Operation) -> PlaceAddress {
    PlaceAddress(
      index: text(operation.index), group: GroupName(bytes: bytes(operation.group)))
  }
}
