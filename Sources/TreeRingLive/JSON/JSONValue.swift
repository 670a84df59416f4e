// A small JSON document from a client, as a value. Messages and requests are bounded in bytes
// before they are read; rows are never read this way.

internal import TreeRing
internal import TreeRingImport
package import TreeRingLog

/// A JSON value. Numbers keep their text.
package enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(String)
  case text(String)
  case array([JSONValue])
  /// The members in their order, each name once.
  case object([Member])

  /// A member of an object.
  package struct Member: Hashable, Sendable {
    package var name: String
    package var value: JSONValue

    package init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The deepest nesting of a message.
  private static let depthLimit = 8

  /// Reads a whole document. O(bytes · depth).
  ///
  /// - Throws: `invalidInput` if the bytes are not JSON, are nested deeper than eight levels, or if
  ///   an object has a name twice.
  package init(_ bytes: [UInt8]) throws(TreeRingError) {
    self = try bytes.withUnsafeBytes { (bytes) throws(TreeRingError) in
      try JSONScanner.validate(bytes)
      return try JSONValue(bytes, depth: 0)
    }
  }

  private init(_ text: UnsafeRawBufferPointer, depth: Int) throws(TreeRingError) {
    guard depth < Self.depthLimit else {
      throw TreeRingError(
        .invalidInput, "The message is nested deeper than \(Self.depthLimit) levels.")
    }
    var scanner = JSONScanner(text)
    scanner.skipSpace()
    guard scanner.position < text.count else { throw scanner.error }
    switch text[scanner.position] {
    case UInt8(ascii: "{"):
      var members: [Member] = []
      var names: Set<StoreName> = []
      try scanner.enterObject()
      while let member = try scanner.nextMember() {
        let name = try Self.string(scanner.slice(member.name))
        guard names.insert(StoreName(name)).inserted else {
          throw TreeRingError(.invalidInput, "The message has the field “\(name)” twice.")
        }
        members.append(
          Member(name: name, value: try JSONValue(scanner.slice(member.value), depth: depth + 1)))
      }
      self = .object(members)
    case UInt8(ascii: "["):
      var elements: [JSONValue] = []
      try scanner.enterArray()
      while let element = try scanner.nextElement() {
        elements.append(try JSONValue(scanner.slice(element), depth: depth + 1))
      }
      self = .array(elements)
    case UInt8(ascii: "\""): self = .text(try Self.string(scanner.slice(try scanner.nextValue())))
    case UInt8(ascii: "t"): self = .bool(true)
    case UInt8(ascii: "f"): self = .bool(false)
    case UInt8(ascii: "n"): self = .null
    default:
      self = .number(String(decoding: scanner.slice(try scanner.nextValue()), as: UTF8.self))
    }
  }

  private static func string(_ token: UnsafeRawBufferPointer) throws(TreeRingError) -> String {
    var output: [UInt8] = []
    guard JSONScanner.appendString(token, to: &output) else {
      throw TreeRingError(.invalidInput, "A text of the message \(JSONScanner.loneSurrogate)")
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// The members by name; nil if the value is no object.
  package var members: [String: JSONValue]? {
    guard case .object(let members) = self else { return nil }
    return Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// The value without absence: nil for `null`.
  var present: JSONValue? { self == .null ? nil : self }

  /// The number as a whole one; nil if the value is anything else.
  var integer: Int? {
    guard case .number(let text) = self else { return nil }
    return Int(text)
  }

  /// The text; nil if the value is anything else.
  package var string: String? {
    guard case .text(let text) = self else { return nil }
    return text
  }

  /// The bytes of a key or a group's name: text, or `{"$base64":TEXT}`; nil if it is neither.
  var keyBytes: [UInt8]? {
    switch self {
    case .text(let text): return Array(text.utf8)
    case .object:
      var json: [UInt8] = []
      append(to: &json)
      return (try? Base64.unwrap(json)) ?? nil
    default: return nil
    }
  }

  /// Appends the value as JSON without space.
  func append(to output: inout [UInt8]) {
    switch self {
    case .null: output.append(contentsOf: "null".utf8)
    case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
    case .number(let text): output.append(contentsOf: text.utf8)
    case .text(let text): JSONScanner.appendQuoted(text, to: &output)
    case .array(let elements):
      output.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        element.append(to: &output)
      }
      output.append(UInt8(ascii: "]"))
    case .object(let members):
      output.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        JSONScanner.appendQuoted(member.name, to: &output)
        output.append(UInt8(ascii: ":"))
        member.value.append(to: &output)
      }
      output.append(UInt8(ascii: "}"))
    }
  }
}

/// A key, a bucket or a group's name in a request: its text, or the bytes that `{"$base64":"…"}`
/// encodes.
package enum KeyText {
  /// The bytes of a key in a text.
  ///
  /// - Throws: `invalidInput` if the text begins as base 64 and is none.
  package static func bytes(_ text: String) throws(TreeRingError) -> [UInt8] {
    guard text.hasPrefix("{\"$base64\":") else { return Array(text.utf8) }
    let utf8 = Array(text.utf8)
    return try Base64.unwrap(utf8) ?? utf8
  }
}
