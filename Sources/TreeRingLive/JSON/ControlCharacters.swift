// Characters in names and contents that control a terminal or disguise text.

/// C0 and C1 controls, delete, and characters that change the direction of text or end a line.
package enum ControlCharacters {
  /// The offset of the first control character in UTF-8, from `start` on; nil if there is none.
  /// O(bytes).
  package static func first(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var at = start
    while at < bytes.count {
      let byte = bytes[at]
      if byte < 0x20 || byte == 0x7F { return at }
      if byte >= 0xC2, byte <= 0xE2, begins(bytes, at) { return at }
      at += 1
    }
    return nil
  }

  /// Whether a control character of two or three bytes begins at an offset.
  private static func begins(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> Bool {
    let second = at + 1 < bytes.count ? bytes[at + 1] : 0
    let third = at + 2 < bytes.count ? bytes[at + 2] : 0
    switch (bytes[at], second, third) {
    case (0xC2, 0x80..<0xA0, _): return true  // U+0080 to U+009F
    case (0xD8, 0x9C, _): return true  // U+061C
    case (0xE2, 0x80, 0x8E...0x8F): return true  // U+200E, U+200F
    case (0xE2, 0x80, 0xA8...0xAE): return true  // U+2028 to U+202E
    case (0xE2, 0x81, 0xA6...0xA9): return true  // U+2066 to U+2069
    default: return false
    }
  }
}
