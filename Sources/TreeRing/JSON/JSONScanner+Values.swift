// Whole values of JSON text: validation, compact copies, iteration of members and elements, lookup
// by a dotted path, the text of a scalar.

package import TreeRingLog

/// One member of an object, as ranges of offsets in the scanned text.
package struct JSONMember: Hashable, Sendable {
  /// The name's token, quotes included.
  package var name: Range<Int>
  /// The value's bytes, without space around them.
  package var value: Range<Int>
}

/// A path into nested objects: member names, outermost first.
///
/// The dotted form has dots between the names. It cannot name a member whose own name has a dot.
package struct JSONPath: Hashable, Sendable, CustomStringConvertible {
  /// The names as UTF-8.
  package let names: [[UInt8]]

  /// Creates a path from its dotted form.
  /// - Throws: `invalidInput` if a name is empty.
  package init(_ dotted: some StringProtocol) throws(TreeRingError) {
    names = dotted.utf8.split(
      separator: UInt8(ascii: "."), omittingEmptySubsequences: false
    ).map { Array($0) }
    if names.contains([]) {
      throw TreeRingError(.invalidInput, "The field “\(dotted)” has an empty name in its path")
    }
  }

  /// The dotted form.
  package var description: String {
    names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
  }
}

extension JSONScanner {
  /// Checks that the text is one value, with optional space around it, and nothing else. O(bytes).
  /// - Throws: `invalidInput` if it is not.
  package static func validate(_ bytes: UnsafeRawBufferPointer) throws(TreeRingError) {
    var scanner = JSONScanner(bytes)
    guard scanner.skipDocument() else { throw scanner.error }
  }

  /// Whether bytes are one JSON value, with optional space around it, and nothing else. O(bytes).
  package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var scanner = JSONScanner(bytes)
    return scanner.skipDocument()
  }

  /// Whether bytes are one JSON value without any space outside strings. O(bytes).
  package static func isCompact(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var scanner = JSONScanner(bytes)
    return scanner.skipDocument() && !scanner.passedSpace
  }

  /// Skips space, one value and space up to the end of the text.
  mutating func skipDocument() -> Bool {
    skipSpace()
    guard skipValue() else { return false }
    skipSpace()
    return position == bytes.count || fail(.textAfterValue)
  }

  /// Validates and skips the next value, and returns its range.
  package mutating func nextValue() throws(TreeRingError) -> Range<Int> {
    skipSpace()
    let start = position
    guard skipValue() else { throw error }
    return start..<position
  }

  /// Enters the next value, which must be an object. `nextMember()` reads its members.
  package mutating func enterObject() throws(TreeRingError) {
    try enter(UInt8(ascii: "{"), else: .notAnObject)
  }

  /// The next member of the entered object; nil after its end.
  ///
  /// Validates everything that it skips.
  package mutating func nextMember() throws(TreeRingError) -> JSONMember? {
    guard try goToNext(after: UInt8(ascii: "{"), end: UInt8(ascii: "}")) else { return nil }
    let start = position
    guard skipNameToken() else { throw error }
    let name = start..<position
    guard expect(UInt8(ascii: ":")) else { throw error }
    return JSONMember(name: name, value: try nextValue())
  }

  /// Enters the next value, which must be an array. `nextElement()` reads its elements.
  package mutating func enterArray() throws(TreeRingError) {
    try enter(UInt8(ascii: "["), else: .notAnArray)
  }

  /// The range of the next element of the entered array; nil after its end.
  package mutating func nextElement() throws(TreeRingError) -> Range<Int>? {
    guard try goToNext(after: UInt8(ascii: "["), end: UInt8(ascii: "]")) else { return nil }
    return try nextValue()
  }

  /// Checks that only space is left.
  /// - Throws: `invalidInput` if there is more.
  package mutating func finish() throws(TreeRingError) {
    skipSpace()
    if position < bytes.count {
      _ = fail(.textAfterValue)
      throw error
    }
  }

  private mutating func enter(_ bracket: UInt8, else flaw: Fault) throws(TreeRingError) {
    skipSpace()
    if position >= bytes.count { _ = fail(.endOfText) }
    if fault == .none, !take(bracket) { _ = fail(flaw) }
    if fault != .none { throw error }
  }

  /// Moves to the next item of the entered object or array; returns false after its end.
  @inline(__always)
  private mutating func goToNext(after bracket: UInt8, end: UInt8) throws(TreeRingError) -> Bool {
    let isFirst = position > 0 && bytes[position - 1] == bracket
    skipSpace()
    if take(end) { return false }
    if isFirst { return true }
    guard expect(UInt8(ascii: ",")) else { throw error }
    skipSpace()
    return true
  }

  /// The bytes in a range of the text.
  @inline(__always)
  package func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[range])
  }

  /// Validates and skips the next value, and appends it without space outside strings.
  ///
  /// Tokens are copied verbatim. On a fault, `output` is unchanged.
  package mutating func copyCompact(to output: inout [UInt8]) throws(TreeRingError) {
    skipSpace()
    passedSpace = false
    let value = slice(try nextValue())
    if passedSpace {
      Self.appendWithoutSpace(value, to: &output)
    } else {
      output.append(contentsOf: value)
    }
  }

  /// Appends valid JSON without the space outside its strings.
  private static func appendWithoutSpace(
    _ json: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) {
    var scanner = JSONScanner(json)
    while scanner.position < json.count {
      scanner.skipSpace()
      let start = scanner.position
      while scanner.position < json.count, json[scanner.position] > 0x20 {
        if json[scanner.position] == UInt8(ascii: "\"") {
          _ = scanner.skipString()
        } else {
          scanner.position += 1
        }
      }
      output.append(contentsOf: scanner.slice(start..<scanner.position))
    }
  }

  /// Validates one JSON document and appends it without space outside strings.
  package static func appendCompact(
    _ json: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) throws(TreeRingError) {
    var scanner = JSONScanner(json)
    let count = output.count
    try scanner.copyCompact(to: &output)
    do throws(TreeRingError) { try scanner.finish() } catch {
      output.removeLast(output.count - count)
      throw error
    }
  }

  /// The range of the value at a path; nil if there is none or the text is not an object. Validates
  /// the whole text. O(bytes).
  ///
  /// - Throws: `invalidInput` if the text is not JSON.
  package static func find(
    _ path: JSONPath, in json: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> Range<Int>? {
    try validate(json)
    var range = 0..<json.count
    for name in path.names {
      var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: json[..<range.upperBound]))
      scanner.position = range.lowerBound
      scanner.skipSpace()
      guard scanner.take(UInt8(ascii: "{")) else { return nil }
      var found: Range<Int>?
      while let member = try scanner.nextMember() {
        if string(scanner.slice(member.name), equals: name) { found = member.value }
      }
      guard let found else { return nil }
      range = found
    }
    return range
  }

  /// The end of the error message for a name, key or text that `appendString` refuses.
  package static let loneSurrogate =
    "holds half a surrogate pair, which is no text; write the character, or both halves"

  /// Appends a valid scalar's text: the decoded text of a string, any other token as is.
  ///
  /// - Returns: False, with nothing appended, if the value is an object or an array.
  package static func appendText(
    ofScalar value: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) -> Bool {
    switch value.first {
    case UInt8(ascii: "{"), UInt8(ascii: "["), nil: return false
    case UInt8(ascii: "\""): appendString(value, to: &output)
    default: output.append(contentsOf: value)
    }
    return true
  }
}
