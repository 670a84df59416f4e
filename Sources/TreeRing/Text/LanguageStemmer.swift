// Stems of libstemmer, which CStemmer contains in one version, so that the same words have the same
// stems on every system.
//
// Its algorithms tell “ä” from “a”. So a word is stemmed as it is written, in lower case and with
// its marks joined to their letters; the stem is folded like any other term. English is stemmed
// when folded, since it has no such letters.

internal import CStemmer

/// The stemmer of a language, for one thread.
final class LanguageStemmer {
  private let language: TextStemmer
  private let stemmer: OpaquePointer

  init(_ language: TextStemmer) {
    guard let stemmer = treering_sb_stemmer_new(language.rawValue, "UTF_8") else {
      preconditionFailure("no memory for the stemmer of \(language)")
    }
    (self.language, self.stemmer) = (language, stemmer)
  }

  deinit { treering_sb_stemmer_delete(stemmer) }

  /// Reduces a term to the folded stem of its word. A word stays whole if it is longer than a term,
  /// or has other letters than those of the languages. O(length).
  ///
  /// - Parameters:
  ///   - word: The word in the text, UTF-8.
  ///   - term: The folded word; takes the stem. At least `TextTokenizer.termByteCount` bytes.
  ///   - count: The length of the folded word.
  /// - Returns: The length of the stem.
  func stem(
    _ word: UnsafeRawBufferPointer, term: UnsafeMutableRawBufferPointer, count: Int
  ) -> Int {
    if language == .english {
      let folded = UnsafeRawBufferPointer(rebasing: term[..<count])
      return folded.contains { $0 >= 0x80 } ? count : fold(stem(of: folded), into: term)
    }
    return withUnsafeTemporaryAllocation(byteCount: TextTokenizer.termByteCount, alignment: 1) {
      guard let length = Self.lowercase(word, into: $0) else { return count }
      return fold(stem(of: UnsafeRawBufferPointer(rebasing: $0[..<length])), into: term)
    }
  }

  /// The stem of a word, valid until the next one.
  private func stem(of word: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard
      let stem = treering_sb_stemmer_stem(
        stemmer, word.bindMemory(to: UInt8.self).baseAddress, CInt(word.count))
    else {
      preconditionFailure("no memory for a stem of \(language)")
    }
    return UnsafeRawBufferPointer(start: stem, count: Int(treering_sb_stemmer_length(stemmer)))
  }

  /// Writes a word in lower case, with its marks joined to their letters.
  /// - Returns: The length; nil if the word is too long, or one of its letters is of no language.
  private static func lowercase(
    _ word: UnsafeRawBufferPointer, into lower: UnsafeMutableRawBufferPointer
  ) -> Int? {
    let limit = min(lower.count, TextTokenizer.termByteCount)
    var (at, count) = (0, 0)
    // The last letter and its place, for a mark that follows.
    var last: (scalar: UInt32, start: Int)?
    while at < word.count {
      let (decoded, length) = UTF8Scalar.decode(word, at: at)
      guard let scalar = decoded else { return nil }
      at += length
      var letter = LanguageLetters.lowercase(scalar)
      if letter == nil, UnicodeTables.shared.class(of: scalar) == .ignored {
        guard let base = last, let joined = LanguageLetters.join(base.scalar, scalar) else {
          continue
        }
        (letter, count) = (joined, base.start)
      }
      guard let letter else { return nil }
      let size = UTF8Scalar.encode(letter, into: lower, at: count, limit: limit)
      if size == 0 { return nil }
      last = (letter, count)
      count += size
    }
    return count
  }

  /// Writes the folded form of a stem; returns its length.
  private func fold(
    _ stem: UnsafeRawBufferPointer, into term: UnsafeMutableRawBufferPointer
  ) -> Int {
    var (at, count) = (0, 0)
    while at < stem.count {
      let (scalar, length) = UTF8Scalar.decode(stem, at: at)
      at += length
      guard let scalar else { continue }
      UnicodeTables.shared.forEachFolded(of: scalar) { part in
        count += UTF8Scalar.encode(
          part, into: term, at: count, limit: TextTokenizer.termByteCount)
      }
    }
    return count
  }
}

/// The letters of the languages that libstemmer stems here. Fixed, since the tables of a system or
/// of a runtime library may change.
enum LanguageLetters {
  /// A letter or digit in lower case, as the algorithms expect it; nil for another scalar.
  static func lowercase(_ scalar: UInt32) -> UInt32? {
    switch scalar {
    case 0x30...0x39, 0x61...0x7A: scalar
    case 0x41...0x5A: scalar + 0x20
    case 0xD7, 0xF7: nil
    case 0xC0...0xDE: scalar + 0x20
    case 0xDF...0xFF: scalar
    case 0x130: 0x69
    case 0x138: scalar
    case 0x178: 0xFF
    case 0x17F: 0x73
    case 0x139...0x148, 0x179...0x17E: scalar + scalar % 2
    case 0x100...0x177: scalar | 1
    // Romanian letters with a comma below are written with a cedilla.
    case 0x218, 0x219: 0x15F
    case 0x21A, 0x21B: 0x163
    case 0x400...0x40F: scalar + 0x50
    case 0x410...0x42F: scalar + 0x20
    case 0x430...0x45F: scalar
    default: nil
    }
  }

  /// The letter that a lower-case letter and a mark after it make; nil if the mark is left out.
  static func join(_ letter: UInt32, _ mark: UInt32) -> UInt32? {
    joined[UInt64(letter) << 32 | UInt64(mark)]
  }

  private static let joined: [UInt64: UInt32] = {
    let letters: [(mark: UInt32, bases: String, joined: String)] = [
      (0x300, "aeiou", "àèìòù"), (0x301, "aeiouy", "áéíóúý"), (0x302, "aeiou", "âêîôû"),
      (0x303, "ano", "ãñõ"), (0x306, "aи", "ăй"), (0x308, "aeiouyе", "äëïöüÿё"),
      (0x30A, "a", "å"), (0x30B, "ou", "őű"), (0x30C, "sz", "šž"),
      (0x326, "st", "şţ"), (0x327, "cst", "çşţ"),
    ]
    var table: [UInt64: UInt32] = [:]
    for (mark, bases, joined) in letters {
      for (base, letter) in zip(bases.unicodeScalars, joined.unicodeScalars) {
        table[UInt64(base.value) << 32 | UInt64(mark)] = letter.value
      }
    }
    return table
  }()
}
