// The classes and folded forms of Unicode's scalars, for the tokenizer. The tables belong to the
// engine, not to the system: two systems with other editions of Unicode cut a text into the same
// words. Tools/unicode-tables writes them, and states their rules.
//
// Folding takes letters apart (NFKD), removes case and removes diacritics. The folded form of a
// folded form is itself. Syllables of Hangul are taken apart by a formula.

internal import TreeRingLog

/// The tables of version 1 of the tokenizer.
final class UnicodeTables: Sendable {
  /// The part of a scalar in a text.
  enum Class: UInt8 {
    /// It ends a word.
    case separator
    /// It is a part of a word.
    case word
    /// It is left out; the word around it goes on.
    case ignored
    /// A character of a script without spaces between words: a word of its own.
    case single
    /// A mark that belongs to the character before it.
    case attached
  }

  static let shared = UnicodeTables()

  /// The scalars at which another class begins, and that class.
  private let starts: [UInt32]
  private let classes: [Class]
  /// The scalars whose folded form differs, ascending, and the ends of these forms in `forms`.
  private let folded: [UInt32]
  private let ends: [UInt32]
  private let forms: [UInt32]
  /// For each scalar below `lowCount`: its class, and its position in `folded` plus one, or 0.
  private let low: [(class: Class, fold: UInt16)]
  private static let lowCount: UInt32 = 0x3000

  private init() {
    var starts: [UInt32] = [0]
    var classes: [Class] = [.separator]
    var reader = TableReader(Self.classData)
    while !reader.isAtEnd {
      let step = reader.integer()
      guard let found = Class(rawValue: UInt8(step % 5)), let last = starts.last else { break }
      starts.append(last + UInt32(step / 5))
      classes.append(found)
    }
    var folded: [UInt32] = []
    var ends: [UInt32] = []
    var forms: [UInt32] = []
    reader = TableReader(Self.foldData)
    var scalar = 0
    while !reader.isAtEnd {
      let head = reader.integer()
      scalar += head >> 1
      var (count, step, growth, length) = (1, 1, 0, 1)
      if head & 1 != 0 {
        let run = reader.integer()
        (count, step) = (run >> 2 + 1, run >> 1 & 1 + 1)
        growth = run & 1 == 0 ? 0 : step
        length = reader.integer()
      }
      var form: [Int] = []
      for _ in 0..<length { form.append((form.last ?? scalar) + reader.signed()) }
      for index in 0..<count {
        folded.append(UInt32(scalar + index * step))
        forms += form.map { UInt32($0 + index * growth) }
        ends.append(UInt32(forms.count))
      }
    }
    (self.starts, self.classes) = (starts, classes)
    (self.folded, self.ends, self.forms) = (folded, ends, forms)
    var low = [(class: Class, fold: UInt16)](repeating: (.separator, 0), count: Int(Self.lowCount))
    for (index, start) in starts.enumerated() where start < Self.lowCount {
      let end = index + 1 < starts.count ? min(starts[index + 1], Self.lowCount) : Self.lowCount
      for scalar in start..<end { low[Int(scalar)].class = classes[index] }
    }
    for (index, scalar) in folded.enumerated() where scalar < Self.lowCount {
      low[Int(scalar)].fold = UInt16(index + 1)
    }
    self.low = low
  }

  /// The class of a scalar. O(1) below U+3000, else O(log classes).
  func `class`(of scalar: UInt32) -> Class {
    if scalar < Self.lowCount { return low[Int(scalar)].class }
    // The greater part of Chinese, and the syllables of Korean.
    if scalar >= 0x4E00, scalar <= 0x9FFF || scalar >= 0xAC00 && scalar <= 0xD7A3 {
      return .single
    }
    return classes[starts.partitioningIndex { $0 > scalar } - 1]
  }

  /// Calls `body` with the scalars of the folded form of a scalar.
  @inline(__always)
  func forEachFolded(of scalar: UInt32, _ body: (UInt32) -> Void) {
    var position: Int
    if scalar < Self.lowCount {
      position = Int(low[Int(scalar)].fold) - 1
      if position < 0 { return body(scalar) }
    } else if scalar >= 0x3400, scalar <= 0x9FFF {
      return body(scalar)
    } else if scalar >= Hangul.first, scalar <= Hangul.last {
      return Hangul.forEachPart(of: scalar, body)
    } else {
      position = folded.partitioningIndex { $0 >= scalar }
      if position == folded.count || folded[position] != scalar { return body(scalar) }
    }
    let start = position == 0 ? 0 : Int(ends[position - 1])
    for index in start..<Int(ends[position]) { body(forms[index]) }
  }
}

/// The syllables of Hangul, which Unicode takes apart by a formula.
private enum Hangul {
  static let first: UInt32 = 0xAC00
  static let last: UInt32 = 0xD7A3

  /// Calls `body` with the leading consonant, the vowel and the trailing consonant, if any.
  static func forEachPart(of scalar: UInt32, _ body: (UInt32) -> Void) {
    let index = scalar - first
    body(0x1100 + index / 588)
    body(0x1161 + index % 588 / 28)
    if index % 28 != 0 { body(0x11A7 + index % 28) }
  }
}

/// Reads integers from base64 text.
private struct TableReader {
  private var bytes: [UInt8] = []
  private var position = 0

  init(_ text: StaticString) {
    var (bits, count): (UInt32, UInt32) = (0, 0)
    for character in UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount) {
      let value: UInt8
      switch character {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - 65
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - 71
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character + 4
      case UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "/"): value = 63
      default: continue
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
  }

  var isAtEnd: Bool { position >= bytes.count }

  /// The next LEB128 integer.
  mutating func integer() -> Int {
    var (result, shift) = (0, 0)
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      result |= Int(byte & 0x7F) << shift
      if byte < 0x80 { break }
      shift += 7
    }
    return result
  }

  /// The next integer with a sign in its lowest bit.
  mutating func signed() -> Int {
    let value = integer()
    return value & 1 == 0 ? value >> 1 : -(value >> 1) - 1
  }
}
