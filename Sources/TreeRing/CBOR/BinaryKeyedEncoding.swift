// The keyed container of the encoder of binary rows: an open map.

/// A map to which a type adds its fields.
struct BinaryKeyedEncoding<FieldKey: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: BinaryEncoder
  let serial: Int

  var codingPath: [any CodingKey] { encoder.path(serial) }

  func encodeNil(forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.append(CBOR.Byte.null) }
  }

  func encode<T: Encodable>(_ value: T, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    try encoder.nested(value)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: FieldKey
  ) -> KeyedEncodingContainer<NestedKey> {
    part(of: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: FieldKey) -> any UnkeyedEncodingContainer {
    part(of: key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { part(of: BinaryPathKey.superKey) }
  func superEncoder(forKey key: FieldKey) -> any Encoder { part(of: key) }

  /// The encoder of a field that is written later.
  private func part(of key: any CodingKey) -> BinaryEncoder {
    do { try encoder.key(key.stringValue, serial) } catch { return encoder.refusing }
    return encoder.part()
  }

  // MARK: - Fields

  func encode(_ value: Bool, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.append(value ? CBOR.Byte.yes : CBOR.Byte.no) }
  }
  func encode(_ value: String, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.text(value) }
  }
  func encode(_ value: Double, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.double(value) }
  }
  func encode(_ value: Float, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.float(value) }
  }
  func encode(_ value: Int, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int8, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int16, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int32, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int64, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: Int128, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt8, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt16, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt32, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt64, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
  func encode(_ value: UInt128, forKey key: FieldKey) throws {
    try encoder.key(key.stringValue, serial)
    encoder.write { $0.integer(value) }
  }
}
