// The keyed container of the decoder of binary rows: an opened map.

/// The values of a map by their keys.
struct BinaryKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: BinaryDecoder
  let table: BinaryDecoder.Table

  var codingPath: [any CodingKey] { decoder.path(to: table.offset) }
  var allKeys: [Key] {
    var keys: [Key] = []
    keys.reserveCapacity(table.count)
    for index in 0..<table.count {
      if let key = Key(stringValue: decoder.name(index, in: table)) { keys.append(key) }
    }
    return keys
  }

  /// The offset of the value with a key.
  @inline(__always)
  private func offset(of key: Key) throws -> Int {
    let offset = decoder.find(key.stringValue, in: table)
    if offset < 0 { throw decoder.missing(key, in: table) }
    return offset
  }

  /// The offset of the value with a key; nil if there is none, or null.
  @inline(__always)
  private func present(_ key: Key) -> Int? {
    let offset = decoder.find(key.stringValue, in: table)
    return decoder.isNull(at: offset) ? nil : offset
  }

  func contains(_ key: Key) -> Bool { decoder.find(key.stringValue, in: table) >= 0 }

  func decodeNil(forKey key: Key) throws -> Bool { decoder.isNull(at: try offset(of: key)) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try decoder.value(type, at: try offset(of: key))
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let at = present(key) else { return nil }
    return try decoder.value(type, at: at)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let table = try decoder.openMap(at: try offset(of: key))
    return KeyedDecodingContainer(BinaryKeyedDecoding<NestedKey>(decoder: decoder, table: table))
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try BinaryUnkeyedDecoding(decoder: decoder, at: try offset(of: key))
  }

  func superDecoder() -> any Decoder { superDecoder(of: BinaryPathKey.superKey) }
  func superDecoder(forKey key: Key) -> any Decoder { superDecoder(of: key) }

  /// A decoder of the value with a key, or of no value.
  private func superDecoder(of key: any CodingKey) -> any Decoder {
    let offset = decoder.find(key.stringValue, in: table)
    return decoder.other(at: offset, absentPath: offset < 0 ? codingPath + [key] : [])
  }

  // MARK: - Fields

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try decoder.bool(at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    guard let at = present(key) else { return nil }
    return try decoder.bool(at: at)
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try decoder.string(at: try offset(of: key))
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    guard let at = present(key) else { return nil }
    return try decoder.string(at: at)
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try decoder.double(at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    guard let at = present(key) else { return nil }
    return try decoder.double(at: at)
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try decoder.float(at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    guard let at = present(key) else { return nil }
    return try decoder.float(at: at)
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
    try decoder.integer(type, at: try offset(of: key))
  }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    guard let at = present(key) else { return nil }
    return try decoder.integer(type, at: at)
  }
}
