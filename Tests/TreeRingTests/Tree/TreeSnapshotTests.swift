import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Old roots, reclamation, differences") struct TreeSnapshotTests {
  /// A chain of commits, some of them pinned, and their expected contents.
  struct History {
    let pages: PageStore
    let pins: PinTable
    var roots: [CommitNumber: (root: TreeRoot, model: ModelMap)] = [0: (.empty, ModelMap())]
    var newest: CommitNumber = 0

    init(cellCapacity: Int) {
      pages = PageStore(cellCapacity: cellCapacity)
      pins = PinTable(pages: pages)
      pins.pin(0)
    }

    /// Commits some random edits; pins the newest root like a store.
    mutating func commit(_ random: inout SeededGenerator) {
      guard var (root, model) = roots[newest] else { return }
      let number = newest + 1
      let editor = PageEditor(pages: pages, epoch: number)
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        let key = Bytes("\(Int.random(in: 0..<300, using: &random))".utf8)
        if Int.random(in: 0..<5, using: &random) < 3 {
          let value = [UInt8.random(in: 0...3, using: &random)]
          editor.put(&root, key, value)
          _ = model.put(key, value)
        } else {
          editor.remove(&root, key)
          _ = model.remove(key)
        }
      }
      roots[number] = (root, model)
      pins.pin(number)
      pins.retire(editor.finish().retired, at: number)
      unpin(newest)
      newest = number
    }

    mutating func unpin(_ commit: CommitNumber) {
      pins.unpin(commit)
      if !pins.pinnedCommits.contains(where: { $0.commit == commit }) { roots[commit] = nil }
    }

    /// Checks that every pinned root reads as before, and that exactly the pages they reach are
    /// live.
    func check(_ note: String) {
      var reachable: Set<PageNumber> = []
      for (commit, pinned) in roots {
        expectSame(pinned.root, pinned.model, pages, "\(note), commit \(commit)")
        reachable.formUnion(TreeChecker.reachablePages(pinned.root, pages: pages))
      }
      #expect(pages.livePageCount == reachable.count, "\(note): a page leaked or is kept too long")
    }
  }

  @Test(
    "Pinned roots never change, and pages are freed exactly when allowed",
    arguments: [4, 9, Int.max])
  func reclamation(capacity: Int) {
    for seed in seeds(1...3) {
      var random = SeededGenerator(seed: seed)
      var history = History(cellCapacity: capacity)
      var held: [CommitNumber] = []
      for step in 0..<250 {
        history.commit(&random)
        if Int.random(in: 0..<3, using: &random) == 0 {
          let commit = held.randomElement(using: &random) ?? history.newest
          history.pins.pin(commit)
          held.append(commit)
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
          history.pins.pin(history.newest)
          held.append(history.newest)
        }
        while held.count > 12 || (Int.random(in: 0..<3, using: &random) == 0 && !held.isEmpty) {
          history.unpin(held.remove(at: Int.random(in: 0..<held.count, using: &random)))
        }
        if step % 10 == 0 { history.check("capacity \(capacity), seed \(seed), step \(step)") }
      }
      for commit in held.shuffled(using: &random) { history.unpin(commit) }
      history.check("capacity \(capacity), seed \(seed), end")
      #expect(history.pins.deadPageCount == 0)
    }
  }

  static func differences(
    _ old: TreeRoot, _ new: TreeRoot, _ pages: PageStore, from first: Bytes? = nil
  ) -> (list: [String], visitedPageCount: Int) {
    var diff = TreeDiff(from: old, to: new, pages: pages)
    if let first { first.withUnsafeBytes { diff.seek(to: $0) } }
    var list: [String] = []
    diff.forEach { key, old, new in
      list.append("\(Bytes(key)) \(old.map { Bytes($0) } ?? []) \(new.map { Bytes($0) } ?? [])")
      #expect(old != nil || new != nil)
      return true
    }
    return (list, diff.visitedPageCount)
  }

  static func differences(
    _ old: ModelMap, _ new: ModelMap, from first: Bytes = []
  ) -> [String] {
    let keys = Set(old.keys).union(new.keys).filter { !($0 < first) }.sorted { $0 < $1 }
    return keys.filter { old.value($0) != new.value($0) }
      .map { "\($0) \(old.value($0) ?? []) \(new.value($0) ?? [])" }
  }

  @Test(
    "The diff of any two roots equals the difference of their contents", arguments: [4, 9, Int.max])
  func diff(capacity: Int) {
    for seed in seeds(1...3) {
      var random = SeededGenerator(seed: seed)
      var history = History(cellCapacity: capacity)
      for _ in 0..<40 {
        history.commit(&random)
        history.pins.pin(history.newest)
      }
      let commits = history.roots.keys.sorted()
      for from in commits {
        for to in commits where (from &* 31 ^ to) % 7 == 0 || to == from + 1 {
          guard let a = history.roots[from], let b = history.roots[to] else { continue }
          let expected = Self.differences(a.model, b.model)
          let found = Self.differences(a.root, b.root, history.pages).list
          #expect(found == expected, "capacity \(capacity), seed \(seed), \(from) to \(to)")
          // From any key, present, absent or behind all, the rest follows.
          for var first in [a, b].compactMap({ $0.model.keys.randomElement(using: &random) }) + [[]]
          {
            if Bool.random(using: &random) {
              first.append(UInt8.random(in: 0...255, using: &random))
            }
            let rest = Self.differences(a.root, b.root, history.pages, from: first).list
            #expect(
              rest == Self.differences(a.model, b.model, from: first),
              "capacity \(capacity), seed \(seed), \(from) to \(to) from \(first)")
          }
        }
      }
    }
  }

  @Test("A diff visits the changed paths only")
  func diffCost() {
    let pages = PageStore(cellCapacity: 8)
    var root = TreeRoot.empty
    let first = PageEditor(pages: pages, epoch: 1)
    for number in 100_000..<104_000 { first.put(&root, Bytes("\(number)".utf8), [1]) }
    _ = first.finish()
    let old = root
    let second = PageEditor(pages: pages, epoch: 2)
    second.put(&root, Bytes("100500".utf8), [2])
    second.remove(&root, Bytes("102000".utf8))
    second.put(&root, Bytes("103000x".utf8), [3])
    _ = second.finish()
    let result = Self.differences(old, root, pages)
    #expect(result.list.count == 3)
    // Three root-to-leaf paths on each side, and a page or two where splits shifted the pairing.
    #expect(result.visitedPageCount < 2 * 3 * 8, "\(result.visitedPageCount) pages visited")
    #expect(Self.differences(root, root, pages).visitedPageCount == 0)
  }

  @Test("Trees that share nothing are compared entry by entry")
  func diffOfUnrelatedTrees() {
    let pages = PageStore(cellCapacity: 5)
    let editor = PageEditor(pages: pages, epoch: 1)
    var a = TreeRoot.empty
    var b = TreeRoot.empty
    for number in 0..<300 {
      if number % 2 == 0 { editor.put(&a, Bytes("\(number)".utf8), [UInt8(number % 5)]) }
      if number % 3 == 0 { editor.put(&b, Bytes("\(number)".utf8), [UInt8(number % 7)]) }
    }
    let expected = Self.differences(
      Tree(a, pages: pages).map(), Tree(b, pages: pages).map())
    #expect(Self.differences(a, b, pages).list == expected)
    #expect(Self.differences(.empty, b, pages).list.count == 100)
    #expect(Self.differences(a, .empty, pages).list.count == 150)
    editor.discard()
  }
}
