import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Pins and dead pages") struct PinTableTests {
  /// Pages 1... of a store, each a tree of its own, made at the given commits.
  static func makePages(births: [CommitNumber]) -> (PageStore, [RetiredPage]) {
    let pages = PageStore()
    let retired = births.map { birth in
      let editor = PageEditor(pages: pages, epoch: birth)
      var root = TreeRoot.empty
      editor.put(&root, [1], [2])
      _ = editor.finish()
      return RetiredPage(number: root.page, birth: root.birth)
    }
    return (pages, retired)
  }

  @Test("A page that no pin reaches is freed at once")
  func freedAtOnce() {
    let (pages, retired) = Self.makePages(births: [3, 4])
    let pins = PinTable(pages: pages)
    pins.retire([retired[0]], at: 5)
    #expect(pages.livePageCount == 1)
    pins.pin(2)
    pins.pin(5)
    // Pins before the birth, and at or after the replacement, do not reach the page.
    pins.retire([retired[1]], at: 5)
    #expect(pages.livePageCount == 0)
    #expect(pins.deadPageCount == 0)
  }

  @Test("A page is kept until the last pin between birth and replacement ends")
  func keptByPins() {
    let (pages, retired) = Self.makePages(births: [2, 6])
    let pins = PinTable(pages: pages)
    for commit: CommitNumber in [1, 2, 4, 6, 8, 10] { pins.pin(commit) }
    pins.retire(retired, at: 9)
    #expect(pins.deadPageCount(of: 8) == 2)
    pins.unpin(8)
    #expect(pins.deadPageCount(of: 6) == 2)
    pins.unpin(6)
    // The pin at 4 does not reach the page born at 6.
    #expect(pages.livePageCount == 1)
    #expect(pins.deadPageCount(of: 4) == 1)
    pins.unpin(2)
    pins.unpin(4)
    #expect(pages.livePageCount == 0)
    #expect(pins.pinnedCommits.map(\.commit) == [1, 10])
    #expect(pins.oldestPinnedCommit == 1)
  }

  @Test("A commit pinned twice must be unpinned twice")
  func counts() {
    let (pages, retired) = Self.makePages(births: [1])
    let pins = PinTable(pages: pages)
    pins.pin(1)
    pins.pin(1)
    pins.retire(retired, at: 2)
    pins.unpin(1)
    #expect(pins.pinnedCommits.map(\.useCount) == [1])
    #expect(pages.livePageCount == 1)
    pins.unpin(1)
    #expect(pages.livePageCount == 0)
  }

  /// Tries all orders of releasing five pins, and compares with the definition.
  @Test("In any order of unpinning, exactly the reachable pages stay allocated")
  func everyOrder() {
    let commits: [CommitNumber] = [1, 2, 3, 4, 5]
    var order = commits
    func visit(_ count: Int) {
      if count == 1 { return check(order) }
      for index in 0..<count {
        visit(count - 1)
        order.swapAt(count % 2 == 0 ? index : 0, count - 1)
      }
    }
    func check(_ order: [CommitNumber]) {
      // One page for each span [birth, end) of commits.
      var spans: [(birth: CommitNumber, end: CommitNumber)] = []
      for birth in 1...5 {
        for end in (birth + 1)...6 { spans.append((UInt64(birth), UInt64(end))) }
      }
      let (pages, retired) = Self.makePages(births: spans.map(\.birth))
      let pins = PinTable(pages: pages)
      for commit in commits { pins.pin(commit) }
      for end: CommitNumber in 2...6 {
        pins.retire(zip(spans, retired).filter { $0.0.end == end }.map(\.1), at: end)
      }
      var pinned = Set(commits)
      for commit in order {
        pins.unpin(commit)
        pinned.remove(commit)
        let kept = zip(spans, retired).filter { span, _ in
          pinned.contains { span.birth <= $0 && $0 < span.end }
        }
        #expect(pages.livePageCount == kept.count, "order \(order)")
        #expect(kept.allSatisfy { pages.contains($0.1.number) }, "order \(order)")
      }
    }
    visit(commits.count)
  }

  @Test("With kept pins, ending in any order, pages stay while a pin reaches them")
  func randomOrders() {
    for seed in 1...20 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let count = CommitNumber(40)
      var spans: [(birth: CommitNumber, end: CommitNumber)] = []
      for end in 2...count {
        for _ in 0..<4 { spans.append((CommitNumber.random(in: 1..<end, using: &random), end)) }
      }
      let (pages, retired) = Self.makePages(births: spans.map(\.birth))
      let pins = PinTable(pages: pages)
      var pinned = Set(1...count)
      for commit in 1...count { pins.pin(commit) }
      let kept = Set((0..<5).map { _ in CommitNumber.random(in: 1...count, using: &random) })
      for commit in kept { pins.keep(commit) }
      for end in 2...count {
        pins.retire(zip(spans, retired).filter { $0.0.end == end }.map(\.1), at: end)
      }
      for commit in (1...count).shuffled(using: &random) {
        if kept.contains(commit) { pins.unkeep(commit, saved: []) }
        pins.unpin(commit)
        pinned.remove(commit)
        let live = zip(spans, retired).filter { span, _ in
          pinned.contains { span.birth <= $0 && $0 < span.end }
        }
        #expect(pages.livePageCount == live.count, "seed \(seed)")
        #expect(live.allSatisfy { pages.contains($0.1.number) }, "seed \(seed)")
        #expect(pins.deadPageCount == live.count, "seed \(seed)")
        #expect(pins.pinnedCommits.map(\.commit) == pinned.sorted(), "seed \(seed)")
        #expect(pins.oldestPinnedCommit == pinned.min(), "seed \(seed)")
      }
    }
  }

  #if DEBUG
    @Test("In whatever order pins end, each dead page moves a few times at most")
    func movedPages() {
      func moves(_ count: Int, _ order: ([CommitNumber]) -> [CommitNumber]) -> Int {
        let commits = (1...CommitNumber(count)).map { $0 }
        // Half of the pages that a commit replaces are as old as the store.
        let (pages, retired) = Self.makePages(births: commits.flatMap { [1, $0] })
        let pins = PinTable(pages: pages)
        for commit in commits {
          pins.pin(commit)
          let index = Int(commit - 1) * 2
          pins.retire(Array(retired[index...index + 1]), at: commit + 1)
        }
        for commit in order(commits) { pins.unpin(commit) }
        #expect(pages.livePageCount == 0)
        return pins.moveCount
      }
      let orders: [@Sendable ([CommitNumber]) -> [CommitNumber]] = [
        { $0 }, { $0.reversed() },
        { commits in
          var random = SeededGenerator(seed: 3)
          return commits.shuffled(using: &random)
        },
      ]
      for order in orders {
        let (few, many) = (moves(250, order), moves(1_000, order))
        #expect(many <= few * 7, "\(few) and \(many) moves")
      }
    }
  #endif
}
