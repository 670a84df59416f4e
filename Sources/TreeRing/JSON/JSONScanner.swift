// A strict JSON reader that scans bytes and never builds a value.
//
// It accepts exactly RFC 8259: UTF-8 without surrogates or overlong forms, no control characters in
// strings, no leading zeros, nothing but space after the value. `maximumDepth` bounds nesting.
// `\uD800`-style escapes without a partner follow the grammar and are accepted; as text they become
// U+FFFD. When a name occurs twice in an object, the last one counts.
//
// The steps return false and record a `Fault` at the current position, so that the hot path builds
// no error. The throwing calls turn the fault into a `TreeRingError`.

package import TreeRingLog

/// A position in JSON text, and the steps forward from it.
///
/// The bytes must stay valid while the scanner is used.
package struct JSONScanner {
  /// The maximum nesting depth of arrays and objects.
  static let maximumDepth = 512

  /// A flaw of the text.
  package enum Fault: UInt8, Sendable {
    case none, endOfText, unexpectedByte, badNumber, badString, badEscape, badUTF8, tooDeep
    case notAnObject, notAnArray, textAfterValue
  }

  /// The text.
  package let bytes: UnsafeRawBufferPointer
  /// The offset of the next byte to read.
  package var position: Int
  /// The fault that stopped the scanner, at `position`.
  package internal(set) var fault = Fault.none
  /// Whether the scanner has passed space outside strings since this was last set to false.
  var passedSpace = false
  /// Whether the scanner has passed an escape in a string since this was last set to false.
  var passedEscape = false

  /// Creates a scanner at an offset in a text.
  package init(_ bytes: UnsafeRawBufferPointer, at position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  /// Records a fault at the current position. Always returns false.
  @inline(never)
  package mutating func fail(_ fault: Fault) -> Bool {
    if self.fault == .none { self.fault = fault }
    return false
  }

  /// The fault as an error with its offset in the text.
  package var error: TreeRingError {
    let sentence =
      switch fault {
      case .none: "The JSON is valid"
      case .endOfText: "The JSON text ends too early"
      case .unexpectedByte: "The JSON text has an unexpected character"
      case .badNumber: "The JSON text has a malformed number"
      case .badString: "The JSON text has a control character in a string"
      case .badEscape: "The JSON text has a malformed escape in a string"
      case .badUTF8: "The JSON text is not valid UTF-8"
      case .tooDeep: "The JSON text is nested deeper than \(Self.maximumDepth) levels"
      case .notAnObject: "A JSON object was expected"
      case .notAnArray: "A JSON array was expected"
      case .textAfterValue: "The JSON text goes on after its value"
      }
    return TreeRingError(.invalidInput, sentence, offset: UInt64(position))
  }

  /// Skips space, tabs, line feeds and carriage returns.
  @inline(__always)
  package mutating func skipSpace() {
    guard position < bytes.count, bytes[position] <= 0x20 else { return }
    skipSpaceSlowly()
  }

  private mutating func skipSpaceSlowly() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
      passedSpace = true
    }
  }

  /// Skips one byte if it is the given one.
  @inline(__always)
  package mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  /// Skips space and then the given byte, or fails.
  @inline(__always)
  package mutating func expect(_ byte: UInt8) -> Bool {
    skipSpace()
    if take(byte) { return true }
    return fail(position < bytes.count ? .unexpectedByte : .endOfText)
  }

  /// Validates and skips the value that starts at the current position.
  mutating func skipValue(depth: Int = 0) -> Bool {
    guard position < bytes.count else { return fail(.endOfText) }
    switch bytes[position] {
    case UInt8(ascii: "\""): return skipString()
    case UInt8(ascii: "{"): return skipItems(to: UInt8(ascii: "}"), areMembers: true, depth)
    case UInt8(ascii: "["): return skipItems(to: UInt8(ascii: "]"), areMembers: false, depth)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return skipNumber()
    case UInt8(ascii: "t"): return skipLiteral("true")
    case UInt8(ascii: "f"): return skipLiteral("false")
    case UInt8(ascii: "n"): return skipLiteral("null")
    default: return fail(.unexpectedByte)
    }
  }

  private mutating func skipLiteral(_ literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    for index in 0..<count {
      guard position + index < bytes.count else {
        position = bytes.count
        return fail(.endOfText)
      }
      guard bytes[position + index] == literal.utf8Start[index] else {
        position += index
        return fail(.unexpectedByte)
      }
    }
    position += count
    return true
  }

  /// Skips the object or array that starts at the current position.
  @inline(__always)
  private mutating func skipItems(to end: UInt8, areMembers: Bool, _ depth: Int) -> Bool {
    guard depth < Self.maximumDepth else { return fail(.tooDeep) }
    position += 1
    skipSpace()
    if take(end) { return true }
    repeat {
      skipSpace()
      if areMembers {
        guard skipNameToken(), expect(UInt8(ascii: ":")) else { return false }
        skipSpace()
      }
      guard skipValue(depth: depth + 1) else { return false }
      skipSpace()
    } while take(UInt8(ascii: ","))
    return expect(end)
  }

  /// Skips a string, which must come next.
  @inline(__always)
  mutating func skipNameToken() -> Bool {
    guard position < bytes.count else { return fail(.endOfText) }
    guard bytes[position] == UInt8(ascii: "\"") else { return fail(.unexpectedByte) }
    return skipString()
  }

  @inline(__always)
  private mutating func skipDigits() -> Bool {
    let start = position
    while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
    if position > start { return true }
    return fail(position < bytes.count ? .badNumber : .endOfText)
  }

  private mutating func skipNumber() -> Bool {
    _ = take(UInt8(ascii: "-"))
    if take(UInt8(ascii: "0")) {
      if position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 {
        return fail(.badNumber)
      }
    } else if !skipDigits() {
      return false
    }
    if take(UInt8(ascii: ".")), !skipDigits() { return false }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      return skipDigits()
    }
    return true
  }
}
