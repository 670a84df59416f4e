import TestSupport
import Testing

@testable import TreeRing

@Suite("Which roots are kept") struct RootLedgerTests {
  private func entry(_ commit: CommitNumber, operations: UInt64, pages: Int) -> RootLedger.Entry {
    var roots = Roots()
    roots.commit = commit
    roots.operationCount = operations
    let list = BlobReference(page: 1, birth: 1, byteCount: UInt64(pages * 12))
    return RootLedger.Entry(roots: roots, lists: pages == 0 ? [] : [list])
  }

  @Test("Gaps double, the oldest first, and the newest root stays")
  func doubling() {
    var ledger = RootLedger()
    var widest: UInt64 = 0
    for number in 1...400 {
      ledger.entries.append(entry(CommitNumber(number), operations: UInt64(number) * 10, pages: 5))
      let excess = ledger.deadPageCount - 100
      let dropped = Set(ledger.surplus(excess: excess) { _ in false }.map(\.commit))
      #expect(!dropped.contains(CommitNumber(number)))
      ledger.entries.removeAll { dropped.contains($0.commit) }
      widest = max(widest, ledger.widestGap(to: UInt64(number) * 10))
    }
    #expect(ledger.deadPageCount <= 110)
    #expect(ledger.entries.count >= 18)
    // 400 roots on 20 places: no gap is more than four times the even one.
    #expect(widest <= 4 * 4000 / 20)
    let commits = ledger.entries.map(\.commit)
    #expect(commits == commits.sorted())
  }

  @Test("Roots that are due go, whatever they keep")
  func due() {
    var ledger = RootLedger()
    ledger.entries = (1...10).map { entry(CommitNumber($0), operations: UInt64($0), pages: 0) }
    let dropped = ledger.surplus(excess: 0) { $0.commit < 6 && $0.commit != 3 }
    #expect(dropped.map(\.commit) == [1, 2, 4, 5])
    #expect(ledger.surplus(excess: 0) { _ in true }.map(\.commit) == Array(1...9))
    #expect(ledger.entry(atOrBefore: 7)?.commit == 7)
    #expect(RootLedger().entry(atOrBefore: 7) == nil)
  }

  @Test("Numbers are taken, given back and counted")
  func numbers() {
    var free = BitSet()
    for member in [2, 5, 64, 130] { free.insert(member) }
    #expect(free.count == 4 && free.members(below: 130) == [2, 5, 64])
    let pages = PageStore()
    pages.adopt(bound: 131, free: free)
    #expect(pages.livePageCount == 126)
    #expect(pages.reserveNumbers(5) == [2, 5, 64, 130, 131])
    pages.free([64])
    #expect(pages.numbers.free.members(below: 200) == [64])
    let (number, _) = pages.allocate(isPrivate: true)
    #expect(number >= PageTable.firstPrivateNumber && pages.pageNumberBound == 132)
    #expect(pages.contains(number) && !pages.contains(64) && !pages.contains(0))
    pages.free([number])
    #expect(pages.privatePageCount == 0)
  }
}
