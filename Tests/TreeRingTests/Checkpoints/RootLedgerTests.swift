import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Which roots are kept") struct RootLedgerTests {
  private func entry(_ commit: CommitNumber, operations: UInt64, pages: Int) -> RootLedger.Entry {
    var roots = Roots()
    roots.commit = commit
    roots.operationCount = operations
    let list = BlobReference(page: 1, birth: 1, byteCount: UInt64(pages * 12))
    return RootLedger.Entry(roots: roots, lists: pages == 0 ? [] : [list])
  }

  /// Pages on a root's lists, all born at one commit.
  private func pages(_ entry: RootLedger.Entry, bornAt birth: CommitNumber) -> [RetiredPage] {
    (0..<entry.deadPageCount).map {
      RetiredPage(number: PageNumber($0 + 1), birth: PageBirth(birth))
    }
  }

  @Test("Descending operation counts, which no store writes, still choose a root to drop")
  func disorder() throws {
    var ledger = RootLedger()
    for number in 1...20 as ClosedRange<CommitNumber> {
      ledger.entries.append(entry(number, operations: number % 2 == 0 ? 5 : .max / 2, pages: 5))
    }
    let dropped = try ledger.surplus(
      excess: 50, isDue: { _ in false }, load: { pages($0, bornAt: $0.commit) })
    #expect(!dropped.isEmpty && dropped[StateID(20)] == nil)
    #expect(ledger.widestGap(to: 3) > 0)
  }

  @Test("Counts that no store reaches make the list damaged", arguments: 0..<3)
  func hugeCounts(field: Int) throws {
    for (count, isSound) in [(1 << 40, true), (1 << 63, false), (.max, false)] as [(UInt64, Bool)] {
      var roots = Roots()
      roots.commit = 7
      switch field {
      case 0: roots.operationCount = count
      case 1: roots.payloadByteCount = count
      default:
        var index = IndexRoots(number: 1)
        index.undecodable = count
        roots.indexes.set(index)
      }
      let bytes = RetainedRoot.encode([RetainedRoot(roots: roots, deadLists: [])])
      #expect(code { try RetainedRoot.decode(bytes) } == (isSound ? nil : .corruption))
    }
    let list = BlobReference(page: 1, birth: 1, byteCount: 1 << 42)
    let many = RetainedRoot(roots: Roots(), deadLists: Array(repeating: list, count: 4))
    #expect(code { try RetainedRoot.decode(RetainedRoot.encode([many])) } == .corruption)
  }

  @Test("Gaps double, the oldest first, and the newest root stays")
  func doubling() throws {
    var ledger = RootLedger()
    var widest: UInt64 = 0
    for number in 1...400 {
      ledger.entries.append(entry(CommitNumber(number), operations: UInt64(number) * 10, pages: 5))
      let excess = ledger.deadPageCount - 100
      let dropped = try ledger.surplus(
        excess: excess, isDue: { _ in false }, load: { pages($0, bornAt: $0.commit) })
      #expect(dropped[StateID(CommitNumber(number))] == nil)
      ledger.entries.removeAll { dropped[$0.state] != nil }
      widest = max(widest, ledger.widestGap(to: UInt64(number) * 10))
    }
    #expect(ledger.deadPageCount <= 110)
    #expect(ledger.entries.count >= 18)
    // 400 roots in room for 20: no gap is more than four times the average.
    #expect(widest <= 4 * 4000 / 20)
    let commits = ledger.entries.map(\.commit)
    #expect(commits == commits.sorted())
  }

  @Test("Roots that are due are dropped, even if they keep no page alone")
  func due() throws {
    var ledger = RootLedger()
    ledger.entries = (1...10).map { entry(CommitNumber($0), operations: UInt64($0), pages: 0) }
    let dropped = try ledger.surplus(
      excess: 0, isDue: { $0.commit < 6 && $0.commit != 3 }, load: { _ in [] })
    #expect(dropped.keys.map(\.commit).sorted() == [1, 2, 4, 5])
    let all = try ledger.surplus(excess: 0, isDue: { _ in true }, load: { _ in [] })
    #expect(all.keys.map(\.commit).sorted() == Array(1...9))
    #expect(ledger.entry(atOrBefore: 7)?.commit == 7)
    #expect(RootLedger().entry(atOrBefore: 7) == nil)
  }

  @Test("Of the forms of a commit only the newest stays, unless a follower reads another one")
  func forms() throws {
    var ledger = RootLedger()
    ledger.entries = (1...3).map { entry(CommitNumber($0), operations: UInt64($0), pages: 0) }
    func dropped(isReplaced: Bool, held: CommitNumber = 0) throws -> [StateID] {
      try ledger.surplus(
        excess: 0, isHeld: { $0.commit == held }, isReplaced: isReplaced, isDue: { _ in false },
        load: { _ in [] }
      ).keys.sorted()
    }
    #expect(try dropped(isReplaced: false) == [])
    #expect(try dropped(isReplaced: true) == [StateID(3)])
    #expect(try dropped(isReplaced: true, held: 3) == [])
    var form = entry(3, operations: 3, pages: 0)
    form.roots.form = 1
    ledger.entries.append(form)
    #expect(try dropped(isReplaced: false) == [StateID(3)])
    #expect(try dropped(isReplaced: true) == [StateID(3), StateID(3, form: 1)])
    #expect(try dropped(isReplaced: false, held: 3) == [])
    // A single root can be replaced too.
    ledger.entries = [form]
    #expect(try dropped(isReplaced: true) == [StateID(3, form: 1)])
  }

  @Test("A page that an older root reaches is not free before that root is dropped too")
  func shared() throws {
    var ledger = RootLedger()
    // The first root would be the least useful one.
    ledger.entries = (1...10).map {
      entry(CommitNumber($0 * 10), operations: 1000 + UInt64($0), pages: 5)
    }
    func dropped(_ excess: Int, bornAt birth: CommitNumber) throws -> [CommitNumber] {
      try ledger.surplus(
        excess: excess, isDue: { _ in false }, load: { pages($0, bornAt: min(birth, $0.commit)) }
      ).keys.map(\.commit).sorted()
    }
    // Each root has its own pages: dropping one is enough.
    #expect(try dropped(3, bornAt: .max) == [20])
    // The first root reaches all of them: pages of the other roots become free when it is dropped.
    #expect(try dropped(3, bornAt: 10) == Array(stride(from: 10, through: 90, by: 10)))
    // The third root reaches them, and the second has its own pages.
    #expect(try dropped(5, bornAt: 30) == [20])
    #expect(try dropped(0, bornAt: 10) == [])
  }

  @Test("Numbers are allocated, freed and counted")
  func numbers() throws {
    var free = BitSet()
    for member in [2, 5, 64, 130] { free.insert(member) }
    #expect(free.count == 4 && free.members(below: 130) == [2, 5, 64])
    let pages = PageStore()
    pages.adopt(bound: 131, free: free)
    #expect(pages.livePageCount == 126)
    #expect(try pages.reserveNumbers(5) == [2, 5, 64, 130, 131])
    pages.free([64])
    #expect(pages.numbers.free.members(below: 200) == [64])
    let (number, _) = pages.allocate(isPrivate: true)
    #expect(number >= PageTable.firstPrivateNumber && pages.pageNumberBound == 132)
    #expect(pages.contains(number) && !pages.contains(64) && !pages.contains(0))
    pages.free([number])
    #expect(pages.privatePageCount == 0)
  }
}
