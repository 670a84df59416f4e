// Which page numbers are in use. Free ones are given out in ascending order, round and round: pages that
// are made one after the other lie side by side in the file, and a checkpoint writes them in long runs.

/// The numbers of one range of pages.
package struct PageNumbers: Sendable {
  private let first: PageNumber
  /// One more than the highest number ever used.
  package private(set) var next: PageNumber
  /// Free numbers to be given out, counted from `first` - 1.
  private var available = CountedBitSet()
  /// Free numbers that are not given out for the time being.
  private var withheld = CountedBitSet()
  /// Those from here on may be given out after they have been inspected.
  private var inspected = 0
  /// Where the search for a free number goes on.
  private var cursor = 0

  /// Numbers from `next` on, none used.
  init(next: PageNumber) {
    first = next
    self.next = next
  }

  /// Numbers from 1 to `next` - 1, of which some are free. O(next / 64).
  /// - Parameter isWithholding: whether those are not given out before `release` or `releaseWithheld`.
  init(next: PageNumber, free: BitSet, isWithholding: Bool) {
    first = 1
    self.next = next
    if isWithholding { withheld = CountedBitSet(free) } else { available = CountedBitSet(free) }
  }

  /// From now on every free number is given out. O(next / 64).
  mutating func releaseWithheld() {
    available = CountedBitSet(free)
    withheld = CountedBitSet()
  }

  /// Whether there is a free number to be given out.
  var hasAvailable: Bool { available.count > 0 }

  /// The next withheld numbers side by side that have not been inspected; each is returned once.
  mutating func nextToInspect() -> Range<PageNumber>? {
    guard withheld.count > 0, let start = withheld.bits.first(from: inspected) else { return nil }
    var end = start + 1
    while end - start < Self.inspectionCount, withheld.contains(end) { end += 1 }
    inspected = end
    return PageNumber(start)..<PageNumber(end)
  }

  /// How many numbers are inspected together at most.
  private static let inspectionCount = 16

  /// From now on a withheld number is given out.
  mutating func release(_ number: PageNumber) {
    if withheld.remove(place(number)) { available.insert(place(number)) }
  }

  /// Bit n is set if number `first` - 1 + n is free.
  package var free: BitSet {
    withheld.count == 0 ? available.bits : available.bits.union(withheld.bits)
  }

  /// How many are in use.
  package var usedCount: Int { Int(next - first) - available.count - withheld.count }

  /// About how many bytes it takes to keep these numbers, and a word of the page table for each.
  var tableByteCount: Int { Int(next - first) * MemoryLayout<UInt>.stride }

  /// Whether a number is in use.
  func isUsed(_ number: PageNumber) -> Bool {
    number >= first && number < next && !available.contains(place(number))
      && !withheld.contains(place(number))
  }

  /// A number to use: the next free one above that given out last, else the lowest free one, else a new
  /// one. O(next / 64) at worst, O(1) if a number in so many is free.
  mutating func take() -> PageNumber {
    if available.count > 0 {
      let place = available.bits.first(from: cursor) ?? available.bits.first(from: 0)
      if let place {
        available.remove(place)
        cursor = place + 1
        return first - 1 + PageNumber(place)
      }
    }
    precondition(next != .max && next != PageTable.firstPrivateNumber - 1, "out of page numbers")
    defer { next += 1 }
    return next
  }

  /// Makes a number free. Amortised O(1).
  mutating func giveBack(_ number: PageNumber) {
    precondition(isUsed(number), "page \(number) is freed twice")
    available.insert(place(number))
  }

  private func place(_ number: PageNumber) -> Int { Int(number - first) + 1 }
}

/// A set of small integers, one bit each.
package struct BitSet: Hashable, Sendable {
  /// 64 members each, the lowest in the lowest bit.
  package private(set) var words: [UInt64] = []

  /// An empty set.
  package init() {}

  /// The set with these words.
  package init(words: [UInt64]) { self.words = words }

  /// How many members it has. O(words).
  package var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// Whether a number is in it.
  package func contains(_ member: Int) -> Bool {
    member >> 6 < words.count && words[member >> 6] & (1 << UInt64(member & 63)) != 0
  }

  /// Adds a number. Returns whether it was not there.
  @discardableResult
  package mutating func insert(_ member: Int) -> Bool {
    while words.count <= member >> 6 { words.append(0) }
    let bit: UInt64 = 1 << UInt64(member & 63)
    defer { words[member >> 6] |= bit }
    return words[member >> 6] & bit == 0
  }

  /// Takes a number out. Returns whether it was there.
  @discardableResult
  package mutating func remove(_ member: Int) -> Bool {
    guard contains(member) else { return false }
    words[member >> 6] &= ~(1 << UInt64(member & 63))
    return true
  }

  /// The lowest member at or above a number. O(words gone through).
  func first(from member: Int) -> Int? {
    var index = member >> 6
    guard index < words.count else { return nil }
    var rest = words[index] & (.max << UInt64(member & 63))
    while rest == 0 {
      index += 1
      if index == words.count { return nil }
      rest = words[index]
    }
    return index * 64 + rest.trailingZeroBitCount
  }

  /// What is in either set. O(words).
  func union(_ other: BitSet) -> BitSet {
    let (short, long) =
      words.count < other.words.count ? (words, other.words) : (other.words, words)
    var union = long
    for (index, word) in short.enumerated() { union[index] |= word }
    return BitSet(words: union)
  }
}

/// A set of small integers that knows its size.
struct CountedBitSet: Sendable {
  private(set) var bits: BitSet
  private(set) var count: Int

  /// The set of these members. O(words).
  init(_ bits: BitSet = BitSet()) {
    self.bits = bits
    count = bits.count
  }

  func contains(_ member: Int) -> Bool { bits.contains(member) }

  mutating func insert(_ member: Int) { if bits.insert(member) { count += 1 } }

  /// Returns whether it was there.
  @discardableResult
  mutating func remove(_ member: Int) -> Bool {
    guard bits.remove(member) else { return false }
    count -= 1
    return true
  }
}
