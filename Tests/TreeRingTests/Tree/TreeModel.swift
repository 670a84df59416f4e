// The common part of the tree tests: seeded randomness, a sorted-array model, and a bench that
// edits both and compares all reads.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

typealias Bytes = [UInt8]

func < (a: Bytes, b: Bytes) -> Bool { a.lexicographicallyPrecedes(b) }

/// A map as a sorted array.
struct ModelMap: Equatable {
  var keys: [Bytes] = []
  var values: [Bytes] = []

  func lowerBound(_ key: Bytes) -> Int {
    var low = 0
    var high = keys.count
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func value(_ key: Bytes) -> Bytes? {
    let index = lowerBound(key)
    return index < keys.count && keys[index] == key ? values[index] : nil
  }

  mutating func put(_ key: Bytes, _ value: Bytes) -> Bool {
    let index = lowerBound(key)
    if index < keys.count, keys[index] == key {
      values[index] = value
      return false
    }
    keys.insert(key, at: index)
    values.insert(value, at: index)
    return true
  }

  mutating func remove(_ key: Bytes) -> Bool {
    let index = lowerBound(key)
    guard index < keys.count, keys[index] == key else { return false }
    keys.remove(at: index)
    values.remove(at: index)
    return true
  }
}

extension PageEditor {
  @discardableResult
  func put(_ root: inout TreeRoot, _ key: Bytes, _ value: Bytes) -> Bool {
    key.withUnsafeBytes { key in value.withUnsafeBytes { put(&root, key: key, value: $0) } }
  }

  @discardableResult
  func remove(_ root: inout TreeRoot, _ key: Bytes) -> Bool {
    key.withUnsafeBytes { remove(&root, key: $0) }
  }
}

extension Tree {
  func get(_ key: Bytes) -> Bytes? {
    key.withUnsafeBytes { value(of: $0).map { Bytes($0) } }
  }

  func rank(_ key: Bytes) -> Int { key.withUnsafeBytes { rank(of: $0) } }

  func entry(_ position: Int) -> (Bytes, Bytes) {
    withEntry(at: position) { (Bytes($0), Bytes($1)) }
  }

  func map() -> ModelMap {
    var map = ModelMap()
    forEach { key, value in
      map.keys.append(Bytes(key))
      map.values.append(Bytes(value))
      return true
    }
    return map
  }
}

/// Checks the invariants, and that a full scan equals the model.
func expectSame(
  _ root: TreeRoot, _ model: ModelMap, _ pages: PageStore, _ note: String,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  let violations = TreeChecker.check(root, pages: pages)
  #expect(violations.isEmpty, "\(note): \(violations.prefix(3))", sourceLocation: sourceLocation)
  #expect(root.count == UInt64(model.keys.count), "\(note)", sourceLocation: sourceLocation)
  let map = Tree(root, pages: pages).map()
  #expect(map == model, "\(note): contents differ", sourceLocation: sourceLocation)
}

/// Compares lookups, positions, cursors and counts around some keys with the model.
func expectSameReads(
  _ root: TreeRoot, _ model: ModelMap, _ pages: PageStore, keys: [Bytes], _ note: String,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  let tree = Tree(root, pages: pages)
  var cursor = tree.makeCursor()
  for key in keys {
    let index = model.lowerBound(key)
    let isFound = index < model.keys.count && model.keys[index] == key
    var isSame = tree.get(key) == model.value(key) && tree.rank(key) == index
    key.withUnsafeBytes { bytes in
      isSame = isSame && tree.contains(bytes) == isFound
      isSame = isSame && tree.place(of: bytes) == (index, isFound)
      isSame = isSame && (!isFound || tree.rank(ofPresent: bytes) == index)
      let before = tree.withKey(before: bytes) { Array($0) }
      isSame = isSame && before == (index > 0 ? model.keys[index - 1] : nil)
      isSame = isSame && tree.count(from: bytes) == model.keys.count - index
      isSame = isSame && cursor.seek(to: bytes) == (index < model.keys.count)
    }
    if index < model.keys.count {
      isSame = isSame && tree.entry(index) == (model.keys[index], model.values[index])
      isSame = isSame && cursor.position == index
      isSame = isSame && cursor.withEntry { key, _ in Bytes(key) == model.keys[index] }
      isSame = isSame && cursor.next() == (index + 1 < model.keys.count)
      if cursor.isValid {
        isSame = isSame && cursor.withEntry { _, value in Bytes(value) == model.values[index + 1] }
        isSame = isSame && cursor.previous() && cursor.position == index
      }
    }
    #expect(isSame, "\(note): reads at \(Key(bytes: key)) differ", sourceLocation: sourceLocation)
  }
}
