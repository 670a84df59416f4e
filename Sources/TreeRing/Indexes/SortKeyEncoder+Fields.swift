// The order of fields of JSON objects: absent or null, false, true, numbers by value, strings by
// scalar, then arrays and objects by their bytes.
//
// component   bytes
// absent      01
// false       02
// true        03
// number      04 negative, 05 zero, 06 positive; then for all but zero the exponent and the digits
// string      07, then as text
// other       08, then as data
//
// Numbers are compared exactly, with any number of digits. A number is ±0.d₁d₂d₃… × 10ᵉ with d₁ ≠ 0
// and no zeros at the end. The exponent is one byte e + 128 for |e| ≤ 100. Otherwise it is 10
// (below) or F0 (above) and e as a signed integer of 8 bytes. The digits follow in pairs, each a
// byte 1 + 10·d₁ + d₂, and end with 00. A negative number has its exponent and digits complemented.

extension SortKeyEncoder {
  private enum Tag {
    static let absent: UInt8 = 1
    static let no: UInt8 = 2
    static let yes: UInt8 = 3
    static let negative: UInt8 = 4
    static let zero: UInt8 = 5
    static let positive: UInt8 = 6
    static let string: UInt8 = 7
    static let other: UInt8 = 8
  }

  /// The tags of the values that have a common order with those of a tag: truth values, numbers,
  /// strings, or arrays and objects.
  static func tags(comparableWith tag: UInt8) -> ClosedRange<UInt8> {
    switch tag {
    case Tag.no, Tag.yes: Tag.no...Tag.yes
    case Tag.negative, Tag.zero, Tag.positive: Tag.negative...Tag.positive
    default: tag...tag
    }
  }

  /// The kind of values whose components begin with a byte.
  static func kind(ofTag tag: UInt8) -> FieldKind {
    switch tag {
    case Tag.absent: .absent
    case Tag.no, Tag.yes: .truth
    case Tag.negative, Tag.zero, Tag.positive: .number
    case Tag.string: .string
    default: .other
    }
  }

  /// Appends the valid JSON value of a field; an empty one means that the field is absent.
  mutating func appendField(
    _ value: UnsafeRawBufferPointer, descending: Bool, scratch: inout [UInt8]
  ) {
    let start = bytes.count
    switch value.first {
    case nil, UInt8(ascii: "n"): appendRaw(Tag.absent)
    case UInt8(ascii: "f"): appendRaw(Tag.no)
    case UInt8(ascii: "t"): appendRaw(Tag.yes)
    case UInt8(ascii: "\""):
      appendRaw(Tag.string)
      appendText(ofString: value, scratch: &scratch)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      appendRaw(Tag.other)
      append(value)
    default: appendNumber(value)
    }
    if descending { complement(from: start) }
  }

  private mutating func appendText(
    ofString token: UnsafeRawBufferPointer, scratch: inout [UInt8]
  ) {
    // Bytes beyond the limit cannot affect the key, so a plain string is read only up to there.
    let inner = UnsafeRawBufferPointer(rebasing: token[1..<(token.count - 1)])
    let head = UnsafeRawBufferPointer(rebasing: inner.prefix(Self.byteLimit))
    if !head.contains(UInt8(ascii: "\\")) {
      appendRaw(head)
      appendRaw(0)
      appendRaw(0)
    } else {
      scratch.removeAll(keepingCapacity: true)
      JSONScanner.appendString(token, to: &scratch)
      scratch.withUnsafeBytes { append($0) }
    }
  }

  /// Appends a valid JSON number.
  mutating func appendNumber(_ token: UnsafeRawBufferPointer) {
    let decimal = WrittenNumber(token)
    guard decimal.first < decimal.last else {
      appendRaw(Tag.zero)
      return
    }
    appendRaw(decimal.isNegative ? Tag.negative : Tag.positive)
    let start = bytes.count
    if (-100...100).contains(decimal.exponent) {
      appendRaw(UInt8(decimal.exponent + 128))
    } else {
      appendRaw(decimal.exponent < 0 ? 0x10 : 0xF0)
      append(decimal.exponent)
    }
    var pair: UInt8?
    for index in decimal.first..<decimal.last where token[index] != UInt8(ascii: ".") {
      let digit = token[index] - UInt8(ascii: "0")
      if let high = pair {
        appendRaw(1 + high * 10 + digit)
        pair = nil
      } else {
        pair = digit
      }
    }
    if let high = pair { appendRaw(1 + high * 10) }
    appendRaw(0)
    if decimal.isNegative { complement(from: start) }
  }
}

/// A JSON number as sign, digits and exponent, without conversion.
struct WrittenNumber {
  var isNegative = false
  /// The offsets of the first digit that is not zero and behind the last one; equal for zero.
  var first = 0
  var last = 0
  /// The power of ten by which 0.d₁d₂d₃… is multiplied. An exponent in the text is clamped to ±2⁵⁸.
  var exponent: Int64 = 0

  init(_ token: UnsafeRawBufferPointer) {
    isNegative = token[0] == UInt8(ascii: "-")
    var point: Int?
    var end = token.count
    var foundDigit = false
    for index in (isNegative ? 1 : 0)..<token.count {
      let byte = token[index]
      if byte == UInt8(ascii: ".") {
        point = index
      } else if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
        end = index
        break
      } else if byte != UInt8(ascii: "0") {
        if !foundDigit { first = index }
        foundDigit = true
        last = index + 1
      }
    }
    guard foundDigit else { return }
    let units = point ?? end
    let scale = first < units ? units - first : units + 1 - first
    exponent = Int64(scale) + Self.written(UnsafeRawBufferPointer(rebasing: token[end...]))
  }

  /// The exponent written after `e`, clamped to ±2⁵⁸.
  private static func written(_ text: UnsafeRawBufferPointer) -> Int64 {
    var value: Int64 = 0
    var isNegative = false
    for byte in text.dropFirst() {
      if byte == UInt8(ascii: "-") {
        isNegative = true
      } else if byte != UInt8(ascii: "+") {
        value = min(value * 10 + Int64(byte - UInt8(ascii: "0")), Self.bound)
      }
    }
    return isNegative ? -value : value
  }

  private static let bound: Int64 = 1 << 58
}
