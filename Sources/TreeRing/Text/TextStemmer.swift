// Reduces words to their stems. The rules are part of an index's definition: the same words have
// the same stems on every system, whatever libraries are installed there. So they are written out
// here.

/// A language whose words a text index reduces to their stems.
public enum TextStemmer: String, Hashable, Sendable, CaseIterable {
  /// English, by Porter's second algorithm (“Porter2”): `connection` and `connected` have the stem
  /// `connect`.
  case english

  /// Reduces a folded word in place; returns the length of its stem. O(length).
  func stem(_ word: UnsafeMutableRawBufferPointer, count: Int) -> Int {
    switch self {
    case .english: EnglishStem.stem(word, count: count)
    }
  }
}

/// The algorithm as its author published it (snowballstem.org, “The English (Porter2) stemming
/// algorithm”). Words have no apostrophes here, so it lacks the step that removes them.
///
/// - R1: the part after the first non-vowel that follows a vowel
/// - R2: the same part of R1
///
/// A `y` that is a consonant is `Y` during the steps. A suffix in a step is the longest that the
/// word ends in; if its condition does not hold, the step does nothing.
private struct EnglishStem {
  private let word: UnsafeMutableRawBufferPointer
  private var count: Int
  private var first = 0
  private var second = 0

  static func stem(_ word: UnsafeMutableRawBufferPointer, count: Int) -> Int {
    if count < 3 { return count }
    for index in 0..<count where word[index] >= 0x80 { return count }
    var stem = EnglishStem(word: word, count: count)
    if let known = stem.exception() { return known }
    stem.run()
    return stem.count
  }

  private init(word: UnsafeMutableRawBufferPointer, count: Int) {
    (self.word, self.count) = (word, count)
  }

  private mutating func run() {
    markConsonants()
    findRegions()
    removePlural()
    if !isInvariant() {
      removeParticiple()
      if count > 2, last == y || last == consonantY, !isVowel(count - 2) { word[count - 1] = i }
      replace(Self.second, from: first)
      replace(Self.third, from: first)
      removeFourth()
      removeEnd()
    }
    for index in 0..<count where word[index] == consonantY { word[index] = y }
  }

  // MARK: Words that the rules do not fit

  /// The length of the stem of an exceptional word; nil for all others.
  private mutating func exception() -> Int? {
    for (form, stem) in Self.exceptions where isWord(form) {
      count = 0
      append(stem)
      return count
    }
    return nil
  }

  private func isInvariant() -> Bool { Self.invariant.contains { isWord($0) } }

  private func isWord(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && ends(text)
  }

  // MARK: Letters and regions

  private let y = UInt8(ascii: "y")
  private let i = UInt8(ascii: "i")
  private let consonantY = UInt8(ascii: "Y")

  private var last: UInt8 { word[count - 1] }

  private func isVowel(_ index: Int) -> Bool {
    switch word[index] {
    case UInt8(ascii: "a"), UInt8(ascii: "e"), UInt8(ascii: "i"), UInt8(ascii: "o"),
      UInt8(ascii: "u"), UInt8(ascii: "y"):
      true
    default: false
    }
  }

  private func markConsonants() {
    for index in 0..<count where word[index] == y {
      if index == 0 || isVowel(index - 1) { word[index] = consonantY }
    }
  }

  private mutating func findRegions() {
    first = region(after: 0)
    for prefix: StaticString in ["gener", "commun", "arsen"] where starts(prefix) {
      first = prefix.utf8CodeUnitCount
    }
    second = region(after: first)
  }

  private func region(after start: Int) -> Int {
    var index = start
    while index < count, !isVowel(index) { index += 1 }
    while index < count, isVowel(index) { index += 1 }
    return min(index + 1, count)
  }

  /// Whether a part of the word, from its start, ends in a short syllable.
  private func endsShort(at end: Int) -> Bool {
    if end == 2 { return isVowel(0) && !isVowel(1) }
    guard end > 2, !isVowel(end - 3), isVowel(end - 2), !isVowel(end - 1) else { return false }
    let letter = word[end - 1]
    return letter != UInt8(ascii: "w") && letter != UInt8(ascii: "x") && letter != consonantY
  }

  private func hasVowel(before end: Int) -> Bool { (0..<max(0, end)).contains { isVowel($0) } }

  // MARK: Suffixes

  private func starts(_ text: StaticString) -> Bool {
    text.utf8CodeUnitCount <= count && memcmp(text, at: 0)
  }

  private func ends(_ text: StaticString) -> Bool {
    text.utf8CodeUnitCount <= count && memcmp(text, at: count - text.utf8CodeUnitCount)
  }

  private func memcmp(_ text: StaticString, at offset: Int) -> Bool {
    for index in 0..<text.utf8CodeUnitCount where word[offset + index] != text.utf8Start[index] {
      return false
    }
    return true
  }

  private mutating func append(_ text: StaticString) {
    for index in 0..<text.utf8CodeUnitCount { word[count + index] = text.utf8Start[index] }
    count += text.utf8CodeUnitCount
  }

