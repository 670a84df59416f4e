import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Packing of trees") struct TreePackingTests {
  /// A tree of random edits, made by one transaction each.
  private struct Grown {
    let pages: PageStore
    var root = TreeRoot.empty
    var model = ModelMap()
    var state = StateID(0)

    init(cellCapacity: Int) { pages = PageStore(cellCapacity: cellCapacity) }

    mutating func edit(_ count: Int, _ random: inout SeededGenerator) {
      let editor = PageEditor(pages: pages, epoch: state.commit + 1)
      for _ in 0..<count {
        let shared = [UInt8](repeating: 7, count: Int.random(in: 0...3, using: &random) * 20)
        let key = shared + Bytes("\(Int.random(in: 0..<2000, using: &random))".utf8)
        if Int.random(in: 0..<4, using: &random) > 0 {
          let value = [UInt8](repeating: 1, count: Int.random(in: 0...90, using: &random))
          editor.put(&root, key, value)
          _ = model.put(key, value)
        } else {
          editor.remove(&root, key)
          _ = model.remove(key)
        }
      }
      pages.free(editor.finish().retired)
      state = StateID(state.commit + 1)
    }

    /// Packs every window, each in a form of its own.
    mutating func pack(bornAfter bar: StateID, leafLimit: Int) throws -> Int {
      var saved = 0
      var key: [UInt8]?
      repeat {
        let editor = try #require(PageEditor(pages: pages, formOf: state))
        let before = root
        let window = editor.packWindow(&root, from: key, bornAfter: bar, leafLimit: leafLimit)
        if window.savedCount > 0 {
          #expect(root.birth.state > before.birth.state && root.count == before.count)
          state = editor.birth.state
          pages.free(editor.finish().retired)
          saved += window.savedCount
        } else {
          root = before
          editor.discard()
        }
        if let last = key, let next = window.nextKey {
          #expect(last.lexicographicallyPrecedes(next))
        }
        key = window.nextKey
      } while key != nil
      return saved
    }

    func leaves() -> (count: Int, fill: Double) {
      var (count, used) = (0, 0)
      Tree(root, pages: pages).forEachPage { page in
        if page.level == 0 {
          count += 1
          used += page.usedByteCount
        }
      }
      return (count, Double(used) / Double(max(1, count) * PageLayout.pageByteCount))
    }
  }

  @Test(
    "Packed trees hold the same entries, in as many pages as are live, and can be edited further",
    arguments: [4, 9, Int.max])
  func entries(capacity: Int) throws {
    for seed in seeds(1...4) {
      var random = SeededGenerator(seed: seed)
      var tree = Grown(cellCapacity: capacity)
      var saved = 0
      for round in 0..<12 {
        tree.edit(Int.random(in: 1...400, using: &random), &random)
        let count = try tree.pack(
          bornAfter: StateID(0), leafLimit: Int.random(in: 1...40, using: &random))
        saved += count
        expectSame(tree.root, tree.model, tree.pages, "seed \(seed), round \(round)")
        #expect(
          tree.pages.livePageCount
            == TreeChecker.reachablePages(tree.root, pages: tree.pages).count, "seed \(seed)")
      }
      #expect(saved > 0, "seed \(seed)")
    }
  }

  @Test("A tree that packing makes lower loses its root page", arguments: 4...8)
  func lowerRoot(capacity: Int) throws {
    var lowered = 0
    for seed in UInt64(1)...60 {
      var random = SeededGenerator(seed: seed)
      var tree = Grown(cellCapacity: capacity)
      tree.edit(Int.random(in: 10...120, using: &random), &random)
      guard tree.root.page != 0 else { continue }
      let level = tree.pages.table.top(of: tree.root).level
      _ = try tree.pack(bornAfter: StateID(0), leafLimit: 512)
      expectSame(tree.root, tree.model, tree.pages, "seed \(seed)")
      #expect(
        tree.pages.livePageCount
          == TreeChecker.reachablePages(tree.root, pages: tree.pages).count, "seed \(seed)")
      if tree.pages.table.top(of: tree.root).level < level { lowered += 1 }
    }
    #expect(lowered > 0)
  }

  @Test("The leaves of a tree grown in random order are nearly full afterwards")
  func fill() throws {
    var random = SeededGenerator(seed: 1)
    var tree = Grown(cellCapacity: .max)
    let editor = PageEditor(pages: tree.pages, epoch: 1)
    for _ in 0..<30_000 {
      let key = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
      editor.put(&tree.root, key, [UInt8](repeating: 1, count: 60))
    }
    pages(of: editor, freeing: tree)
    tree.state = StateID(1)
    let before = tree.leaves()
    #expect(before.fill < 0.75)
    #expect(try tree.pack(bornAfter: StateID(0), leafLimit: 512) > before.count / 5)
    let after = tree.leaves()
    #expect(after.fill > 0.96, "\(after)")
    // A second packing finds nothing to do.
    let root = tree.root
    #expect(try tree.pack(bornAfter: StateID(0), leafLimit: 512) == 0)
    #expect(tree.root == root)
  }

  private func pages(of editor: PageEditor, freeing tree: Grown) {
    tree.pages.free(editor.finish().retired)
  }

  @Test("Leaves that an earlier state reaches stay where they are", arguments: seeds(1...3))
  func oldLeaves(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var tree = Grown(cellCapacity: 6)
    tree.edit(3000, &random)
    let bar = tree.state
    for _ in 0..<3 { tree.edit(40, &random) }
    func old() -> Set<PageNumber> {
      var numbers: Set<PageNumber> = []
      Tree(tree.root, pages: tree.pages).forEachPage { page in
        if page.level == 0, page.birth.state <= bar { numbers.insert(page.number) }
      }
      return numbers
    }
    let before = old()
    #expect(before.count > 100)
    #expect(try tree.pack(bornAfter: tree.state, leafLimit: 64) == 0)
    _ = try tree.pack(bornAfter: bar, leafLimit: 64)
    #expect(old() == before)
    expectSame(tree.root, tree.model, tree.pages, "seed \(seed)")
  }

  @Test("The forms of a commit are in order, and end when its editions are used up")
  func forms() throws {
    let pages = PageStore()
    #expect(StateID(3) < StateID(3, form: 1) && StateID(3, form: .max) < StateID(4))
    #expect(PageBirth(3, edition: 2).state == StateID(3, form: 2))
    var last = StateID(3, form: 5)
    for _ in 0..<3 {
      let editor = try #require(PageEditor(pages: pages, formOf: StateID(3, form: 5)))
      #expect(editor.birth.state > last, "each attempt has its own")
      last = editor.birth.state
      editor.discard()
    }
    #expect(PageEditor(pages: pages, formOf: StateID(3, form: .max - 1)) == nil)
  }
}
