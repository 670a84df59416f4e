import TestSupport
import Testing

@testable import TreeRing

@Suite struct PageNumberAllocatorTests {
  @Test func givesFreeNumbersInAscendingOrderRoundAndRoundBeforeNewOnes() {
    var numbers = PageNumberAllocator(next: 1, end: .max)
    #expect((0..<300).compactMap { _ in numbers.allocate() } == Array(1...300))
    for number: PageNumber in [7, 65, 129, 200] { numbers.recycle(number) }
    #expect(numbers.allocate() == 7)
    numbers.recycle(3)
    #expect((0..<5).compactMap { _ in numbers.allocate() } == [65, 129, 200, 3, 301])
    #expect(numbers.usedCount == 301 && numbers.free.count == 0)
  }

  @Test func withholdsWhatAFileHadFreeUntilItIsReleased() {
    var free = BitSet()
    for member in [2, 64, 70] { free.insert(member) }
    var numbers = PageNumberAllocator(next: 100, end: .max, free: free, isWithholding: true)
    #expect(numbers.usedCount == 96 && numbers.allocate() == 100)
    numbers.recycle(50)
    #expect(numbers.free.members(below: 128) == [2, 50, 64, 70])
    #expect(!numbers.isUsed(64) && !numbers.isUsed(50) && numbers.isUsed(3))
    #expect(numbers.allocate() == 50 && numbers.allocate() == 101)
    numbers.releaseWithheld()
    #expect((0..<4).compactMap { _ in numbers.allocate() } == [64, 70, 2, 102])
  }

  @Test func givesOutAWithheldNumberOnceItHasBeenInspected() {
    var free = BitSet()
    for member in [2, 3, 4, 64] + Array(70..<100) { free.insert(member) }
    var numbers = PageNumberAllocator(next: 100, end: .max, free: free, isWithholding: true)
    #expect(numbers.nextToInspect() == 2..<5 && numbers.availableCount == 0)
    numbers.release(3)
    #expect(numbers.availableCount > 0 && numbers.allocate() == 3 && numbers.allocate() == 100)
    #expect(numbers.nextToInspect() == 64..<65 && numbers.nextToInspect() == 70..<86)
    #expect(numbers.nextToInspect() == 86..<100 && numbers.nextToInspect() == nil)
    numbers.releaseWithheld()
    #expect(numbers.allocate() == 4)
  }

  @Test func runsOfLeavesAndOfOtherPagesHaveWordsOfTheirOwn() {
    var numbers = PageNumberAllocator(next: 1, end: .max)
    numbers.growthLimit = 1000
    // Place n of number n: the first word lacks its position 0.
    #expect((0..<63).compactMap { _ in numbers.allocate() } == Array(1...63))
    #expect(numbers.allocate(isLeaf: false) == 64 && numbers.next == 128)
    #expect((0..<3).compactMap { _ in numbers.allocate() } == [128, 129, 130])
    #expect(numbers.allocate(isLeaf: false) == 65)
    // A number that becomes free waits until new ones have reached their limit.
    numbers.recycle(5)
    #expect(numbers.allocate() == 131 && numbers.allocate(isLeaf: false) == 66)
    #expect(numbers.usedCount == 69 && numbers.free.contains(5))
  }

  @Test func runsBeginInLooseWordsOnceNewNumbersReachTheirLimit() {
    var numbers = PageNumberAllocator(next: 1, end: .max)
    numbers.growthLimit = 256
    let made = (0..<255).compactMap { _ in numbers.allocate() }
    #expect(made == Array(1...255) && numbers.next == 256)
    // Word 1 gets 47 free numbers, word 2 gets 48: only that is loose.
    for number: PageNumber in 64..<111 { numbers.recycle(number) }
    for number: PageNumber in 140..<188 { numbers.recycle(number) }
    #expect((0..<48).compactMap { _ in numbers.allocate() } == Array(140...187))
    #expect(numbers.allocate() == 64 && numbers.allocate(isLeaf: false) == 65)
    for number: PageNumber in 140..<188 { numbers.recycle(number) }
    #expect(numbers.allocate(isLeaf: false) == 140)
    // The only loose word is that of the other pages.
    #expect(numbers.allocate() == 66 && numbers.allocate(isLeaf: false) == 141)
  }

  @Test func newNumbersAreAllocatedWhileOthersAreWithheld() {
    var free = BitSet()
    for member in 10..<20 { free.insert(member) }
    var numbers = PageNumberAllocator(next: 100, end: .max, free: free, isWithholding: true)
    numbers.release(15)
    #expect(numbers.allocate() == 15 && numbers.allocate() == 100 && numbers.next == 101)
    numbers.growthLimit = 1000
    #expect(numbers.allocate() == 101 && numbers.next == 128)
    numbers.releaseWithheld()
    #expect(numbers.allocate() == 102)
  }

  @Test func aBirthTellsCommitAndEdition() {
    let birth = PageBirth(7, edition: 3)
    #expect(birth.commit == 7 && birth.edition == 3 && birth != PageBirth(7))
    #expect(PageBirth(7).rawValue == 7 && PageBirth(rawValue: birth.rawValue) == birth)
    let last = PageBirth((1 << 48) - 1, edition: .max)
    #expect(last.rawValue == .max && last.commit == (1 << 48) - 1)
  }

  @Test(arguments: seeds(1...8)) func agreesWithAModel(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let first: PageNumber = seed % 2 == 0 ? 1 : PageTable.firstPrivateNumber
    var numbers = PageNumberAllocator(next: first, end: .max)
    var used: Set<PageNumber> = []
    let growth = seed % 3 == 0 ? first + PageNumber.random(in: 0..<2000, using: &random) : 0
    numbers.growthLimit = growth
    for _ in 0..<3000 {
      if used.isEmpty || random.next() % 5 < 3 {
        let (bound, isFull) = (numbers.next, used.count == Int(numbers.next - first))
        let taken = numbers.allocate(isLeaf: random.next() % 3 > 0)
        let number = try #require(taken)
        #expect(used.insert(number).inserted, "seed \(seed)")
        // New numbers come when none is free, and otherwise only below the limit.
        #expect(isFull ? number == bound : numbers.next <= max(bound, growth), "seed \(seed)")
      } else if let number = used.randomElement(using: &random) {
        used.remove(number)
        numbers.recycle(number)
      }
      #expect(numbers.usedCount == used.count, "seed \(seed)")
    }
    for number in first..<numbers.next { #expect(numbers.isUsed(number) == used.contains(number)) }
  }
}

extension PageNumberAllocatorTests {
  @Test func endsWhereThereAreNoMoreNumbers() {
    var numbers = PageNumberAllocator(next: 1, end: 4)
    #expect((0..<5).map { _ in numbers.allocate() } == [1, 2, 3, nil, nil])
    numbers.recycle(2)
    #expect(numbers.allocate() == 2 && numbers.allocate() == nil && numbers.next == 4)
  }

  @Test(arguments: seeds(1...4)) func rangesOfASetAreSetAndRemovedByWords(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      var (set, model) = (BitSet(), Set<Int>())
      for _ in 0..<3 {
        let start = Int.random(in: 0...200, using: &random)
        let end = Int.random(in: start...300, using: &random)
        set.set(start..<end)
        model.formUnion(start..<end)
      }
      let end = Int.random(in: 0...320, using: &random)
      set.removeAll(from: end)
      #expect(set.members(below: 400) == model.filter { $0 < end }.sorted(), "seed \(seed)")
    }
  }
}

extension BitSet {
  /// The members below a bound, ascending.
  func members(below bound: Int) -> [Int] { (0..<bound).filter(contains) }
}
