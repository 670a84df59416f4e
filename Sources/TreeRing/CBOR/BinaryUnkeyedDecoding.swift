// The other containers of the decoder of binary rows: an array, and a single value.

/// The elements of an array, in their order. Small enough for an existential without a box.
struct BinaryUnkeyedDecoding: UnkeyedDecodingContainer {
  let decoder: BinaryDecoder
  /// The offset of the array.
  private let start: UInt32
  /// The offset of the next element.
  private var cursor: UInt32
  private var index: UInt32 = 0
  private let total: UInt32

  init(decoder: BinaryDecoder, at offset: Int) throws {
    guard let head = decoder.reader.head(at: offset), head.kind == CBOR.Kind.array else {
      throw decoder.mismatch([Any].self, at: offset)
    }
    guard let count = decoder.reader.itemCount(of: head) else { throw decoder.tooFew(at: offset) }
    self.decoder = decoder
    start = UInt32(truncatingIfNeeded: offset)
    cursor = UInt32(truncatingIfNeeded: head.end)
    total = UInt32(truncatingIfNeeded: count)
  }

  var codingPath: [any CodingKey] { decoder.path(to: Int(start)) }
  var count: Int? { Int(total) }
  var isAtEnd: Bool { index == total }
  var currentIndex: Int { Int(index) }

  /// Reads the next element and passes it.
  @inline(__always)
  private mutating func next<Value>(
    _ type: any Any.Type, _ read: (BinaryDecoder, Int) throws -> Value
  ) throws -> Value {
    guard index < total else { throw ended(type) }
    let value = try read(decoder, Int(cursor))
    try pass()
    return value
  }

  @inline(__always)
  private mutating func pass() throws {
    let end = decoder.reader.skip(Int(cursor))
    guard end >= 0 else { throw decoder.malformed(at: Int(cursor), "An element is malformed.") }
    cursor = UInt32(truncatingIfNeeded: end)
    index += 1
  }

  @inline(never)
  private func ended(_ type: any Any.Type) -> DecodingError {
    .valueNotFound(
      type,
      DecodingError.Context(
        codingPath: codingPath + [BinaryPathKey(intValue: Int(index))],
        debugDescription: "The array has no more than \(total) elements."))
  }

  mutating func decodeNil() throws -> Bool {
    guard index < total else { throw ended(Never.self) }
    guard decoder.isNull(at: Int(cursor)) else { return false }
    try pass()
    return true
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try next(type) { try $0.value(type, at: $1) }
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next([String: Any].self) {
      KeyedDecodingContainer(
        BinaryKeyedDecoding<NestedKey>(decoder: $0, table: try $0.openMap(at: $1)))
    }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next([Any].self) { try BinaryUnkeyedDecoding(decoder: $0, at: $1) }
  }

  mutating func superDecoder() throws -> any Decoder {
    try next((any Decoder).self) { $0.other(at: $1) }
  }

  // MARK: - Elements

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    try next(type) { try $0.bool(at: $1) }
  }
  mutating func decode(_ type: String.Type) throws -> String {
    try next(type) { try $0.string(at: $1) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    try next(type) { try $0.double(at: $1) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float {
    try next(type) { try $0.float(at: $1) }
  }
  mutating func decode(_ type: Int.Type) throws -> Int {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: Int8.Type) throws -> Int8 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: Int16.Type) throws -> Int16 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: Int32.Type) throws -> Int32 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: Int64.Type) throws -> Int64 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: Int128.Type) throws -> Int128 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: UInt.Type) throws -> UInt {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
    try next(type) { try $0.integer(type, at: $1) }
  }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
    try next(type) { try $0.integer(type, at: $1) }
  }
}

/// A value that is decoded as a whole.
struct BinarySingleDecoding: SingleValueDecodingContainer {
  let decoder: BinaryDecoder
  let offset: Int

  var codingPath: [any CodingKey] { decoder.path(to: offset) }

  func decodeNil() -> Bool { decoder.isNull(at: offset) }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.value(type, at: offset) }
  func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool(at: offset) }
  func decode(_ type: String.Type) throws -> String { try decoder.string(at: offset) }
  func decode(_ type: Double.Type) throws -> Double { try decoder.double(at: offset) }
  func decode(_ type: Float.Type) throws -> Float { try decoder.float(at: offset) }
  func decode(_ type: Int.Type) throws -> Int { try decoder.integer(type, at: offset) }
  func decode(_ type: Int8.Type) throws -> Int8 { try decoder.integer(type, at: offset) }
  func decode(_ type: Int16.Type) throws -> Int16 { try decoder.integer(type, at: offset) }
  func decode(_ type: Int32.Type) throws -> Int32 { try decoder.integer(type, at: offset) }
  func decode(_ type: Int64.Type) throws -> Int64 { try decoder.integer(type, at: offset) }
  func decode(_ type: Int128.Type) throws -> Int128 { try decoder.integer(type, at: offset) }
  func decode(_ type: UInt.Type) throws -> UInt { try decoder.integer(type, at: offset) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try decoder.integer(type, at: offset) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try decoder.integer(type, at: offset) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try decoder.integer(type, at: offset) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try decoder.integer(type, at: offset) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try decoder.integer(type, at: offset) }
}
