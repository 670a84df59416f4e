// The effect of an operation on one row. The values are references into a payload or a page
// (`StoredValue`), values to be written (`NewValue`), or copies (`[UInt8]`).

package import TreeRingLog

/// A change of one row. The fields stand in the order of their bytes in a payload.
package enum RowChange<Value> {
  /// Replaces the object and the metadata; nil metadata removes them.
  case put(coder: UInt32, object: Value, metadata: Value?)
  /// Replaces the object and keeps the metadata.
  case object(coder: UInt32, Value)
  /// Replaces the metadata and keeps the object.
  case metadata(Value)
  /// Marks the row as changed.
  case touch
  case delete
  /// The whole row as this operation left it, as a compacted log stores it.
  case whole(created: Stamp, touched: CommitNumber, coder: UInt32, object: Value, metadata: Value?)
}

extension RowChange: Sendable where Value: Sendable {}
extension RowChange: Equatable where Value: Equatable {}
extension RowChange: Hashable where Value: Hashable {}

extension RowChange {
  package var kind: OperationKind {
    switch self {
    case .put: .put
    case .object: .object
    case .metadata: .metadata
    case .touch: .touch
    case .delete: .delete
    case .whole: .whole
    }
  }

  var isDelete: Bool { if case .delete = self { true } else { false } }

  /// The parts that it writes; nil for the others.
  package var written: (coder: UInt32?, object: Value?, metadata: Value?) {
    switch self {
    case .put(let coder, let object, let metadata),
      .whole(_, _, let coder, let object, let metadata):
      (coder, object, metadata)
    case .object(let coder, let object): (coder, object, nil)
    case .metadata(let metadata): (nil, nil, metadata)
    case .touch, .delete: (nil, nil, nil)
    }
  }

  /// The parts of the old record that it keeps.
  var kept: KeptParts {
    switch self {
    case .put: .origin
    case .object: [.origin, .metadata]
    case .metadata, .touch: [.origin, .object, .metadata]
    case .delete, .whole: []
    }
  }

  /// The same change with each value transformed.
  package func map<Other, E: Error>(
    _ transform: (Value, ValuePart) throws(E) -> Other
  ) throws(E) -> RowChange<Other> {
    func optional(_ metadata: Value?) throws(E) -> Other? {
      if let metadata { try transform(metadata, .metadata) } else { nil }
    }
    switch self {
    case .put(let coder, let object, let metadata):
      return .put(
        coder: coder, object: try transform(object, .object), metadata: try optional(metadata))
    case .object(let coder, let object):
      return .object(coder: coder, try transform(object, .object))
    case .metadata(let metadata): return .metadata(try transform(metadata, .metadata))
    case .touch: return .touch
    case .delete: return .delete
    case .whole(let created, let touched, let coder, let object, let metadata):
      return .whole(
        created: created, touched: touched, coder: coder, object: try transform(object, .object),
        metadata: try optional(metadata))
    }
  }
}

/// A selection of the parts of a record that survive a change.
struct KeptParts: OptionSet {
  let rawValue: UInt8
  /// The commits that created and touched the row.
  static let origin = KeptParts(rawValue: 1)
  static let object = KeptParts(rawValue: 2)
  static let metadata = KeptParts(rawValue: 4)
}

extension RowChange<NewValue> {
  /// The change in the log and the row record, if operation `stamp` makes it.
  func stored(by stamp: Stamp) -> RowChange<StoredValue> {
    map { value, _ in value.stored(by: stamp) }
  }
}

extension RowChange<StoredValue> {
  /// The whole row as the operation that last wrote it left it.
  init(whole record: RowRecord) {
    self = .whole(
      created: record.created, touched: record.touched, coder: record.coder, object: record.object,
      metadata: record.metadata)
  }

  /// The record after the change; nil for a delete.
  /// - Throws: `notFound` if the change needs a row and there is none.
  func successor(of old: RowRecord?, at stamp: Stamp) throws(TreeRingError) -> RowRecord? {
    switch self {
    case .delete: return nil
    case .whole(let created, let touched, let coder, let object, let metadata):
      return RowRecord(
        written: stamp, created: created, touched: touched, coder: coder, object: object,
        metadata: metadata)
    case .put(let coder, let object, let metadata):
      return RowRecord(
        written: stamp, created: old?.created ?? stamp, touched: old?.touched ?? 0, coder: coder,
        object: object, metadata: metadata)
    case .object(let coder, let object):
      return RowRecord(
        written: stamp, created: old?.created ?? stamp, touched: old?.touched ?? 0, coder: coder,
        object: object, metadata: old?.metadata)
    case .metadata, .touch:
      guard var row = old else {
        throw TreeRingError(
          .notFound,
          "There is no row of this key, so it can get no metadata and cannot be touched. "
            + "Put the row first.")
      }
      row.written = stamp
      if case .metadata(let metadata) = self { row.metadata = metadata }
      if case .touch = self { row.touched = stamp.commit }
      return row
    }
  }
}
