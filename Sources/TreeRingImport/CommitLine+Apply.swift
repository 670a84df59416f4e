// Applies lines to transactions, and makes operations of a store of them.

public import TreeRing
internal import TreeRingLog

extension CommitLine {
  /// Adds the commit to a transaction: its operations, date, note and tags.
  ///
  /// The transaction makes a commit even if the line has no operations, and gets the date of the
  /// newest commit if the line's is earlier. O(operations · log rows).
  ///
  /// - Throws: `invalidInput` if the line is a base, which only the beginning of a store can be;
  ///   `notFound`, `tooLarge` and others, as the transaction's methods.
  public func apply(to transaction: Transaction) throws { try apply(to: transaction, after: []) }

  /// Adds the commit to a transaction.
  ///
  /// - Parameter bases: The commits of the store's bases. Tags can name them, although they lie
  ///   before the horizon.
  package func apply(to tx: Transaction, after bases: Set<CommitNumber>) throws {
    if let base {
      throw TreeRingError(
        .invalidInput,
        "The base of commit \(base) follows commits. Bases must come first, in a new store.")
    }
    tx.baseCommits = bases
    tx.timestamp = at
    tx.timestampAllowance = [.clamping, .ahead]
    tx.note = note
    tx.tags = tags
    tx.keepsEmptyCommit = true
    try contents.withUnsafeBytes { contents in
      for operation in operations {
        switch operation.kind {
        case .place, .unplace: try place(operation, in: tx)
        default: try apply(operation, of: contents, to: tx)
        }
      }
    }
  }

  /// Places a row at the given label, or else before the named row.
  private func place(_ operation: Operation, in tx: Transaction) throws {
    let row = row(of: operation)
    let bucket = row.bucket
    let place = place(of: operation)
    if let label = operation.label {
      try row.key.bytes.withUnsafeBytes {
        try tx.place($0, in: bucket, place, label: Array(bytes(label)))
      }
      return
    }
    let group = try tx.group(place.group, of: place.index)
    if operation.kind == .unplace {
      try group.remove(row)
    } else if let before = operation.before {
      try group.insert(row, before: RowID(bucket: bucket, key: Key(bytes: bytes(before))))
    } else {
      try group.append(row)
    }
  }

  private func apply(
    _ operation: Operation, of contents: UnsafeRawBufferPointer, to tx: Transaction
  ) throws(TreeRingError) {
    func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(rebasing: contents[range])
    }
    let key = part(operation.key)
    let bucket = text(operation.bucket)
    let metadata = operation.metadata.map(part)
    switch operation.kind {
    case .put:
      guard let object = operation.object else { return }
      try tx.put(
        key, in: bucket, object: part(object), metadata: metadata, coder: operation.coder)
    case .object:
      guard let object = operation.object else { return }
      try tx.putObject(key, in: bucket, object: part(object), coder: operation.coder)
    case .metadata:
      guard let metadata else { return }
      try tx.putMetadata(key, in: bucket, metadata: metadata)
    case .touch: try tx.touch(key, in: bucket)
    case .delete: try tx.delete(key, in: bucket)
    case .tag:
      let name = text(operation.key)
      if operation.commit == 0 { return try tx.removeTag(name) }
      try tx.tag(name, commit: operation.commit)
    case .index:
      let name = text(operation.key)
      guard let json = operation.object else { return try tx.removeIndex(name) }
      let (version, definition) = try IndexRecord.Definition.read(part(json))
      try tx.defineAnew(name, version: version, definition)
    case .place, .unplace: break
    }
  }
}

extension CommitLine {
  /// An operation of a base, with copies of its bytes.
  package func content(of operation: Operation) throws -> CommitOperation {
    let row = row(of: operation)
    switch operation.kind {
    case .put:
      return .row(
        row,
        .put(
          coder: operation.coder, object: operation.object.map { Array(bytes($0)) } ?? [],
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

  private func row(of operation: Operation) -> RowID {
    RowID(bucket: text(operation.bucket), key: Key(bytes: bytes(operation.key)))
  }

  /// The group of a manual index into which an operation places a row.
  package func place(of operation: Operation) -> PlaceAddress {
    PlaceAddress(
      index: text(operation.index), group: GroupName(bytes: bytes(operation.group)))
  }
}
