// The page numbers in use. A number is a slot in the page file. A device writes neighbouring slots
// in one request, others in as many. So pages made one after the other get neighbouring numbers:
//
// 1. A run is the free numbers of one word of 64, allocated in ascending order. Leaves have a run
//    of their own: most other pages die before a checkpoint, and would leave gaps among the leaves.
// 2. Where memory is short, pages are written soon after they are made, and seldom do all of a word
//    die together. So there a run is of new numbers first, up to the file's bound: the more free
//    numbers there are, the longer are the runs among them.
// 3. Otherwise a run begins in the next *loose* word, of which three quarters are free.
// 4. If there is none, free numbers are allocated in ascending order, and from the lowest again
//    after the highest; then new ones.

/// The numbers of one range of pages.
package struct PageNumberAllocator: Sendable {
  private let first: PageNumber
  /// One more than the highest allowed number.
  private let end: PageNumber
  /// One more than the highest number ever used.
  package private(set) var next: PageNumber
  /// Free numbers that may be allocated, counted from `first` - 1.
  private var available = LooseBitSet()
  /// Free numbers that may not be allocated yet.
  private var withheld = CountedBitSet()
  /// The lowest position of withheld numbers that have not been inspected.
  private var inspected = 0
  /// The start of the next search for a free number.
  private var cursor = 0
  /// The rest of the run of leaves, and of the run of other pages: the word from this position on;
  /// 0 if there is none.
  private var leafRun = 0
  private var otherRun = 0
  /// Runs are of new numbers as long as these are below it.
  var growthLimit: PageNumber = 0

  /// Creates numbers from `next` on and below `end`, all unused.
  init(next: PageNumber, end: PageNumber) {
    first = next
    self.end = end
    self.next = next
  }

  /// Creates numbers from 1 on and below `end`. Of those below `next`, the ones in `free` are free
  /// and the others used. O(next / 64).
  /// - Parameter isWithholding: True if the free numbers are withheld until `release` or
  ///   `releaseWithheld`.
  init(next: PageNumber, end: PageNumber, free: BitSet, isWithholding: Bool) {
    first = 1
    self.end = end
    self.next = next
    if isWithholding { withheld = CountedBitSet(free) } else { available = LooseBitSet(free) }
  }

  /// The number of free numbers that may be allocated.
  var availableCount: Int { available.count }

  /// Makes all withheld numbers available. O(next / 64).
  mutating func releaseWithheld() {
    available = LooseBitSet(free)
    withheld = CountedBitSet()
  }

  /// Returns the next adjacent withheld numbers that have not been inspected, each only once.
  mutating func nextToInspect() -> Range<PageNumber>? {
    guard withheld.count > 0, let start = withheld.bits.first(from: inspected) else { return nil }
    var end = start + 1
    while end - start < Self.inspectionCount, withheld.contains(end) { end += 1 }
    inspected = end
    return PageNumber(start)..<PageNumber(end)
  }

  /// The maximum number of page numbers in one inspection.
  private static let inspectionCount = 16

  /// Makes a withheld number available.
  mutating func release(_ number: PageNumber) {
    if withheld.remove(place(number)) { available.insert(place(number)) }
  }

  /// The free numbers: bit n is set if number `first` - 1 + n is free.
  package var free: BitSet {
    withheld.count == 0 ? available.bits : available.bits.union(withheld.bits)
  }

  /// The number of page numbers in use.
  var usedCount: Int { Int(next - first) - available.count - withheld.count }

  /// The approximate number of bytes of these numbers and of their words in the page table.
  var tableByteCount: Int { Int(next - first) * MemoryLayout<UInt>.stride }

  /// Whether a number is in use.
  func isUsed(_ number: PageNumber) -> Bool {
    number >= first && number < next && !available.contains(place(number))
      && !withheld.contains(place(number))
  }

  /// Allocates a number; nil if none is left. O(next / 64) at worst; O(1) if free numbers are not
  /// sparse.
  /// - Parameter isLeaf: Whether the page is a leaf.
  mutating func allocate(isLeaf: Bool = true) -> PageNumber? {
    let (own, other) = isLeaf ? (leafRun, otherRun) : (otherRun, leafRun)
    let inRun = available.bits.first(inWordFrom: own) ?? newRun() ?? looseRun(besides: other)
    let rest = inRun.map { ($0 + 1) & 63 == 0 ? 0 : $0 + 1 } ?? 0
    if isLeaf { leafRun = rest } else { otherRun = rest }
    if let place = inRun ?? nextPlace() {
      available.remove(place)
      return first - 1 + PageNumber(place)
    }
    if next >= end { return nil }
    defer { next += 1 }
    return next
  }

  /// Adds new numbers up to the end of a word; nil if none may be added.
  /// - Returns: The first of their places.
  private mutating func newRun() -> Int? {
    let start = place(next)
    let count = PageNumber(64 - (start & 63))
    let limit = min(growthLimit, end)
    guard next < limit, count <= limit - next else { return nil }
    next += count
    for place in start..<start + Int(count) { available.insert(place) }
    return start
  }

  /// The first free place of the next loose word; nil if there is none.
  /// - Parameter other: The run of the other pages, whose word is left to them.
  private mutating func looseRun(besides other: Int) -> Int? {
    let otherWord = other > 0 ? other >> 6 : nil
    let isOtherLoose = otherWord.map(available.isLoose) ?? false
    guard available.looseWordCount > (isOtherLoose ? 1 : 0),
      let word = available.looseWord(from: cursor >> 6, except: otherWord)
    else { return nil }
    cursor = (word + 1) << 6
    return available.bits.first(from: word << 6)
  }

  /// The next free place, from the lowest again after the highest.
  private mutating func nextPlace() -> Int? {
    guard available.count > 0 else { return nil }
    let place = available.bits.first(from: cursor) ?? available.bits.first(from: 0)
    if let place { cursor = place + 1 }
    return place
  }

  /// Allocates the lowest free numbers from one on, except given ones. O(words scanned + numbers).
  /// - Parameter excluded: In the form of `free`.
  mutating func take(atMost limit: Int, from start: PageNumber, except excluded: BitSet)
    -> [PageNumber]
  {
    var taken: [PageNumber] = []
    var position = place(max(first, start))
    while taken.count < limit,
      let next = available.bits.first(from: position, except: excluded)
    {
      position = next + 1
      available.remove(next)
      taken.append(first - 1 + PageNumber(next))
    }
    return taken
  }

  /// Frees a number. Amortised O(1).
  mutating func recycle(_ number: PageNumber) {
    precondition(isUsed(number), "page \(number) is freed twice")
    available.insert(place(number))
  }

  private func place(_ number: PageNumber) -> Int { Int(number - first) + 1 }
}
