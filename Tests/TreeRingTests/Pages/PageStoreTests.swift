import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("The page store") struct PageStoreTests {
  @Test("Freed numbers and memory are used again")
  func reuse() {
    let pages = PageStore()
    var bound: PageNumber = 0
    var byteCount = 0
    for epoch: CommitNumber in 1...20 {
      let editor = PageEditor(pages: pages, epoch: epoch)
      var root = TreeRoot.empty
      for number in 0..<2000 {
        editor.put(&root, Bytes("\(number)".utf8), [1, 2, 3, 4, 5, 6, 7, 8])
      }
      if epoch == 1 { (bound, byteCount) = (pages.pageNumberBound, pages.heapByteCount) }
      #expect(pages.livePageByteCount <= pages.heapByteCount)
      if epoch % 2 == 0 { editor.discard() } else { pages.free(editor.finish().allocated) }
    }
    #expect(pages.livePageCount == 0)
    #expect(pages.pageNumberBound == bound)
    #expect(pages.heapByteCount == byteCount)
  }

  @Test("Two editors of one commit never edit each other's pages")
  func equalEpochs() {
    let pages = PageStore()
    var root = TreeRoot.empty
    let first = PageEditor(pages: pages, epoch: 7)
    first.put(&root, [1], [1])
    _ = first.finish()
    let old = root
    let second = PageEditor(pages: pages, epoch: 7)
    second.put(&root, [1], [2])
    #expect(Tree(old, pages: pages).get([1]) == [1])
    #expect(Tree(root, pages: pages).get([1]) == [2])
    #expect(second.retired.map(\.number) == [old.page])
    second.discard()
  }

  @Test("No stamp is reused after 2^32 editors", arguments: [1, 3, UInt64(UInt32.max)])
  func manyEditors(first: UInt64) {
    // The pages of the editor with the stamp `first`, seen by the editor 2^32 stamps later.
    let pages = PageStore(firstOwner: first + 1 << 32)
    var root = TreeRoot.empty
    let old = PageEditor(pages: pages, epoch: 7)
    for number: UInt8 in 0..<200 { old.put(&root, [number], [1]) }
    _ = old.finish()
    Tree(root, pages: pages).forEachPage { $0.owner = first }
    let new = PageEditor(pages: pages, epoch: 8)
    #expect(new.owner > UInt64(UInt32.max))
    let before = root
    for number: UInt8 in 0..<200 { new.put(&root, [number], [2]) }
    for number: UInt8 in 0..<200 { #expect(Tree(before, pages: pages).get([number]) == [1]) }
    #expect(new.retired.count == new.allocated.count)
    new.discard()
  }

  @Test("No stamp has a lower half of 0, which stands for no owner in the file")
  func stampsPassOverZero() {
    let pages = PageStore(firstOwner: UInt64(UInt32.max))
    let owners = (0..<3).map { PageEditor(pages: pages, epoch: $0).owner }
    #expect(owners == [0xffff_ffff, 0x1_0000_0001, 0x1_0000_0002])
  }

  @Test("An editor that is dropped frees its pages")
  func dropped() {
    let pages = PageStore()
    do {
      let editor = PageEditor(pages: pages, epoch: 1)
      var root = TreeRoot.empty
      editor.put(&root, [1], [1])
      #expect(pages.livePageCount == 1)
    }
    #expect(pages.livePageCount == 0)
  }

  @Test("Finishing frees pages that were made and released")
  func spares() {
    let pages = PageStore(cellCapacity: 4)
    let editor = PageEditor(pages: pages, epoch: 1)
    var root = TreeRoot.empty
    for number in 0..<200 { editor.put(&root, [UInt8(number)], []) }
    for number in 0..<190 { editor.remove(&root, [UInt8(number)]) }
    let result = editor.finish()
    #expect(Set(result.allocated) == TreeChecker.reachablePages(root, pages: pages))
    #expect(result.allocated.count == pages.livePageCount)
    #expect(result.retired.isEmpty)
  }

  @Test("Many threads edit trees of their own in one store")
  func manyEditors() {
    let pages = PageStore(cellCapacity: 16)
    onThreads(4) { thread in
      for round in 0..<20 {
        let editor = PageEditor(pages: pages, epoch: CommitNumber(round + 1))
        var root = TreeRoot.empty
        for number in 0..<300 {
          editor.put(&root, Bytes("\(number * 7 % 300)".utf8), [UInt8(thread)])
        }
        let tree = Tree(root, pages: pages)
        #expect(tree.count == 300)
        #expect(tree.get(Bytes("17".utf8)) == [UInt8(thread)])
        if round % 2 == 0 { editor.discard() } else { pages.free(editor.finish().allocated) }
      }
    }
    #expect(pages.livePageCount == 0)
  }

  @Test("A stale reference evicts no page after a writer has reused the number")
  func numberUsedAgain() {
    let pages = PageStore()
    let editor = PageEditor(pages: pages, epoch: 1)
    var root = TreeRoot.empty
    editor.put(&root, [1], [1])
    let old = RetiredPage(number: root.page, birth: root.birth)
    _ = editor.finish()
    pages.markClean([old])
    #expect(pages.heapPageCounts == (all: 1, dirty: 0))
    pages.free([old.number])
    // Its content is undefined until the writer sets it; here it still is the old page's, including
    // the birth.
    let new = pages.allocate()
    #expect(new.number == old.number && new.page.birth == old.birth)
    #expect(pages.evict(old) == nil)
    #expect(pages.isInHeap(new.number) && pages.table.contains(new.number))
    #expect(pages.heapPageCounts == (all: 1, dirty: 1))
    new.page.initialize(number: new.number, birth: 2, owner: 0, level: 0)
    let page = RetiredPage(number: new.number, birth: 2)
    pages.markClean([page])
    #expect(pages.evict(old) == nil)
    #expect(pages.evict(page) == new.page.bytes)
    #expect(pages.heapPageCounts == (all: 0, dirty: 0))
    pages.releaseFrames([new.page.bytes])
    pages.free([new.number])
  }

  @Test("An allocation inspects a bounded number of withheld slots")
  func inspected() {
    let (bound, refused) = (PageNumber(20_001), PageNumber(10_000))
    var free = BitSet()
    for number in 1..<bound { free.insert(Int(number)) }
    let seen = Counter()
    let pages = PageStore(
      supply: PageSupply { (_, _) throws(TreeRingError) in throw TreeRingError(.io, "no file") })
    pages.adopt(bound: bound, free: free) { range in
      for _ in range { _ = seen.next() }
      return range.filter { $0 > refused }
    }
    var taken: Set<PageNumber> = []
    func allocate() {
      let before = seen.count
      #expect(taken.insert(pages.allocate().number).inserted)
      #expect(seen.count - before <= 256)
    }
    // Each allocation skips at most 256 refused numbers, and the file grows by 1/256 of their
    // number at most.
    for _ in 0..<10_100 { allocate() }
    #expect(pages.pageNumberBound <= bound + refused / 256 + 1 + 100)
    #expect(taken.filter { $0 <= refused } == [])
    #expect(taken.filter { $0 < bound }.count == 10_000)
    pages.releaseWithheld()
    for _ in 0..<10_000 { allocate() }
    #expect(pages.pageNumberBound <= bound + refused / 256 + 1 + 100)
    #expect(taken.isSuperset(of: 1...refused))
  }
}
