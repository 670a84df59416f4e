// Cuts a text into terms. Its result is a function of the text's bytes, the version and the stemmer
// alone, because replay, followers and other systems must find the same terms.
//
//   word     letters, digits and their marks, folded (UnicodeTables.swift), then stemmed
//   single   one character of Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese or Yi
//
// Positions count the terms of a field from 0. Between two singles that do not follow each other
// directly a position is left out, so that a phrase of singles is found as a substring only.
// A term is cut at 96 bytes, at the bound of a scalar. Bytes that are not UTF-8 separate words.

internal import TreeRingLog

/// The rule that cuts texts into terms.
struct TextTokenizer: Hashable, Sendable {
  /// The version of the rule, which every definition states. Another rule is another version.
  static let version: UInt32 = 1
  /// The maximum length of a term, in bytes.
  static let termByteCount = 96

  /// The stemmer applied to words; nil if words stay as they are.
  var stemmer: TextStemmer?

  /// A term in a text.
  struct Token {
    /// The folded and stemmed bytes, valid during the call only.
    var term: UnsafeRawBufferPointer
    /// The number of the position in the field.
    var position: Int
    /// The bytes of the text that it stands for.
    var range: Range<Int>
  }

  /// Calls `body` with the terms of a text in order. O(bytes).
  ///
  /// - Parameters:
  ///   - text: UTF-8.
  ///   - first: The position of the first term.
  /// - Returns: The position after the last term.
  @inline(__always)
  func forEach(
    in text: UnsafeRawBufferPointer, from first: Int = 0, _ body: (Token) -> Void
  ) -> Int {
    withUnsafeTemporaryAllocation(byteCount: Self.termByteCount + 8, alignment: 8) { buffer in
      asciiKinds.withUnsafeBufferPointer { kinds in
        var scan = TokenScan(
          text: text, term: buffer, position: first, stemmer: stemmer.map { LanguageStemmer($0) })
        var at = 0
        while at < text.count {
          let kind = kinds[Int(text[at])]
          if kind == 0 {
            if scan.kind != .none { finish(&scan, body) }
            scan.isAdjacent = false
            at &+= 1
          } else if kind < 0x80 {
            if scan.kind != .word {
              if scan.kind == .single { finish(&scan, body) }
              scan.begin(.word, at: at)
            }
            at = scan.takeLetters(of: text, at: at, kinds)
          } else {
            at = takeScalar(of: text, at: at, &scan, body)
          }
        }
        if scan.kind != .none { finish(&scan, body) }
        return scan.position
      }
    }
  }

  /// Passes the current term to `body`.
  @inline(__always)
  private func finish(_ scan: inout TokenScan, _ body: (Token) -> Void) {
    if scan.kind == .word { scan.stem() }
    body(
      Token(
        term: UnsafeRawBufferPointer(rebasing: scan.term[..<scan.count]), position: scan.position,
        range: scan.start..<scan.end))
    scan.finish()
  }

  /// Takes the scalar at an offset, which is not ASCII.
  /// - Returns: The offset after it.
  @inline(never)
  private func takeScalar(
    of text: UnsafeRawBufferPointer, at offset: Int, _ scan: inout TokenScan,
    _ body: (Token) -> Void
  ) -> Int {
    let (scalar, length) = UTF8Scalar.decode(text, at: offset)
    let tables = UnicodeTables.shared
    let end = offset + length
    guard let scalar else {
      if scan.kind != .none { finish(&scan, body) }
      scan.isAdjacent = false
      return end
    }
    let outer = tables.class(of: scalar)
    if outer == .separator || outer == .ignored {
      if outer == .ignored {
        if scan.kind != .none { scan.end = end }
      } else {
        if scan.kind != .none { finish(&scan, body) }
        scan.isAdjacent = false
      }
      return end
    }
    tables.forEachFolded(of: scalar) { part in
      switch tables.class(of: part) {
      case .separator:
        if scan.kind != .none { finish(&scan, body) }
        scan.isAdjacent = false
        return
      case .ignored: return
      case .word:
        if scan.kind == .single { finish(&scan, body) }
        if scan.kind == .none { scan.begin(.word, at: offset) }
      case .single:
        if scan.kind != .none { finish(&scan, body) }
        scan.begin(.single, at: offset)
      case .attached:
        if scan.kind == .none { scan.begin(.single, at: offset) }
      }
      scan.append(scalar: part)
      scan.end = end
    }
    return end
  }
}

