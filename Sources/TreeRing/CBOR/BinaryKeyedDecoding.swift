// The keyed container of the decoder of binary rows: an opened map.

/// The values of a map by their keys.
struct BinaryKeyedDecoding<FieldKey: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: BinaryDecoder
  let table: BinaryDecoder.Table

  var codingPath: [any CodingKey] { decoder.path(to: table.offset) }
  var allKeys: [FieldKey] {
    var keys: [FieldKey] = []
    guard decoder.isOpen(table) else { return keys }
    keys.reserveCapacity(table.count)
    for index in 0..<table.count {
      if let key = FieldKey(stringValue: decoder.name(index, in: table)) { keys.append(key) }
    }
    return keys
  }

  /// The offset of the value with a key.
  @inline(__always)
  private func offset(of key: FieldKey) throws -> Int {
    let offset = decoder.find(key.stringValue, in: table)
    if offset < 0 { throw decoder.missing(key, in: table) }
    return offset
  }

  /// The offset of the value with a key; nil if there is none, or null.
  @inline(__always)
  private func present(_ key: FieldKey) -> Int? {
    let offset = decoder.find(key.stringValue, in: table)
    return decoder.isNull(at: offset) ? nil : offset
  }

  func contains(_ key: FieldKey) -> Bool { decoder.find(key.stringValue, in: table) >= 0 }

  func decodeNil(forKey key: FieldKey) throws -> Bool { decoder.isNull(at: try offset(of: key)) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: FieldKey) throws -> T {
    try decoder.value(type, at: try offset(of: key))
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: FieldKey) throws -> T? {
    guard let at = present(key) else { return nil }
    return try decoder.value(type, at: at)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: FieldKey
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let table = try decoder.openMap(at: try offset(of: key))
    return KeyedDecodingContainer(BinaryKeyedDecoding<NestedKey>(decoder: decoder, table: table))
  }

  func nestedUnkeyedContainer(forKey key: FieldKey) throws -> any UnkeyedDecodingContainer {
    try BinaryUnkeyedDecoding(decoder: decoder, at: try offset(of: key))
  }

  func superDecoder() -> any Decoder { superDecoder(of: BinaryPathKey.superKey) }
  func superDecoder(forKey key: FieldKey) -> any Decoder { superDecoder(of: key) }

  /// A decoder of the value with a key, or of no value.
  private func superDecoder(of key: any CodingKey) -> any Decoder {
    let offset = decoder.find(key.stringValue, in: table)
    return decoder.other(at: offset, absentPath: offset < 0 ? codingPath + [key] : [])
  }

  // MARK: - Fields

  func decode(_ type: Bool.Type, forKey key: FieldKey) throws -> Bool {
    try decoder.bool(at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Bool.Type, forKey key: FieldKey) throws -> Bool? {
    guard let at = present(key) else { return nil }
    return try decoder.bool(at: at)
  }
  func decode(_ type: String.Type, forKey key: FieldKey) throws -> String {
    try decoder.string(at: try offset(of: key))
  }
  func decodeIfPresent(_ type: String.Type, forKey key: FieldKey) throws -> String? {
    guard let at = present(key) else { return nil }
    return try decoder.string(at: at)
  }
  func decode(_ type: Double.Type, forKey key: FieldKey) throws -> Double {
    try decoder.double(at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: FieldKey) throws -> Double? {
    guard let at = present(key) else { return nil }
    return try decoder.double(at: at)
  }
  func decode(_ type: Float.Type, forKey key: FieldKey) throws -> Float {
    try decoder.float(at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: FieldKey) throws -> Float? {
    guard let at = present(key) else { return nil }
    return try decoder.float(at: at)
  }
  func decode(_ type: Int.Type, forKey key: FieldKey) throws -> Int {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: FieldKey) throws -> Int? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int8.Type, forKey key: FieldKey) throws -> Int8 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: FieldKey) throws -> Int8? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int16.Type, forKey key: FieldKey) throws -> Int16 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: FieldKey) throws -> Int16? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int32.Type, forKey key: FieldKey) throws -> Int32 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: FieldKey) throws -> Int32? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int64.Type, forKey key: FieldKey) throws -> Int64 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: FieldKey) throws -> Int64? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int128.Type, forKey key: FieldKey) throws -> Int128 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int128.Type, forKey key: FieldKey) throws -> Int128? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt.Type, forKey key: FieldKey) throws -> UInt {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: FieldKey) throws -> UInt? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt8.Type, forKey key: FieldKey) throws -> UInt8 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: FieldKey) throws -> UInt8? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt16.Type, forKey key: FieldKey) throws -> UInt16 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: FieldKey) throws -> UInt16? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt32.Type, forKey key: FieldKey) throws -> UInt32 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: FieldKey) throws -> UInt32? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt64.Type, forKey key: FieldKey) throws -> UInt64 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: FieldKey) throws -> UInt64? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt128.Type, forKey key: FieldKey) throws -> UInt128 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: FieldKey) throws -> UInt128? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
}
