// Sets of small integers, a bit for each.

/// A set of small integers, one bit each.
package struct BitSet: Hashable, Sendable {
  /// The words of 64 members each, the lowest member in the lowest bit.
  package private(set) var words: [UInt64] = []

  /// Creates an empty set.
  init() {}

  /// Creates the set with these words.
  init(words: [UInt64]) { self.words = words }

  /// The number of members. O(words).
  package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// Whether a number is a member.
  package func contains(_ member: Int) -> Bool {
    member >> 6 < words.count && words[member >> 6] & (1 << UInt64(member & 63)) != 0
  }

  /// Adds a number.
  /// - Returns: True if it was not a member.
  @discardableResult
  package mutating func insert(_ member: Int) -> Bool {
    while words.count <= member >> 6 { words.append(0) }
    let bit: UInt64 = 1 << UInt64(member & 63)
    defer { words[member >> 6] |= bit }
    return words[member >> 6] & bit == 0
  }

  /// Adds a range of numbers. O(words).
  mutating func set(_ members: Range<Int>) {
    if members.isEmpty { return }
    let count = (members.upperBound + 63) >> 6
    if words.count < count { words += [UInt64](repeating: 0, count: count - words.count) }
    for index in members.lowerBound >> 6..<count {
      var word = UInt64.max
      if index == members.lowerBound >> 6 { word &= .max << UInt64(members.lowerBound & 63) }
      if index == count - 1, members.upperBound & 63 != 0 {
        word &= ~(.max << UInt64(members.upperBound & 63))
      }
      words[index] |= word
    }
  }

  /// Removes every number from one on. O(words).
  mutating func removeAll(from member: Int) {
    let count = (member + 63) >> 6
    if words.count > count { words.removeLast(words.count - count) }
    if words.count == count, member & 63 != 0 { words[count - 1] &= ~(.max << UInt64(member & 63)) }
  }

  /// Removes a number.
  /// - Returns: True if it was a member.
  @discardableResult
  package mutating func remove(_ member: Int) -> Bool {
    guard contains(member) else { return false }
    words[member >> 6] &= ~(1 << UInt64(member & 63))
    return true
  }

  /// The lowest member at or above a number. O(words scanned).
  func first(from member: Int) -> Int? { first(from: member, except: BitSet()) }

  /// The lowest member at or above a number that is no member of another set. O(words scanned).
  func first(from member: Int, except excluded: BitSet) -> Int? {
    var index = member >> 6
    guard index < words.count else { return nil }
    func word(_ index: Int) -> UInt64 {
      index < excluded.words.count ? words[index] & ~excluded.words[index] : words[index]
    }
    var rest = word(index) & (.max << UInt64(member & 63))
    while rest == 0 {
      index += 1
      if index == words.count { return nil }
      rest = word(index)
    }
    return index * 64 + rest.trailingZeroBitCount
  }

  /// The lowest member at or above a number in the number's word; nil for 0. O(1).
  func first(inWordFrom member: Int) -> Int? {
    let index = member >> 6
    guard member > 0, index < words.count else { return nil }
    let rest = words[index] & (.max << UInt64(member & 63))
    return rest == 0 ? nil : index * 64 + rest.trailingZeroBitCount
  }

  /// The members of either set. O(words).
  func union(_ other: BitSet) -> BitSet {
    let (short, long) =
      words.count < other.words.count ? (words, other.words) : (other.words, words)
    var union = long
    for (index, word) in short.enumerated() { union[index] |= word }
    return BitSet(words: union)
  }
}

/// A set of small integers with its size, which takes O(1) to read.
struct CountedBitSet: Sendable {
  private(set) var bits: BitSet
  private(set) var count: Int

  /// Creates the set of these members. O(words).
  init(_ bits: BitSet = BitSet()) {
    self.bits = bits
    count = bits.count
  }

  func contains(_ member: Int) -> Bool { bits.contains(member) }

  /// Adds a number.
  /// - Returns: True if it was not a member.
  @discardableResult
  mutating func insert(_ member: Int) -> Bool {
    guard bits.insert(member) else { return false }
    count += 1
    return true
  }

  /// Removes a number.
  /// - Returns: True if it was a member.
  @discardableResult
  mutating func remove(_ member: Int) -> Bool {
    guard bits.remove(member) else { return false }
    count -= 1
    return true
  }
}
