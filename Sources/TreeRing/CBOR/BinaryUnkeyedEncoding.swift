// The other containers of the encoder of binary rows: an open array, and a single value.

/// An array to which a type adds its elements.
struct BinaryUnkeyedEncoding: UnkeyedEncodingContainer {
  let encoder: BinaryEncoder
  let serial: Int

  var codingPath: [any CodingKey] { encoder.path(serial) }
  var count: Int { encoder.count(serial) }

  func encodeNil() throws {
    try encoder.element(serial)
    encoder.write { $0.append(CBOR.Byte.null) }
  }

  func encode<T: Encodable>(_ value: T) throws {
    try encoder.element(serial)
    try encoder.nested(value)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    part().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { part().unkeyedContainer() }
  func superEncoder() -> any Encoder { part() }

  /// The encoder of an element that is written later.
  private func part() -> BinaryEncoder {
    do { try encoder.element(serial) } catch { return encoder.refusing }
    return encoder.part()
  }

  // MARK: - Elements

  func encode(_ value: Bool) throws {
    try encoder.element(serial)
    encoder.write { $0.append(value ? CBOR.Byte.yes : CBOR.Byte.no) }
  }
  func encode(_ value: String) throws {
    try encoder.element(serial)
    encoder.write { $0.text(value) }
  }
  func encode(_ value: Double) throws {
    try encoder.element(serial)
    encoder.write { $0.double(value) }
  }
  func encode(_ value: Float) throws {
    try encoder.element(serial)
    encoder.write { $0.float(value) }
  }
  func encode(_ value: Int) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int8) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int16) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int32) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int64) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int128) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt8) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt16) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt32) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt64) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt128) throws {
    try encoder.element(serial)
    encoder.write { $0.integer(value) }
  }
}

/// A value that is encoded as a whole.
struct BinarySingleEncoding: SingleValueEncodingContainer {
  let encoder: BinaryEncoder
  let serial: Int

  var codingPath: [any CodingKey] { encoder.path(serial) }

  func encodeNil() throws {
    try encoder.single(serial)
    encoder.write { $0.append(CBOR.Byte.null) }
  }

  func encode<T: Encodable>(_ value: T) throws { try encoder.whole(value, serial) }

  func encode(_ value: Bool) throws {
    try encoder.single(serial)
    encoder.write { $0.append(value ? CBOR.Byte.yes : CBOR.Byte.no) }
  }
  func encode(_ value: String) throws {
    try encoder.single(serial)
    encoder.write { $0.text(value) }
  }
  func encode(_ value: Double) throws {
    try encoder.single(serial)
    encoder.write { $0.double(value) }
  }
  func encode(_ value: Float) throws {
    try encoder.single(serial)
    encoder.write { $0.float(value) }
  }
  func encode(_ value: Int) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int8) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int16) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int32) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int64) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int128) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt8) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt16) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt32) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt64) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt128) throws {
    try encoder.single(serial)
    encoder.write { $0.integer(value) }
  }
}
