// Keys and prefixes of every length that a search compares by words, and of some beside these.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Lengths of keys") struct KeyLengthTests {
  /// Calls `body` with a key for each length of the page's prefix and of the rest.
  private func forEachKey(_ body: (_ key: Bytes, _ prefixLength: Int) -> Void) {
    for prefixLength in 0...20 {
      for restLength in 0...24 {
        let rest = (0..<restLength).map { UInt8(100 + $0) }
        body(Bytes(repeating: 9, count: prefixLength) + rest, prefixLength)
      }
    }
  }

  /// The keys that differ from a key in one byte, or have one byte less or more at the end.
  private func neighbors(of key: Bytes) -> [Bytes] {
    var neighbors = key.isEmpty ? [] : [Bytes(key.dropLast())]
    for byte in [0, 99, 255] as [UInt8] { neighbors.append(key + [byte]) }
    for index in key.indices {
      for difference in [1, 255, 128] as [UInt8] {
        var other = key
        other[index] &+= difference
        neighbors.append(other)
      }
    }
    return neighbors
  }

  private func tree(_ keys: [Bytes], _ pages: PageStore) -> (root: TreeRoot, model: ModelMap) {
    var root = TreeRoot.empty
    var model = ModelMap()
    let editor = PageEditor(pages: pages, epoch: 1)
    for (number, key) in keys.enumerated() {
      editor.put(&root, key, [UInt8(truncatingIfNeeded: number)])
      _ = model.put(key, [UInt8(truncatingIfNeeded: number)])
    }
    _ = editor.finish()
    return (root, model)
  }

  @Test("A key alone under its head is told from those that differ in one byte or in length")
  func alone() {
    forEachKey { key, prefixLength in
      let pages = PageStore(cellCapacity: .max)
      // The prefix of the page is what these have in common.
      let stem = Bytes(key.prefix(prefixLength))
      let (root, model) = tree([stem + [1], key, stem + [255]], pages)
      #expect(pages.table.top(of: root).prefixLength == prefixLength)
      expectSameReads(
        root, model, pages, keys: [key] + neighbors(of: key), "\(prefixLength) of \(key.count)")
    }
  }

  @Test("So it is among many keys of its head, in leaves and above them", arguments: [4, Int.max])
  func amongOthers(capacity: Int) {
    forEachKey { key, prefixLength in
      let pages = PageStore(cellCapacity: capacity)
      let others = neighbors(of: key)
      // Every second one is there.
      let present = others.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
      let (root, model) = tree([key] + present, pages)
      expectSameReads(
        root, model, pages, keys: [key] + others, "\(prefixLength) of \(key.count)")
    }
  }
}
