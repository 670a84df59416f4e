// Bytes that are not JSON, inside JSON: {"$base64":"…"}, in the standard alphabet with padding.

internal import TreeRing
package import TreeRingLog
internal import TreeRingPlatform

/// Encodes and decodes base 64 in an object with one member.
package enum Base64 {
  /// The name of the member.
  package struct Member: Sendable {
    fileprivate let name: [UInt8]

    /// Any bytes: `{"$base64":"…"}`.
    package static let bytes = Member(name: Array("$base64".utf8))
    /// The label of a place: `{"$label":"…"}`.
    static let label = Member(name: Array("$label".utf8))
  }

  // MARK: - Encoding

  /// Appends bytes as an object with one member.
  package static func appendWrapping(
    _ bytes: UnsafeRawBufferPointer, as member: Member = .bytes, to output: inout [UInt8]
  ) {
    output.append(contentsOf: "{\"".utf8)
    output.append(contentsOf: member.name)
    output.append(contentsOf: "\":\"".utf8)
    output.append(contentsOf: Data(bytes).base64EncodedData())
    output.append(contentsOf: "\"}".utf8)
  }

  // MARK: - Decoding

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
    (try? content(of: value, as: .bytes)) != nil
  }

  /// The bytes of `{"$base64":"…"}`; nil if the JSON value is anything else.
  ///
  /// - Throws: `invalidInput` if the text in it is not base 64.
  package static func unwrap(_ value: [UInt8]) throws(TreeRingError) -> [UInt8]? {
    var output: [UInt8] = []
    let isWrapped = try value.withUnsafeBytes { (bytes) throws(TreeRingError) in
      try appendWrapped(bytes, to: &output)
    }
    return isWrapped ? output : nil
  }

  /// Appends the bytes of an object with one member.
  ///
  /// - Returns: false if the value is anything else.
  /// - Throws: `invalidInput` if the text in it is not base 64.
  static func appendWrapped(
    _ value: UnsafeRawBufferPointer, as member: Member = .bytes, to output: inout [UInt8]
  ) throws(TreeRingError) -> Bool {
    guard let content = try content(of: value, as: member) else { return false }
    var text: [UInt8] = []
    guard content.first == UInt8(ascii: "\""), JSONScanner.appendString(content, to: &text),
      let bytes = decode(text)
    else {
      throw TreeRingError(
        .invalidInput,
        "The text in {\"$base64\":…} or {\"$label\":…} is not base 64 (A–Z a–z 0–9 + / and padding)"
      )
    }
    output.append(contentsOf: bytes)
    return true
  }

  /// The value of the object's only member, if it has this name.
  private static func content(
    of value: UnsafeRawBufferPointer, as wanted: Member
  ) throws(TreeRingError) -> UnsafeRawBufferPointer? {
    guard value.first == UInt8(ascii: "{"), mayBeWrapped(value) else { return nil }
    var scanner = JSONScanner(value)
    try scanner.enterObject()
    guard let member = try scanner.nextMember(),
      JSONScanner.string(scanner.slice(member.name), equals: wanted.name),
      try scanner.nextMember() == nil
    else { return nil }
    return scanner.slice(member.value)
  }

  /// The decoded bytes; nil unless encoding them gives the same text. Foundation alone also accepts
  /// padding without need, and bits that the padding cuts off, so that equal bytes had many texts.
  private static func decode(_ text: [UInt8]) -> Data? {
    guard let bytes = Data(base64Encoded: Data(text)) else { return nil }
    let rest = bytes.count % 3 == 0 ? min(bytes.count, 3) : bytes.count % 3
    let isCanonical =
      text.count == (bytes.count + 2) / 3 * 4
      && text.suffix(4).elementsEqual(bytes.suffix(rest).base64EncodedData())
    return isCanonical ? bytes : nil
  }
}
