// Which page numbers are in use. Free ones are kept twice: as a stack to take from, and as bits, of
// which a copy costs little and which a checkpoint writes out.

/// The numbers of one range of pages.
package struct PageNumbers: Sendable {
  private let first: PageNumber
  /// One more than the highest number ever used.
  package private(set) var next: PageNumber
  private var stack: [PageNumber] = []
  /// Free numbers that are not given out for the time being.
  private var withheld: [PageNumber] = []
  /// Bit n is set if number `first` - 1 + n is free.
  package private(set) var free = BitSet()

  /// Numbers from `next` on, none used.
  init(next: PageNumber) {
    first = next
    self.next = next
  }

  /// Numbers from 1 to `next` - 1, of which some are free. O(next / 64 + free numbers).
  /// - Parameter isWithholding: whether those are not given out before `releaseWithheld`.
  init(next: PageNumber, free: BitSet, isWithholding: Bool) {
    first = 1
    self.next = next
    self.free = free
    // The lowest ones are taken first, so that the file's end empties.
    stack = free.members(below: Int(next)).reversed().map { PageNumber($0) }
    if isWithholding { swap(&stack, &withheld) }
  }

  /// From now on every free number is given out.
  mutating func releaseWithheld() {
    stack = withheld + stack
    withheld = []
  }

  /// How many are in use.
  package var usedCount: Int { Int(next - first) - stack.count - withheld.count }

  /// About how many bytes it takes to keep these numbers, and a word of the page table for each.
  var tableByteCount: Int {
    Int(next - first) * MemoryLayout<UInt>.stride
      + (stack.capacity + withheld.capacity) * MemoryLayout<PageNumber>.stride
  }

  /// Whether a number is in use.
  func isUsed(_ number: PageNumber) -> Bool {
    number >= first && number < next && !free.contains(place(number))
  }

  /// A number to use. Amortised O(1).
  mutating func take() -> PageNumber {
    if let number = stack.popLast() {
      free.remove(place(number))
      return number
    }
    precondition(next != .max && next != PageTable.firstPrivateNumber - 1, "out of page numbers")
    defer { next += 1 }
    return next
  }

  /// Makes a number free. Amortised O(1).
  mutating func giveBack(_ number: PageNumber) {
    precondition(free.insert(place(number)), "page \(number) is freed twice")
    stack.append(number)
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

  /// The members below a bound, ascending. O(bound / 64 + members).
  package func members(below bound: Int) -> [Int] {
    var members: [Int] = []
    for (index, word) in words.enumerated() {
      var rest = word
      while rest != 0 {
        let member = index * 64 + rest.trailingZeroBitCount
        if member >= bound { return members }
        members.append(member)
        rest &= rest - 1
      }
    }
    return members
  }
}

/// A set of small integers that knows its size.
struct CountedBitSet: Sendable {
  private var bits = BitSet()
  private(set) var count = 0

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
