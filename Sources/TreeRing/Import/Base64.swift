// Bytes that are not JSON, inside JSON: {"$base64":"…"}, in the standard alphabet with padding.

package import TreeRingLog

/// Encodes and decodes base 64.
package enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let memberName = Array("$base64".utf8)
  private static let labelName = Array("$label".utf8)

  /// Appends bytes as `{"$base64":"…"}`.
  package static func appendWrapping(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    output.append(contentsOf: "{\"$base64\":\"".utf8)
    append(bytes, to: &output)
    output.append(contentsOf: "\"}".utf8)
  }

  /// Appends bytes in base 64.
  package static func append(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    var at = 0
    while at < bytes.count {
      let left = bytes.count - at
      let word =
        UInt32(bytes[at]) << 16 | (left > 1 ? UInt32(bytes[at + 1]) << 8 : 0)
        | (left > 2 ? UInt32(bytes[at + 2]) : 0)
      output.append(alphabet[Int(word >> 18)])
      output.append(alphabet[Int(word >> 12 & 63)])
      output.append(left > 1 ? alphabet[Int(word >> 6 & 63)] : UInt8(ascii: "="))
      output.append(left > 2 ? alphabet[Int(word & 63)] : UInt8(ascii: "="))
      at += 3
    }
  }

  /// Whether an object's first member is plainly named `$base64`, or has an escape in its name.
  @inline(__always)
  static func mayBeWrapped(_ object: UnsafeRawBufferPointer) -> Bool {
    var scanner = JSONScanner(object, at: 1)
    scanner.skipSpace()
    let next = scanner.position + 1
    guard next < object.count else { return false }
    return object[next] == UInt8(ascii: "$") || object[next] == UInt8(ascii: "\\")
  }

  /// Whether a valid JSON value is an object with the one member `$base64`.
  package static func isWrapped(_ value: UnsafeRawBufferPointer) -> Bool {
    (try? content(of: value)) != nil
  }

  /// Appends the bytes of `{"$base64":"…"}`.
  /// - Returns: false if the value is anything else.
  /// - Throws: `invalidInput` if the text in it is not base 64.
  static func appendWrapped(
    _ value: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) throws(TreeRingError) -> Bool {
    try appendWrapped(value, named: memberName, to: &output)
  }

  /// Appends the bytes of a place's label, `{"$label":"…"}`.
  /// - Returns: false if the value is anything else.
  /// - Throws: `invalidInput` if the text in it is not base 64.
  static func appendLabel(
    _ value: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) throws(TreeRingError) -> Bool {
    try appendWrapped(value, named: labelName, to: &output)
  }

  /// Appends the label of a place as `{"$label":"…"}`.
  static func appendWrapping(label: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    output.append(contentsOf: "{\"$label\":\"".utf8)
    append(label, to: &output)
    output.append(contentsOf: "\"}".utf8)
  }

  private static func appendWrapped(
    _ value: UnsafeRawBufferPointer, named name: [UInt8], to output: inout [UInt8]
  ) throws(TreeRingError) -> Bool {
    guard let content = try content(of: value, named: name) else { return false }
    guard content.first == UInt8(ascii: "\"") else { throw malformed }
    var text: [UInt8] = []
    JSONScanner.appendString(content, to: &text)
    try decode(text, to: &output)
    return true
  }

  private static var malformed: TreeRingError {
    TreeRingError(
      .invalidInput,
      "The text in {\"$base64\":…} or {\"$label\":…} is not base 64 (A–Z a–z 0–9 + / and padding)")
  }

  /// The value of the object's only member, if it has this name.
  private static func content(
    of value: UnsafeRawBufferPointer, named name: [UInt8] = memberName
  ) throws(TreeRingError) -> UnsafeRawBufferPointer? {
    guard value.first == UInt8(ascii: "{"), mayBeWrapped(value) else { return nil }
    var scanner = JSONScanner(value)
    try scanner.enterObject()
    guard let member = try scanner.nextMember(),
      JSONScanner.string(scanner.slice(member.name), equals: name),
      try scanner.nextMember() == nil
    else { return nil }
    return scanner.slice(member.value)
  }

  private static func decode(
    _ text: [UInt8], to output: inout [UInt8]
  ) throws(TreeRingError) {
    guard text.count % 4 == 0 else { throw malformed }
    var index = 0
    while index < text.count {
      var word: UInt32 = 0
      var padding = 0
      for offset in 0..<4 {
        let byte = text[index + offset]
        if byte == UInt8(ascii: "="), offset > 1, index + 4 == text.count {
          padding += 1
          word <<= 6
        } else {
          guard padding == 0, let digit = digit(byte) else { throw malformed }
          word = word << 6 | digit
        }
      }
      // Bits that the padding cuts off must be zero, so that equal bytes have one text.
      if padding > 0, word & (padding == 1 ? 0xFF : 0xFFFF) != 0 { throw malformed }
      for shift in [16, 8, 0].prefix(3 - padding) {
        output.append(UInt8(truncatingIfNeeded: word >> UInt32(shift)))
      }
      index += 4
    }
  }

  private static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a") + 26)
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0") + 52)
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}

extension Base64 {
  /// The bytes of `{"$base64":"…"}`; nil if the JSON value is anything else.
  ///
  /// - Throws: `invalidInput` if the text in it is not base 64.
  package static func unwrap(_ value: [UInt8]) throws(TreeRingError) -> [UInt8]? {
    var output: [UInt8] = []
    let isWrapped = try value.withUnsafeBufferPointer { (buffer) throws(TreeRingError) in
      try appendWrapped(UnsafeRawBufferPointer(buffer), to: &output)
    }
    return isWrapped ? output : nil
  }
}