  /// The longest of the suffixes that the word ends in.
  private func suffix(_ suffixes: [StaticString]) -> StaticString? {
    suffixes.first { ends($0) }
  }

  /// Replaces the longest suffix, if it begins in a region.
  private mutating func replace(_ rules: [Rule], from region: Int) {
    guard let rule = rules.first(where: { ends($0.suffix) }) else { return }
    let start = count - rule.suffix.utf8CodeUnitCount
    guard start >= region else { return }
    switch rule.condition {
    case .always: break
    case .inSecond: if start < second { return }
    case .afterL: if start == 0 || word[start - 1] != UInt8(ascii: "l") { return }
    case .afterLiEnding:
      guard start > 0, "cdeghkmnrt".utf8.contains(word[start - 1]) else { return }
    }
    count = start
    append(rule.replacement)
  }

  // MARK: Steps

  private mutating func removePlural() {
    guard let suffix = suffix(["sses", "ied", "ies", "us", "ss", "s"]) else { return }
    switch suffix.utf8CodeUnitCount {
    case 4: count -= 2
    case 3: count -= count > 4 ? 2 : 1
    case 2: break
    default: if hasVowel(before: count - 2) { count -= 1 }
    }
  }

  private mutating func removeParticiple() {
    guard let suffix = suffix(["eedly", "ingly", "edly", "eed", "ing", "ed"]) else { return }
    let start = count - suffix.utf8CodeUnitCount
    if suffix.utf8Start[1] == UInt8(ascii: "e") {
      if start >= first { count = start + 2 }
      return
    }
    guard hasVowel(before: start) else { return }
    count = start
    if ends("at") || ends("bl") || ends("iz") { return append("e") }
    if count > 1, word[count - 1] == word[count - 2], "bdfgmnprt".utf8.contains(last) {
      count -= 1
    } else if first >= count, endsShort(at: count) {
      append("e")
    }
  }

  private mutating func removeFourth() {
    guard let suffix = suffix(Self.fourth) else { return }
    let start = count - suffix.utf8CodeUnitCount
    guard start >= second else { return }
    if ends("ion"), suffix.utf8CodeUnitCount == 3 {
      guard start > 0, "st".utf8.contains(word[start - 1]) else { return }
    }
    count = start
  }

  private mutating func removeEnd() {
    let start = count - 1
    if start < 0 { return }
    if last == UInt8(ascii: "e") {
      if start >= second || start >= first && !endsShort(at: start) { count = start }
    } else if last == UInt8(ascii: "l"), start >= second, start > 0,
      word[start - 1] == UInt8(ascii: "l")
    {
      count = start
    }
  }

  // MARK: Rules, the longest suffix first

  private struct Rule {
    enum Condition { case always, inSecond, afterL, afterLiEnding }
    var suffix: StaticString
    var replacement: StaticString
    var condition = Condition.always

    init(_ suffix: StaticString, _ replacement: StaticString, _ condition: Condition = .always) {
      (self.suffix, self.replacement, self.condition) = (suffix, replacement, condition)
    }
  }

  private static let second: [Rule] = [
    Rule("ational", "ate"), Rule("fulness", "ful"), Rule("iveness", "ive"),
    Rule("ization", "ize"), Rule("ousness", "ous"), Rule("biliti", "ble"),
    Rule("lessli", "less"), Rule("tional", "tion"), Rule("alism", "al"), Rule("aliti", "al"),
    Rule("ation", "ate"), Rule("entli", "ent"), Rule("fulli", "ful"), Rule("iviti", "ive"),
    Rule("ousli", "ous"), Rule("abli", "able"), Rule("alli", "al"), Rule("anci", "ance"),
    Rule("ator", "ate"), Rule("enci", "ence"), Rule("izer", "ize"), Rule("bli", "ble"),
    Rule("ogi", "og", .afterL), Rule("li", "", .afterLiEnding),
  ]
  private static let third: [Rule] = [
    Rule("ational", "ate"), Rule("tional", "tion"), Rule("alize", "al"),
    Rule("ative", "", .inSecond), Rule("icate", "ic"), Rule("iciti", "ic"), Rule("ical", "ic"),
    Rule("ness", ""), Rule("ful", ""),
  ]
  private static let fourth: [StaticString] = [
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti",
    "ive", "ize", "ous", "al", "er", "ic",
  ]
  private static let invariant: [StaticString] = [
    "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed",
  ]
  private static let exceptions: [(StaticString, StaticString)] = [
    ("skis", "ski"), ("skies", "sky"), ("dying", "die"), ("lying", "lie"), ("tying", "tie"),
    ("idly", "idl"), ("gently", "gentl"), ("ugly", "ugli"), ("early", "earli"),
    ("only", "onli"), ("singly", "singl"), ("sky", "sky"), ("news", "news"), ("howe", "howe"),
    ("atlas", "atlas"), ("cosmos", "cosmos"), ("bias", "bias"), ("andes", "andes"),
  ]
}
