// The numbers and the UUIDs of a binary row, as they lie in the bytes.

/// A decimal fraction: a whole number times a power of ten.
struct CBORDecimal: CustomStringConvertible {
  var isNegative: Bool
  var magnitude: UInt128
  var exponent: Int

  /// The number without an exponent if it has few digits, as Foundation's `Decimal` writes it.
  var description: String {
    var digits = String(magnitude)
    let sign = isNegative ? "-" : ""
    if magnitude == 0 { return "0" }
    guard (-200...200).contains(exponent) else { return "\(sign)\(digits)e\(exponent)" }
    if exponent >= 0 { return sign + digits + String(repeating: "0", count: exponent) }
    if digits.utf8.count <= -exponent {
      digits = String(repeating: "0", count: -exponent + 1 - digits.utf8.count) + digits
    }
    let point = digits.index(digits.endIndex, offsetBy: exponent)
    return "\(sign)\(digits[..<point]).\(digits[point...])"
  }
}

extension CBORDecimal {
  /// The number that a text of digits with at most one point and a minus sign is, without zeros at
  /// the end of its magnitude; nil if the text is another, or has too many digits.
  init?(_ text: String) {
    self.init(isNegative: false, magnitude: 0, exponent: 0)
    var (zeros, isFraction, hasDigit) = (0, false, false)
    for (index, byte) in text.utf8.enumerated() {
      switch byte {
      case UInt8(ascii: "-") where index == 0: isNegative = true
      case UInt8(ascii: ".") where !isFraction: isFraction = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        hasDigit = true
        if isFraction { exponent -= 1 }
        if byte == UInt8(ascii: "0") {
          zeros += 1
          continue
        }
        for factor in repeatElement(UInt128(10), count: magnitude == 0 ? 1 : zeros + 1) {
          let (product, overflow) = magnitude.multipliedReportingOverflow(by: factor)
          if overflow { return nil }
          magnitude = product
        }
        let (sum, overflow) = magnitude.addingReportingOverflow(UInt128(byte - UInt8(ascii: "0")))
        if overflow { return nil }
        (magnitude, zeros) = (sum, 0)
      default: return nil
      }
    }
    guard hasDigit else { return nil }
    exponent = magnitude == 0 ? 0 : exponent + zeros
  }

  /// The magnitude of a whole number; nil for a fraction, or beyond 128 bits.
  var wholeMagnitude: UInt128? {
    var whole = magnitude
    if whole == 0 { return 0 }
    // No power of ten beyond this one has 128 bits.
    guard (-38...38).contains(exponent) else { return nil }
    for _ in 0..<max(0, exponent) {
      let (product, overflow) = whole.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      whole = product
    }
    for _ in 0..<max(0, -exponent) {
      let (quotient, remainder) = whole.quotientAndRemainder(dividingBy: 10)
      if remainder != 0 { return nil }
      whole = quotient
    }
    return whole
  }
}

/// A number of a binary row.
enum CBORNumber {
  /// The magnitude, or if negative −1 − magnitude.
  case whole(isNegative: Bool, magnitude: UInt128)
  case single(Float)
  case double(Double)
  case decimal(CBORDecimal)
}

extension CBORReader {
  /// The number at an offset; nil if there is another value, or one beyond 128 bits.
  @inline(__always)
  func number(at offset: Int) -> CBORNumber? {
    guard let head = head(at: offset) else { return nil }
    switch head.kind {
    case CBOR.Kind.unsigned: return .whole(isNegative: false, magnitude: UInt128(head.argument))
    case CBOR.Kind.negative: return .whole(isNegative: true, magnitude: UInt128(head.argument))
    case CBOR.Kind.simple:
      if bytes[offset] == CBOR.Byte.double { return .double(Double(bitPattern: head.argument)) }
      guard bytes[offset] == CBOR.Byte.single else { return nil }
      return .single(Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)))
    case CBOR.Kind.tag: return taggedNumber(head)
    default: return nil
    }
  }

  private func taggedNumber(_ tag: CBORHead) -> CBORNumber? {
    tag.argument == CBOR.Tag.decimal
      ? decimal(at: tag.end).map { .decimal($0.number) } : integer(tag).map(\.number)
  }

  /// The offset behind the value that has a tag; -1 if it is none of the format's tagged values.
  /// None of them contains another item of any kind, so that tags cannot be nested. O(1).
  @inline(never)
  func endOfTagged(_ tag: CBORHead) -> Int {
    switch tag.argument {
    case CBOR.Tag.uuid: uuidBytes(tag)?.upperBound ?? -1
    case CBOR.Tag.decimal: decimal(at: tag.end)?.end ?? -1
    default: integer(tag)?.end ?? -1
    }
  }

  /// The number whose exponent and mantissa are the array at an offset, and the offset behind it.
  private func decimal(at offset: Int) -> (number: CBORDecimal, end: Int)? {
    guard let array = head(at: offset), array.kind == CBOR.Kind.array, array.argument == 2,
      let exponent = head(at: array.end), exponent.kind <= CBOR.Kind.negative,
      exponent.argument <= UInt64(Int32.max), let mantissa = head(at: exponent.end),
      case (.whole(let isNegative, let magnitude), let end)? = integer(mantissa),
      !isNegative || magnitude < .max
    else { return nil }
    let power = Int(exponent.argument)
    let number = CBORDecimal(
      isNegative: isNegative, magnitude: isNegative ? magnitude + 1 : magnitude,
      exponent: exponent.kind == CBOR.Kind.negative ? -1 - power : power)
    return (number, end)
  }

  /// The integer whose head or tag this is, and the offset behind it. Behind the tag are bytes, the
  /// most significant first.
  private func integer(_ head: CBORHead) -> (number: CBORNumber, end: Int)? {
    if head.kind <= CBOR.Kind.negative {
      return (
        .whole(isNegative: head.kind == CBOR.Kind.negative, magnitude: UInt128(head.argument)),
        head.end
      )
    }
    guard head.kind == CBOR.Kind.tag,
      head.argument == CBOR.Tag.positive || head.argument == CBOR.Tag.negative,
      let data = self.head(at: head.end), data.kind == CBOR.Kind.bytes,
      let range = contents(of: data), range.count <= 16
    else { return nil }
    let magnitude = bytes[range].reduce(0) { $0 << 8 | UInt128($1) }
    return (
      .whole(isNegative: head.argument == CBOR.Tag.negative, magnitude: magnitude), range.upperBound
    )
  }

  /// The 16 bytes of the UUID at an offset; nil if there is another value.
  func uuid(at offset: Int) -> UnsafeRawBufferPointer? {
    guard let tag = head(at: offset), tag.kind == CBOR.Kind.tag, let range = uuidBytes(tag) else {
      return nil
    }
    return UnsafeRawBufferPointer(rebasing: bytes[range])
  }

  private func uuidBytes(_ tag: CBORHead) -> Range<Int>? {
    guard tag.argument == CBOR.Tag.uuid, let head = head(at: tag.end),
      head.kind == CBOR.Kind.bytes, let range = contents(of: head), range.count == 16
    else { return nil }
    return range
  }
}
