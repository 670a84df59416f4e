// The bytes of a row's change: the fields of an operation after its row.

internal import TreeRingLog

extension RowChange<StoredValue> {
  /// Appends the fields of the change that operation `stamp` makes.
  func encode(into bytes: inout [UInt8], at stamp: Stamp) {
    switch self {
    case .put(let coder, let object, let metadata):
      if case .inline(let content) = object {
        bytes.append(fields: UInt64(coder), 0, counted: content)
      } else {
        bytes.append(integer: UInt64(coder))
        object.encode(into: &bytes)
      }
      bytes.append(metadata == nil ? 0 : 1)
      metadata?.encode(into: &bytes)
    case .object(let coder, let object):
      bytes.append(integer: UInt64(coder))
      object.encode(into: &bytes)
    case .metadata(let metadata): metadata.encode(into: &bytes)
    case .touch, .delete: break
    case .whole(let created, let touched, let coder, let object, let metadata):
      let record = RowRecord(
        written: stamp, created: created, touched: touched, coder: coder, object: object,
        metadata: metadata)
      record.encodeUnstamped(into: &bytes)
    }
  }

  /// Reads the change that operation `stamp` makes; its inline values point into the bytes read.
  /// - Throws: `corruption` if the bytes are not those of a change of this kind.
  init(
    _ kind: OperationKind, _ reader: inout ByteReader, at stamp: Stamp
  ) throws(TreeRingError) {
    switch kind {
    case .put:
      self = .put(
        coder: try reader.integer32(), object: try StoredValue(&reader, at: stamp),
        metadata: try reader.byte() == 0 ? nil : try StoredValue(&reader, at: stamp))
    case .object:
      self = .object(coder: try reader.integer32(), try StoredValue(&reader, at: stamp))
    case .metadata: self = .metadata(try StoredValue(&reader, at: stamp))
    case .touch: self = .touch
    case .delete: self = .delete
    case .whole: self = RowChange(whole: try RowRecord(&reader, written: stamp))
    case .deleteRange, .tag, .index, .stub, .held, .place: throw ByteReader.damaged
    }
  }
}

extension StoredValue {
  /// Appends a value, as the operation that writes it stores it.
  func encode(into bytes: inout [UInt8]) {
    switch self {
    case .inline(let content):
      bytes.append(0)
      bytes.append(counted: content)
    case .logged(let reference):
      bytes.append(1)
      bytes.append(integer: UInt64(reference.byteCount))
      bytes.append(fixed64: reference.digest)
    }
  }

  /// Reads a value that operation `stamp` writes.
  init(_ reader: inout ByteReader, at stamp: Stamp) throws(TreeRingError) {
    switch try reader.byte() {
    case 0: self = .inline(try reader.counted())
    case 1:
      guard let byteCount = Int(exactly: try reader.integer()) else { throw ByteReader.damaged }
      let digest = try reader.fixed64()
      self = .logged(LoggedReference(byteCount: byteCount, digest: digest, stamp: stamp))
    default: throw ByteReader.damaged
    }
  }
}
