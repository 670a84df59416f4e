// The name of a child. Keys that differ in one byte are different children, although Swift's texts
// are equal if they only look the same.
//
// The order of keys: those that are 32-bit integers first, by number, then by length; then all
// others by UTF-16 code units, as Firebase's SDKs for JavaScript, Java and Apple systems compare
// texts.

/// The key of a child: up to 768 bytes of UTF-8 without `. $ # [ ] /` and control characters.
public struct FirebaseKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The key's text.
  public let text: String

  /// The greatest length of a key, in bytes.
  package static let largestByteCount = 768

  /// A key of a text.
  /// - Throws: `invalidInput` if Firebase allows no such key.
  public init(_ text: some StringProtocol) throws(FirebaseError) {
    self.text = String(text)
    guard Self.isValid(text.utf8) else {
      throw FirebaseError(
        .invalidInput,
        "“\(text)” cannot be a key: a key has 1 to \(Self.largestByteCount) bytes and none of "
          + ". $ # [ ] / and control characters.")
    }
  }

  /// A key of an array's element.
  package init(index: Int) { text = String(index) }

  private static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
    if bytes.isEmpty || bytes.count > largestByteCount { return false }
    return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !".$#[]/".utf8.contains($0) }
  }

  public var description: String { text }

  /// The number that orders the key before all others: an optional minus, zeros, and up to ten
  /// digits that fit 32 bits.
  package var integer: Int32? {
    let digits = text.hasPrefix("-") ? text.utf8.dropFirst() : text.utf8[...]
    guard let last = digits.last, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    let significant = digits.dropLast().drop { $0 == 0x30 } + [last]
    if significant.count > 10 { return nil }
    let number = significant.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
    return Int32(exactly: text.hasPrefix("-") ? -number : number)
  }

  /// The number of an array's element: digits without a leading zero.
  var arrayIndex: Int? {
    guard let integer, integer >= 0, String(integer).utf8.elementsEqual(text.utf8) else {
      return nil
    }
    return Int(integer)
  }

  public static func == (a: FirebaseKey, b: FirebaseKey) -> Bool {
    a.text.utf8.elementsEqual(b.text.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// The order of keys in Firebase.
  public static func < (a: FirebaseKey, b: FirebaseKey) -> Bool {
    switch (a.integer, b.integer) {
    case (let x?, let y?):
      if x != y { return x < y }
      let (first, second) = (a.text.utf8, b.text.utf8)
      if first.count != second.count { return first.count < second.count }
      return first.lexicographicallyPrecedes(second)
    case (_?, nil): return true
    case (nil, _?): return false
    case (nil, nil): return a.text.utf16.lexicographicallyPrecedes(b.text.utf16)
    }
  }
}
