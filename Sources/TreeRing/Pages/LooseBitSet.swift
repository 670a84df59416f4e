// The free page numbers, with the words of which most are free.

/// A set of small integers that knows its *loose* words: those of which at least three quarters are
/// members.
struct LooseBitSet: Sendable {
  private var members: CountedBitSet
  /// The number of loose words.
  private(set) var looseWordCount: Int
  private static let looseCount = 48

  /// Creates the set of these members. O(words).
  init(_ bits: BitSet = BitSet()) {
    members = CountedBitSet(bits)
    looseWordCount = bits.words.count { $0.nonzeroBitCount >= Self.looseCount }
  }

  var bits: BitSet { members.bits }
  var count: Int { members.count }

  func contains(_ member: Int) -> Bool { members.contains(member) }

  /// Whether a word is loose.
  func isLoose(word: Int) -> Bool {
    word < members.bits.words.count && members.bits.words[word].nonzeroBitCount >= Self.looseCount
  }

  /// The next loose word from one on, from the first again after the last. O(words scanned).
  func looseWord(from start: Int, except excluded: Int?) -> Int? {
    let count = members.bits.words.count
    let start = start < count ? start : 0
    let isFit = { (word: Int) in word != excluded && isLoose(word: word) }
    return (start..<count).first(where: isFit) ?? (0..<start).first(where: isFit)
  }

  /// Adds a number.
  mutating func insert(_ member: Int) {
    guard members.insert(member) else { return }
    if members.bits.words[member >> 6].nonzeroBitCount == Self.looseCount { looseWordCount += 1 }
  }

  /// Removes a number.
  mutating func remove(_ member: Int) {
    guard members.remove(member) else { return }
    if members.bits.words[member >> 6].nonzeroBitCount == Self.looseCount - 1 {
      looseWordCount -= 1
    }
  }
}
