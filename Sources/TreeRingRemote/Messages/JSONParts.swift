// The parts of a JSON text as slices of its bytes. Rows are never built as values.

internal import TreeRing
internal import TreeRingImport
internal import TreeRingLog

/// A JSON value of a message.
struct JSONPart {
  let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The members of an object by name, the last of each name.
  func members() throws(RemoteError) -> [String: JSONPart] {
    try reading { () throws(TreeRingError) in
      var members: [String: JSONPart] = [:]
      var scanner = JSONScanner(bytes)
      try scanner.enterObject()
      while let member = try scanner.nextMember() {
        let name = scanner.slice(member.name)
        members[String(decoding: name.dropFirst().dropLast(), as: UTF8.self)] =
          JSONPart(scanner.slice(member.value))
      }
      try scanner.finish()
      return members
    }
  }

  /// The elements of an array.
  ///
  /// - Parameter least: The fewest elements that it may have.
  func elements(least: Int = 0) throws(RemoteError) -> [JSONPart] {
    let elements = try reading { () throws(TreeRingError) in
      var elements: [JSONPart] = []
      var scanner = JSONScanner(bytes)
      try scanner.enterArray()
      while let element = try scanner.nextElement() {
        elements.append(JSONPart(scanner.slice(element)))
      }
      try scanner.finish()
      return elements
    }
    guard elements.count >= least else { throw .malformed("an array is too short.") }
    return elements
  }

  private func reading<Value>(
    _ body: () throws(TreeRingError) -> Value
  ) throws(RemoteError) -> Value {
    do throws(TreeRingError) {
      return try body()
    } catch {
      throw .malformed("\(error.message).")
    }
  }

  var isNull: Bool { bytes.elementsEqual("null".utf8) }
  var isTrue: Bool { bytes.elementsEqual("true".utf8) }

  /// The value unless it is null.
  var present: JSONPart? { isNull ? nil : self }

  /// The bytes of a text.
  func text() throws(RemoteError) -> [UInt8] {
    var text: [UInt8] = []
    guard bytes.first == UInt8(ascii: "\""), JSONScanner.appendString(bytes, to: &text) else {
      throw .malformed("a text was expected.")
    }
    return text
  }

  /// The bytes of a text as a string.
  func string() throws(RemoteError) -> String { String(decoding: try text(), as: UTF8.self) }

  /// The number of a commit.
  func commit() throws(RemoteError) -> CommitNumber {
    guard let number = CommitNumber(String(decoding: bytes, as: UTF8.self)) else {
      throw .malformed("a commit's number was expected.")
    }
    return number
  }

  /// The bytes of a key or a group's name: a text, or base 64.
  func key() throws(RemoteError) -> [UInt8] {
    if bytes.first == UInt8(ascii: "\"") { return try text() }
    guard let key = try? Base64.unwrap(Array(bytes)) else {
      throw .malformed("a key was expected.")
    }
    return key
  }
}