/// The state of a scan over a text.
private struct TokenScan {
  enum Kind: UInt8 { case none, word, single }

  let text: UnsafeRawBufferPointer
  let term: UnsafeMutableRawBufferPointer
  let stemmer: LanguageStemmer?
  var count = 0
  var kind = Kind.none
  /// The position of the current term, or of the next one.
  var position: Int
  var start = 0
  var end = 0
  /// Whether no separator came since the last term.
  var isAdjacent = true
  private var wasSingle = false

  init(
    text: UnsafeRawBufferPointer, term: UnsafeMutableRawBufferPointer, position: Int,
    stemmer: LanguageStemmer?
  ) {
    (self.text, self.term, self.position, self.stemmer) = (text, term, position, stemmer)
  }

  /// Reduces the term, a word, to its stem.
  @inline(__always)
  mutating func stem() {
    guard let stemmer else { return }
    let word = UnsafeRawBufferPointer(rebasing: text[start..<end])
    count = stemmer.stem(word, term: term, count: count)
  }

  @inline(__always)
  mutating func begin(_ kind: Kind, at offset: Int) {
    if kind == .single, wasSingle, !isAdjacent { position &+= 1 }
    self.kind = kind
    start = offset
    count = 0
  }

  @inline(__always)
  mutating func finish() {
    wasSingle = kind == .single
    kind = .none
    position &+= 1
    isAdjacent = true
  }

  /// Appends the letters and digits of ASCII from an offset on, as far as the term has room.
  /// - Returns: The offset after them.
  @inline(__always)
  mutating func takeLetters(
    of text: UnsafeRawBufferPointer, at offset: Int, _ kinds: UnsafeBufferPointer<UInt8>
  ) -> Int {
    var (at, count) = (offset, count)
    while at < text.count {
      let kind = kinds[Int(text[at])]
      // Neither 0 nor 0x80.
      if kind &- 1 >= 0x7F { break }
      if count < TextTokenizer.termByteCount {
        term[count] = kind
        count &+= 1
      }
      at &+= 1
    }
    self.count = count
    end = at
    return at
  }

  /// Appends a scalar, unless it does not fit.
  mutating func append(scalar: UInt32) {
    count += UTF8Scalar.encode(
      scalar, into: term, at: count, limit: TextTokenizer.termByteCount)
  }
}

/// For each byte: 0 for a separator, the folded byte for a letter or a digit, 0x80 for a byte of
/// another scalar.
private let asciiKinds: [UInt8] = (0...255).map { (byte: Int) -> UInt8 in
  switch UInt8(byte) {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"):
    UInt8(byte)
  case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt8(byte) + 32
  case 0x80...0xFF: 0x80
  default: 0
  }
}

/// Scalars as UTF-8.
enum UTF8Scalar {
  /// The scalar at an offset, and its length; nil and 1 for a byte that begins none.
  static func decode(
    _ text: UnsafeRawBufferPointer, at offset: Int
  ) -> (scalar: UInt32?, byteCount: Int) {
    let first = UInt32(text[offset])
    if first < 0x80 { return (first, 1) }
    let count = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0
    guard count > 0, count <= text.count - offset else { return (nil, 1) }
    var scalar = first & (0x7F >> UInt32(count))
    for index in 1..<count {
      let next = UInt32(text[offset + index])
      guard next & 0xC0 == 0x80 else { return (nil, 1) }
      scalar = scalar << 6 | next & 0x3F
    }
    let least: UInt32 = count == 2 ? 0x80 : count == 3 ? 0x800 : 0x10000
    guard scalar >= least, scalar <= 0x10FFFF, !(0xD800...0xDFFF).contains(scalar) else {
      return (nil, 1)
    }
    return (scalar, count)
  }

  /// Writes a scalar; returns its length, or 0 if it would end beyond the limit.
  static func encode(
    _ scalar: UInt32, into bytes: UnsafeMutableRawBufferPointer, at offset: Int, limit: Int
  ) -> Int {
    let count = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
    guard offset + count <= limit else { return 0 }
    if count == 1 {
      bytes[offset] = UInt8(scalar)
      return 1
    }
    var rest = scalar
    for index in (1..<count).reversed() {
      bytes[offset + index] = UInt8(0x80 | rest & 0x3F)
      rest >>= 6
    }
    bytes[offset] = UInt8((0xF00 >> UInt32(count)) & 0xFF | rest)
    return count
  }
}
