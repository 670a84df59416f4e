import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Readers during writes") struct TreeConcurrencyTests {
  /// A published root, pinned as in a store.
  final class Published: Sendable {
    let pages: PageStore
    let pins: PinTable
    private let newest = Mutex<(commit: CommitNumber, root: TreeRoot)>((0, .empty))

    init(cellCapacity: Int) {
      pages = PageStore(cellCapacity: cellCapacity)
      pins = PinTable(pages: pages)
      pins.pin(StateID(0))
    }

    func pinNewest() -> (commit: CommitNumber, root: TreeRoot) {
      newest.withLock {
        pins.pin(StateID($0.commit))
        return $0
      }
    }

    func publish(_ commit: CommitNumber, _ root: TreeRoot, retired: [RetiredPage]) {
      pins.pin(StateID(commit))
      let last = newest.withLock { newest in
        defer { newest = (commit, root) }
        return newest.commit
      }
      pins.retire(retired, at: StateID(commit))
      pins.unpin(StateID(last))
    }
  }

  /// Every commit n holds, for each key, a value derived from n. So a reader can tell whether all
  /// its values are from one commit.
  @Test("A reader sees one commit, whole and unchanged", arguments: [4, 20])
  func readersAndWriter(capacity: Int) {
    let store = Published(cellCapacity: capacity)
    let commitCount: CommitNumber = 150
    onThreads(4) { thread in
      if thread == 0 {
        Self.write(to: store, commitCount)
      } else {
        Self.read(store, commitCount, checksAll: thread == 1)
      }
    }
    let (commit, root) = store.pinNewest()
    store.pins.unpin(StateID(commit))
    #expect(
      store.pages.livePageCount == TreeChecker.reachablePages(root, pages: store.pages).count)
  }

  private static func write(to store: Published, _ commitCount: CommitNumber) {
    var root = TreeRoot.empty
    for commit in 1...commitCount {
      let published = root
      let editor = PageEditor(pages: store.pages, epoch: commit)
      if commit % 17 == 0 { editor.removeAll(&root) }
      let low = Int(commit) % 20
      for number in 0..<20 { editor.remove(&root, [UInt8(number)]) }
      for number in low..<(low + 40) { editor.put(&root, [UInt8(number)], [UInt8(commit)]) }
      for number in (low + 40)..<60 { editor.remove(&root, [UInt8(number)]) }
      if commit % 5 == 0 {
        editor.discard()
        root = published
        continue
      }
      store.publish(commit, root, retired: editor.finish().retired)
    }
  }

  private static func read(_ store: Published, _ commitCount: CommitNumber, checksAll: Bool) {
    var seen: CommitNumber = 0
    for round in 0..<400 where seen < commitCount - 1 {
      let (commit, root) = store.pinNewest()
      #expect(commit >= seen)
      seen = commit
      if checksAll || round % 7 == 0 {
        let violations = TreeChecker.check(root, pages: store.pages)
        #expect(violations.isEmpty, "commit \(commit)")
      }
      let tree = Tree(root, pages: store.pages)
      let isWhole = tree.map().values.allSatisfy { $0 == [UInt8(commit)] }
      #expect(isWhole, "commit \(commit)")
      let first = Int(commit) % 20
      #expect(commit == 0 || tree.get([UInt8(first)]) == [UInt8(commit)])
      #expect(tree.rank([UInt8(first + 10)]) == (commit == 0 ? 0 : 10))
      store.pins.unpin(StateID(commit))
    }
  }
}
