import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Editing a tree") struct TreeEditTests {
  /// One kind of workload: the number of cells to a page, and the form of keys and values.
  enum Shape: CaseIterable {
    case tinyPages, wholePages, longKeys, manyPrefixes, bigCells
    var cellCapacity: Int { self == .tinyPages ? 4 : .max }
    var stepCount: Int { self == .tinyPages || self == .wholePages ? 1200 : 500 }

    func key(_ random: inout SeededGenerator) -> Bytes {
      switch self {
      case .tinyPages: number(Int.random(in: 0..<400, using: &random), digits: 3)
      case .wholePages: number(Int.random(in: 0..<900, using: &random), digits: 16)
      case .longKeys:
        Bytes(repeating: 7, count: Int.random(in: 0...1900, using: &random))
          + number(Int.random(in: 0..<30, using: &random), digits: 2)
      case .manyPrefixes: prefixTorture(&random)
      case .bigCells: number(Int.random(in: 0..<200, using: &random), digits: 4)
      }
    }

    func value(_ random: inout SeededGenerator, keyLength: Int) -> Bytes {
      let room = PageLayout.maxCellByteCount - keyLength
      let limit = self == .bigCells || self == .longKeys ? room : 12
      let length = Int.random(in: 0...min(room, limit), using: &random)
      return Bytes(repeating: UInt8.random(in: 0...255, using: &random), count: length)
    }

    private func number(_ value: Int, digits: Int) -> Bytes {
      let text = String(value * 7919 % 1_000_003)
      return Bytes((String(repeating: "0", count: max(0, digits - text.count)) + text).utf8)
    }

    private func prefixTorture(_ random: inout SeededGenerator) -> Bytes {
      let stem = Bytes(
        repeating: [0, 0, 1, 255].randomElement(using: &random) ?? 0,
        count: [0, 0, 1, 3, 4, 5, 8, 300, 1000].randomElement(using: &random) ?? 0)
      let tailLength = Int.random(in: 0...6, using: &random)
      return stem + (0..<tailLength).map { _ in [0, 0, 1, 255].randomElement(using: &random) ?? 0 }
    }
  }

  @Test("Random edits in many transactions agree with a sorted array", arguments: Shape.allCases)
  func randomEdits(_ shape: Shape) {
    for seed in seeds(1...2) {
      var random = SeededGenerator(seed: seed)
      let pages = PageStore(cellCapacity: shape.cellCapacity)
      var root = TreeRoot.empty
      var model = ModelMap()
      var epoch: CommitNumber = 1
      var editor = PageEditor(pages: pages, epoch: epoch)
      for step in 0..<shape.stepCount {
        let note = "\(shape), seed \(seed), step \(step)"
        let key = shape.key(&random)
        // The tree grows for two thirds of the steps, then shrinks.
        let putShare = step < shape.stepCount * 2 / 3 ? 0.75 : 0.2
        if Double.random(in: 0..<1, using: &random) < putShare {
          let value = shape.value(&random, keyLength: key.count)
          #expect(editor.put(&root, key, value) == model.put(key, value), "\(note)")
        } else {
          let victim =
            Bool.random(using: &random) ? model.keys.randomElement(using: &random) ?? key : key
          #expect(editor.remove(&root, victim) == model.remove(victim), "\(note)")
        }
        let other = shape.key(&random)
        expectSameReads(root, model, pages, keys: [key, other, key + [0]], note)
        if step % 20 == 0 || step > shape.stepCount - 20 { expectSame(root, model, pages, note) }
        if Int.random(in: 0..<10, using: &random) == 0 {
          pages.free(editor.finish().retired.map(\.number))
          epoch += 1
          editor = PageEditor(pages: pages, epoch: epoch)
        }
      }
      for key in model.keys.shuffled(using: &random) { #expect(editor.remove(&root, key)) }
      #expect(root == .empty)
      pages.free(editor.finish().retired.map(\.number))
      #expect(pages.livePageCount == 0, "\(shape), seed \(seed)")
    }
  }

  @Test("Removing all entries leaves no page", arguments: [4, Int.max])
  func removeAll(capacity: Int) {
    let pages = PageStore(cellCapacity: capacity)
    var root = TreeRoot.empty
    let first = PageEditor(pages: pages, epoch: 1)
    for number in 0..<500 { first.put(&root, Bytes("\(number)".utf8), [1]) }
    _ = first.finish()
    let second = PageEditor(pages: pages, epoch: 2)
    for number in 0..<50 { second.put(&root, Bytes("\(number)".utf8), [2]) }
    second.removeAll(&root)
    #expect(root == .empty)
    pages.free(second.finish().retired.map(\.number))
    #expect(pages.livePageCount == 0)
  }

  @Test("A discarded transaction leaves the old tree and no page behind", arguments: [4, Int.max])
  func discard(capacity: Int) {
    let pages = PageStore(cellCapacity: capacity)
    var root = TreeRoot.empty
    var model = ModelMap()
    let first = PageEditor(pages: pages, epoch: 1)
    for number in 0..<300 {
      let key = Bytes("\(number)".utf8)
      first.put(&root, key, [1])
      _ = model.put(key, [1])
    }
    _ = first.finish()
    let liveCount = pages.livePageCount
    let old = root
    let second = PageEditor(pages: pages, epoch: 1)
    for number in 0..<400 {
      if number % 3 == 0 { second.remove(&root, Bytes("\(number)".utf8)) }
      second.put(&root, Bytes("\(number)x".utf8), Bytes(repeating: 9, count: number))
    }
    second.discard()
    #expect(pages.livePageCount == liveCount)
    expectSame(old, model, pages, "after discard")
  }

  @Test("Removing an absent key changes nothing")
  func removeAbsent() {
    let pages = PageStore(cellCapacity: 4)
    var root = TreeRoot.empty
    let first = PageEditor(pages: pages, epoch: 1)
    for number in 0..<50 { first.put(&root, [UInt8(number)], []) }
    _ = first.finish()
    let old = root
    let second = PageEditor(pages: pages, epoch: 2)
    #expect(!second.remove(&root, [200]))
    #expect(!second.remove(&root, []))
    #expect(root == old)
    #expect(second.allocated.isEmpty && second.retired.isEmpty)
    second.discard()
  }

  @Test("Ascending keys leave full pages behind")
  func ascendingKeysFillPages() {
    let pages = PageStore()
    let editor = PageEditor(pages: pages, epoch: 1)
    var root = TreeRoot.empty
    var model = ModelMap()
    for number in 100_000..<110_000 {
      let key = Bytes("key\(number)".utf8)
      editor.put(&root, key, [])
      model.keys.append(key)
      model.values.append([])
    }
    expectSame(root, model, pages, "built")
    // 10 bytes an entry besides at most 2 bytes of tail.
    #expect(pages.livePageCount < 10_000 * 12 / 4000 + 3)
    editor.discard()
    #expect(pages.livePageCount == 0)
  }

  @Test("The longest key and the longest value fit")
  func longest() {
    let pages = PageStore()
    let editor = PageEditor(pages: pages, epoch: 1)
    var root = TreeRoot.empty
    var model = ModelMap()
    for byte in [UInt8](0...40).reversed() {
      let key = [byte] + Bytes(repeating: byte, count: PageLayout.maxCellByteCount - 1)
      #expect(editor.put(&root, key, []))
      _ = model.put(key, [])
      let short = [byte]
      let value = Bytes(repeating: byte, count: PageLayout.maxCellByteCount - 1)
      #expect(editor.put(&root, short, value))
      _ = model.put(short, value)
      expectSame(root, model, pages, "after \(byte)")
    }
    editor.discard()
  }
}
