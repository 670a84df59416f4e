// The values of a binary row: numbers, text, and the types with a form of their own.

internal import TreeRingPlatform

extension BinaryDecoder {
  /// Whether the item at an offset is null or absent.
  @inline(__always)
  func isNull(at offset: Int) -> Bool {
    offset < 0 || offset < reader.bytes.count && reader.bytes[offset] == CBOR.Byte.null
  }

  func bool(at offset: Int) throws -> Bool {
    if offset >= 0, offset < reader.bytes.count {
      if reader.bytes[offset] == CBOR.Byte.yes { return true }
      if reader.bytes[offset] == CBOR.Byte.no { return false }
    }
    throw mismatch(Bool.self, at: offset)
  }

  func string(at offset: Int) throws -> String {
    guard let head = reader.head(at: offset), head.kind == CBOR.Kind.text else {
      throw mismatch(String.self, at: offset)
    }
    guard let range = reader.contents(of: head) else { throw tooFew(at: offset) }
    let text = UnsafeRawBufferPointer(rebasing: reader.bytes[range])
    guard CBORReader.isText(text) else {
      throw malformed(at: offset, "A string is not valid UTF-8.")
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The contents of an item that consists of bytes.
  func data(at offset: Int) throws -> Data {
    guard let head = reader.head(at: offset), head.kind == CBOR.Kind.bytes else {
      throw mismatch(Data.self, at: offset)
    }
    guard let range = reader.contents(of: head) else { throw tooFew(at: offset) }
    return Data(UnsafeRawBufferPointer(rebasing: reader.bytes[range]))
  }

  // MARK: - Numbers

  /// An integer: a whole number of any form that has the value exactly.
  func integer<I: FixedWidthInteger>(_ type: I.Type, at offset: Int) throws -> I {
    if let head = reader.head(at: offset) {
      if head.kind == CBOR.Kind.unsigned, let value = I(exactly: head.argument) { return value }
      if head.kind == CBOR.Kind.negative, head.argument <= UInt64(Int64.max),
        let value = I(exactly: Int64(bitPattern: ~head.argument))
      {
        return value
      }
    }
    return try rareInteger(type, at: offset)
  }

  @inline(never)
  private func rareInteger<I: FixedWidthInteger>(_ type: I.Type, at offset: Int) throws -> I {
    switch reader.number(at: offset) {
    case .whole(let isNegative, let magnitude):
      if !isNegative {
        if let value = I(exactly: magnitude) { return value }
      } else if let below = Int128(exactly: magnitude), let value = I(exactly: ~below) {
        return value
      }
    case .double(let double): if let value = I(exactly: double) { return value }
    case .single(let single): if let value = I(exactly: single) { return value }
    case .decimal(let number):
      if let magnitude = number.wholeMagnitude {
        if !number.isNegative || magnitude == 0 {
          if let value = I(exactly: magnitude) { return value }
        } else if let below = Int128(exactly: magnitude - 1), let value = I(exactly: ~below) {
          return value
        }
      }
    case nil: throw mismatch(type, at: offset)
    }
    throw misfit(type, at: offset)
  }

  func double(at offset: Int) throws -> Double {
    switch reader.number(at: offset) {
    case .double(let value): return value
    case .single(let value): return Double(value)
    case .whole(let isNegative, let magnitude): return rounded(isNegative, magnitude)
    case .decimal(let number): return try parsed(number, at: offset)
    case nil: throw mismatch(Double.self, at: offset)
    }
  }

  func float(at offset: Int) throws -> Float {
    switch reader.number(at: offset) {
    case .single(let value): return value
    case .double(let value):
      let narrow = Float(value)
      if narrow.isInfinite, !value.isInfinite { throw misfit(Float.self, at: offset) }
      return narrow
    case .whole(let isNegative, let magnitude):
      let value: Float = rounded(isNegative, magnitude)
      if value.isInfinite { throw misfit(Float.self, at: offset) }
      return value
    case .decimal(let number): return try parsed(number, at: offset)
    case nil: throw mismatch(Float.self, at: offset)
    }
  }

  /// The nearest number to magnitude, or if negative to −1 − magnitude, rounded once.
  @inline(__always)
  private func rounded<F: BinaryFloatingPoint>(_ isNegative: Bool, _ magnitude: UInt128) -> F {
    guard isNegative else { return F(magnitude) }
    // 2¹²⁸ − 1 rounds to 2¹²⁸ itself.
    return -F(magnitude == .max ? magnitude : magnitude + 1)
  }

  private func parsed<F: BinaryFloatingPoint & LosslessStringConvertible>(
    _ number: CBORDecimal, at offset: Int
  ) throws -> F {
    guard let value = F(number.description), value.isFinite else {
      throw misfit(F.self, at: offset)
    }
    return value
  }

  private func decimal(at offset: Int) throws -> Decimal {
    let text: String
    switch reader.number(at: offset) {
    case .decimal(let number): text = number.description
    case .whole(let isNegative, let magnitude):
      guard !isNegative || magnitude < .max else { throw misfit(Decimal.self, at: offset) }
      text = isNegative ? "-\(magnitude + 1)" : "\(magnitude)"
    case .double(let value):
      if value.isNaN { return .nan }
      text = "\(value)"
    case .single(let value):
      if value.isNaN { return .nan }
      text = "\(value)"
    case nil: throw mismatch(Decimal.self, at: offset)
    }
    guard let value = Decimal(string: text, locale: nil), !value.isNaN else {
      throw misfit(Decimal.self, at: offset)
    }
    return value
  }

  private func misfit(_ type: any Any.Type, at offset: Int) -> DecodingError {
    malformed(at: offset, "A number does not fit in \(type).")
  }

  // MARK: - Any type

  /// A value of any type.
  func value<T: Decodable>(_ type: T.Type, at offset: Int) throws -> T {
    if type == Date.self {
      return unsafeBitCast(
        Date(timeIntervalSinceReferenceDate: try double(at: offset)), to: T.self)
    }
    if type == String.self { return unsafeBitCast(try string(at: offset), to: T.self) }
    if type == Int.self { return unsafeBitCast(try integer(Int.self, at: offset), to: T.self) }
    if type == Double.self { return unsafeBitCast(try double(at: offset), to: T.self) }
    if type == UUID.self { return unsafeBitCast(try uuid(at: offset), to: T.self) }
    if type == Data.self { return unsafeBitCast(try data(at: offset), to: T.self) }
    if type == URL.self { return unsafeBitCast(try url(at: offset), to: T.self) }
    if type == Decimal.self { return unsafeBitCast(try decimal(at: offset), to: T.self) }
    // Without a container of the type's own. (A function of its own for these would have to return
    // an optional, whose type would be looked up at run time.)
    if type == [String].self {
      return unsafeBitCast(try elements(at: offset) { try string(at: $0) }, to: T.self)
    }
    if type == [Int].self {
      return unsafeBitCast(try elements(at: offset) { try integer(Int.self, at: $0) }, to: T.self)
    }
    if type == [Double].self {
      return unsafeBitCast(try elements(at: offset) { try double(at: $0) }, to: T.self)
    }
    if type == [String: String].self {
      return unsafeBitCast(try fields(at: offset) { try string(at: $0) }, to: T.self)
    }
    if type == [String: Int].self {
      return unsafeBitCast(try fields(at: offset) { try integer(Int.self, at: $0) }, to: T.self)
    }
    if type == [String: Double].self {
      return unsafeBitCast(try fields(at: offset) { try double(at: $0) }, to: T.self)
    }
    return try nested(type, at: offset)
  }

  @inline(__always)
  private func elements<Element>(
    at offset: Int, _ read: (Int) throws -> Element
  ) throws -> [Element] {
    guard let head = reader.head(at: offset), head.kind == CBOR.Kind.array else {
      throw mismatch([Element].self, at: offset)
    }
    guard let count = reader.itemCount(of: head) else { throw tooFew(at: offset) }
    var elements: [Element] = []
    elements.reserveCapacity(count)
    var at = head.end
    for _ in 0..<count {
      elements.append(try read(at))
      at = reader.skip(at)
    }
    return elements
  }

  @inline(__always)
  private func fields<Value>(
    at offset: Int, _ read: (Int) throws -> Value
  ) throws -> [String: Value] {
    let table = try openMap(at: offset)
    var fields = [String: Value](minimumCapacity: table.count)
    for index in 0..<table.count {
      fields[name(index, in: table)] = try read(value(index, in: table))
    }
    return fields
  }

  private func uuid(at offset: Int) throws -> UUID {
    guard let head = reader.head(at: offset) else { throw mismatch(UUID.self, at: offset) }
    if head.kind == CBOR.Kind.text {
      guard let uuid = UUID(uuidString: try string(at: offset)) else {
        throw malformed(at: offset, "A string is no UUID.")
      }
      return uuid
    }
    guard let bytes = reader.uuid(at: offset) else { throw mismatch(UUID.self, at: offset) }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  private func url(at offset: Int) throws -> URL {
    guard let url = URL(string: try string(at: offset)) else {
      throw malformed(at: offset, "A string is no URL.")
    }
    return url
  }
}
