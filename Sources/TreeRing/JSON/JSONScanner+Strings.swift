// Strings of JSON text: skipping them, comparing them and decoding them to bytes.

extension JSONScanner {
  /// Validates and skips the string that starts at the current position.
  mutating func skipString() -> Bool {
    var at = position + 1
    let count = bytes.count
    while true {
      // Eight bytes at a time while none is a quote, a backslash, a control character or beyond
      // ASCII.
      while at &+ 8 <= count {
        let special = Self.specialBytes(
          UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
        if special != 0 {
          at &+= special.trailingZeroBitCount &>> 3
          break
        }
        at &+= 8
      }
      guard at < count else {
        position = count
        return fail(.endOfText)
      }
      let byte = bytes[at]
      if byte == UInt8(ascii: "\"") {
        position = at + 1
        return true
      }
      position = at
      if byte == UInt8(ascii: "\\") {
        guard skipEscape() else { return false }
      } else if byte < 0x20 {
        return fail(.badString)
      } else if byte >= 0x80 {
        guard skipScalar() else { return false }
      } else {
        position += 1
      }
      at = position
    }
  }

  /// A word whose lowest set bit lies in the first byte that ends a run of plain characters.
  @inline(__always)
  private static func specialBytes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let high: UInt64 = 0x8080_8080_8080_8080
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5C)
    let control = (word &- ones &* 0x20) & ~word
    return ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | control | word) & high
  }

  private mutating func skipEscape() -> Bool {
    passedEscape = true
    guard position + 1 < bytes.count else {
      position = bytes.count
      return fail(.endOfText)
    }
    switch bytes[position + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 2
      return true
    case UInt8(ascii: "u"):
      for index in 2..<6 {
        guard position + index < bytes.count else {
          position = bytes.count
          return fail(.endOfText)
        }
        guard Self.hexDigit(bytes[position + index]) != nil else { return fail(.badEscape) }
      }
      position += 6
      return true
    default:
      return fail(.badEscape)
    }
  }

  /// Skips one scalar of two to four bytes.
  private mutating func skipScalar() -> Bool {
    let length = Self.scalarLength(in: bytes, at: position)
    guard length > 0 else { return fail(.badUTF8) }
    position += length
    return true
  }

  /// The length of the well-formed scalar of two to four bytes at an offset; 0 if there is none.
  static func scalarLength(in bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    let left = bytes.count - offset
    func follows(_ index: Int, _ range: ClosedRange<UInt8> = 0x80...0xBF) -> Bool {
      index < left && range.contains(bytes[offset + index])
    }
    switch bytes[offset] {
    case 0xC2...0xDF: return follows(1) ? 2 : 0
    case 0xE0: return follows(1, 0xA0...0xBF) && follows(2) ? 3 : 0
    case 0xE1...0xEC, 0xEE...0xEF: return follows(1) && follows(2) ? 3 : 0
    case 0xED: return follows(1, 0x80...0x9F) && follows(2) ? 3 : 0
    case 0xF0: return follows(1, 0x90...0xBF) && follows(2) && follows(3) ? 4 : 0
    case 0xF1...0xF3: return follows(1) && follows(2) && follows(3) ? 4 : 0
    case 0xF4: return follows(1, 0x80...0x8F) && follows(2) && follows(3) ? 4 : 0
    default: return 0
    }
  }

  /// Whether bytes are well-formed UTF-8. O(bytes).
  package static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }

  @inline(__always)
  static func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }

  /// Appends the text of a valid string token, quotes included in `token`, as UTF-8.
  ///
  /// A surrogate escape without its partner becomes U+FFFD.
  ///
  /// - Returns: False if there is such an escape: the token is no text.
  @discardableResult
  package static func appendString(
    _ token: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) -> Bool {
    var isText = true
    let inner = UnsafeRawBufferPointer(rebasing: token[1..<(token.count - 1)])
    var at = 0
    while at < inner.count {
      let run = at
      while at < inner.count, inner[at] != UInt8(ascii: "\\") { at += 1 }
      output.append(contentsOf: UnsafeRawBufferPointer(rebasing: inner[run..<at]))
      if at < inner.count { at += appendEscape(inner, at: at, to: &output, &isText) }
    }
    return isText
  }

  /// Appends the character of an escape.
  /// - Returns: The number of bytes of the escape.
  private static func appendEscape(
    _ text: UnsafeRawBufferPointer, at offset: Int, to output: inout [UInt8], _ isText: inout Bool
  ) -> Int {
    switch text[offset + 1] {
    case UInt8(ascii: "b"): output.append(0x08)
    case UInt8(ascii: "f"): output.append(0x0C)
    case UInt8(ascii: "n"): output.append(0x0A)
    case UInt8(ascii: "r"): output.append(0x0D)
    case UInt8(ascii: "t"): output.append(0x09)
    case UInt8(ascii: "u"): return appendUnicodeEscape(text, at: offset, to: &output, &isText)
    default: output.append(text[offset + 1])
    }
    return 2
  }

  private static func appendUnicodeEscape(
    _ text: UnsafeRawBufferPointer, at offset: Int, to output: inout [UInt8], _ isText: inout Bool
  ) -> Int {
    func unit(at start: Int) -> UInt32? {
      guard start + 6 <= text.count, text[start] == UInt8(ascii: "\\"),
        text[start + 1] == UInt8(ascii: "u")
      else { return nil }
      var value: UInt32 = 0
      for index in 2..<6 {
        guard let digit = hexDigit(text[start + index]) else { return nil }
        value = value << 4 | digit
      }
      return value
    }
    let first = unit(at: offset) ?? 0xFFFD
    var length = 6
    var value = first
    if (0xD800..<0xDC00).contains(first), let second = unit(at: offset + 6),
      (0xDC00..<0xE000).contains(second)
    {
      value = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
      length = 12
    }
    let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
    if scalar.value != value { isText = false }
    for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { output.append(byte) }
    return length
  }

  /// Whether the text of a valid string token, quotes included in `token`, equals the given UTF-8
  /// bytes.
  @inline(__always)
  package static func string(_ token: UnsafeRawBufferPointer, equals text: [UInt8]) -> Bool {
    let inner = token.count - 2
    if inner == text.count {
      var index = 0
      while index < inner, token[index + 1] == text[index] { index += 1 }
      // Without a backslash, equal bytes are equal texts; names in an index rarely have one.
      if index == inner, !text.contains(UInt8(ascii: "\\")) { return true }
    }
    return inner > text.count ? escapedString(token, equals: text) : false
  }

  /// The comparison for a token longer than the text, which can be equal only by its escapes.
  @inline(never)
  private static func escapedString(
    _ token: UnsafeRawBufferPointer, equals text: [UInt8]
  ) -> Bool {
    guard token.contains(UInt8(ascii: "\\")) else { return false }
    var decoded: [UInt8] = []
    appendString(token, to: &decoded)
    return decoded == text
  }

  /// Appends text as a JSON string token. Escapes quotes, backslashes and control characters only.
  ///
  /// The bytes must be UTF-8.
  package static func appendQuoted(_ text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    var run = 0
    for (index, byte) in text.enumerated()
    where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
      output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[run..<index]))
      run = index + 1
      output.append(UInt8(ascii: "\\"))
      switch byte {
      case 0x08: output.append(UInt8(ascii: "b"))
      case 0x0C: output.append(UInt8(ascii: "f"))
      case 0x0A: output.append(UInt8(ascii: "n"))
      case 0x0D: output.append(UInt8(ascii: "r"))
      case 0x09: output.append(UInt8(ascii: "t"))
      case 0..<0x20:
        output.append(contentsOf: "u00".utf8)
        output.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
        output.append(Array("0123456789abcdef".utf8)[Int(byte & 15)])
      default: output.append(byte)
      }
    }
    output.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[run...]))
    output.append(UInt8(ascii: "\""))
  }

  /// Appends text as a JSON string token.
  package static func appendQuoted(_ text: String, to output: inout [UInt8]) {
    Array(text.utf8).withUnsafeBytes { appendQuoted($0, to: &output) }
  }

  /// The text as a JSON string token.
  package static func quoted(_ text: String) -> String {
    var output: [UInt8] = []
    appendQuoted(text, to: &output)
    return String(decoding: output, as: UTF8.self)
  }
}
