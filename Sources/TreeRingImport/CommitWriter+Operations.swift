// Writes operations of a store's commits, and of lines, in the import format.

package import TreeRing
package import TreeRingLog

extension CommitWriter {
  /// Writes a commit of a store. A line with `number` is for showing only.
  package mutating func commit(
    _ info: CommitInfo, _ operations: [CommitOperation], number: CommitNumber? = nil
  ) {
    begin(commit: number, at: info.timestamp, note: info.note, tags: info.tags)
    for operation in operations { self.operation(operation) }
    end()
  }

  /// Writes an operation of a store's commit.
  package mutating func operation(_ operation: CommitOperation) {
    switch operation {
    case .row(let row, let change):
      let (coder, object, metadata) = change.written
      add(CommitLine.Kind(change), row, object, metadata, coder ?? 0)
    case .tag(let name, let commit): tag(name, commit: commit)
    case .index(let name, let version, let definition):
      index(name, json: definition.json(version: version))
    case .place(let place, let row, let label):
      row.key.bytes.withUnsafeBytes { key in
        place.group.bytes.withUnsafeBytes { group in
          label.withUnsafeBytes { label in
            self.place(
              index: place.index, group: group, bucket: row.bucket, key: key, label: label)
          }
        }
      }
    }
  }

  private mutating func add(
    _ kind: CommitLine.Kind, _ id: RowID, _ object: [UInt8]?, _ metadata: [UInt8]?,
    _ coder: UInt32
  ) {
    id.key.bytes.withUnsafeBytes { key in
      withBytes(object) { object in
        withBytes(metadata) { metadata in
          row(
            kind, bucket: id.bucket, key: key, object: object, metadata: metadata, coder: coder)
        }
      }
    }
  }
}

extension CommitWriter {
  /// Writes an operation that was read from a line.
  package mutating func operation(_ operation: CommitLine.Operation, of line: CommitLine) {
    line.contents.withUnsafeBytes { contents in
      func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: contents[range])
      }
      switch operation.kind {
      case .tag: tag(line.text(operation.key), commit: operation.commit)
      case .index: index(line, operation, part)
      case .place where operation.label == nil:
        place(
          index: line.text(operation.index), group: part(operation.group),
          bucket: line.text(operation.bucket), key: part(operation.key),
          before: operation.before.map(part))
      case .place, .unplace:
        place(
          index: line.text(operation.index), group: part(operation.group),
          bucket: line.text(operation.bucket), key: part(operation.key),
          label: part(operation.label ?? 0..<0))
      default:
        row(
          operation.kind, bucket: line.text(operation.bucket), key: part(operation.key),
          object: operation.object.map(part), metadata: operation.metadata.map(part),
          coder: operation.coder)
      }
    }
  }

  /// Writes a definition in the form in which the store will hold it.
  private mutating func index(
    _ line: CommitLine, _ operation: CommitLine.Operation,
    _ part: (Range<Int>) -> UnsafeRawBufferPointer
  ) {
    let name = line.text(operation.key)
    guard let definition = operation.object else { return index(name, definition: nil) }
    let json =
      (try? FieldIndex(json: part(definition)).json)
      ?? (try? FieldFilter(json: part(definition)).json)
      ?? (try? Reference(json: part(definition)).json)
      ?? (try? Expiry(json: part(definition)).json)
    if let json { index(name, json: json) } else { index(name, definition: part(definition)) }
  }
}

/// Calls `body` with the bytes of an array that may be absent.
private func withBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
  guard let bytes else { return body(nil) }
  bytes.withUnsafeBytes { body($0) }
}

extension CommitLine.Kind {
  /// The kind of a change. Lines have no whole rows: a put stands for one.
  fileprivate init(_ change: RowChange<[UInt8]>) {
    self =
      switch change {
      case .put, .whole: .put
      case .object: .object
      case .metadata: .metadata
      case .touch: .touch
      case .delete: .delete
      }
  }
}
