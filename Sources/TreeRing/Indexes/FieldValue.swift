// A value that a user types, to be compared with fields of rows: a JSON scalar, or any other text,
// which stands for a string. So 8 is a number, and "8" in quotes a string. The order is that of
// indexes by fields (SortKeyEncoder+Fields.swift).

internal import TreeRingLog

/// The kinds of values of a field.
enum FieldKind: Sendable {
  case absent, truth, number, string, other

  /// The kind of a valid JSON value; an empty one means that the field is absent.
  init(_ json: UnsafeRawBufferPointer) {
    self =
      switch json.first {
      case nil, UInt8(ascii: "n"): .absent
      case UInt8(ascii: "f"), UInt8(ascii: "t"): .truth
      case UInt8(ascii: "\""): .string
      case UInt8(ascii: "{"), UInt8(ascii: "["): .other
      default: .number
      }
  }

  /// The values of the kind, in a sentence.
  var plural: String {
    switch self {
    case .absent: "no values"
    case .truth: "truth values"
    case .number: "numbers"
    case .string: "strings"
    case .other: "arrays and objects"
    }
  }
}

/// A typed value.
struct FieldValue: Sendable {
  /// The value as a JSON scalar.
  let json: [UInt8]
  let kind: FieldKind
  /// The bytes whose order is that of values of the kind.
  private let rank: [UInt8]

  /// Creates a value from its text.
  /// - Throws: `invalidInput` for an array or an object, which no bound is.
  init(_ text: String) throws(TreeRingError) {
    let bytes = Array(text.utf8)
    if bytes.first == UInt8(ascii: "{") || bytes.first == UInt8(ascii: "[") {
      throw TreeRingError(
        .invalidInput,
        "“\(text)” is no value to compare with; write a number, true, false, null or text, and "
          + "text that begins so in quotes")
    }
    json = Self.isScalar(bytes) ? bytes : Array(JSONScanner.quoted(text).utf8)
    (kind, rank) = json.withUnsafeBytes { (FieldKind($0), Self.rank(of: $0)) }
  }

  private static func isScalar(_ bytes: [UInt8]) -> Bool {
    let isSpace: (UInt8?) -> Bool = { $0.map { $0 <= UInt8(ascii: " ") } ?? true }
    guard !isSpace(bytes.first), !isSpace(bytes.last) else { return false }
    return bytes.withUnsafeBytes { (try? JSONScanner.validate($0)) != nil }
  }

  /// Values separated by commas. Commas inside quotes separate nothing.
  /// - Throws: `invalidInput` for a malformed string in quotes, an array or an object.
  static func list(_ text: String) throws(TreeRingError) -> [FieldValue] {
    var values: [FieldValue] = []
    let bytes = Array(text.utf8)
    var start = 0
    while true {
      let end = bytes.withUnsafeBytes { Self.end(ofValueAt: start, in: $0) }
      guard let end else {
        throw TreeRingError(
          .invalidInput, "“\(text)” has a malformed string; write strings with commas in quotes")
      }
      values.append(try FieldValue(String(decoding: bytes[start..<end], as: UTF8.self)))
      if end == bytes.count { return values }
      start = end + 1
    }
  }

  private static func end(ofValueAt start: Int, in bytes: UnsafeRawBufferPointer) -> Int? {
    guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else {
      return bytes[start...].firstIndex(of: UInt8(ascii: ",")) ?? bytes.count
    }
    var scanner = JSONScanner(bytes, at: start)
    guard scanner.skipValue(),
      scanner.position == bytes.count || bytes[scanner.position] == UInt8(ascii: ",")
    else { return nil }
    return scanner.position
  }

  /// Whether a field's value, which is of this kind, comes before, with or after this one; nil for
  /// a value of another kind.
  func order(of value: UnsafeRawBufferPointer) -> (isBefore: Bool, isEqual: Bool)? {
    guard FieldKind(value) == kind else { return nil }
    let other = Self.rank(of: value)
    return (other.lexicographicallyPrecedes(rank), other == rank)
  }

  private static func rank(of value: UnsafeRawBufferPointer) -> [UInt8] {
    switch FieldKind(value) {
    case .number:
      var encoder = SortKeyEncoder()
      encoder.appendNumber(value)
      return encoder.bytes
    case .string:
      var text: [UInt8] = []
      JSONScanner.appendString(value, to: &text)
      return text
    case .truth: return [value.first == UInt8(ascii: "t") ? 1 : 0]
    case .absent, .other: return []
    }
  }
}
