// The trees of the group indexes at one commit. They are in a persistent map: a commit copies the
// path to the indexes it affects and shares the rest with the state before it.

internal import TreeRingLog

/// The trees of every group index maintained at one commit.
package struct IndexTrees: Sendable {
  private var byNumber = PersistentMap<IndexRoots>()

  init() {}

  /// The trees of a definition, by its number; nil if they are not maintained. O(log n).
  subscript(number: UInt32) -> IndexRoots? {
    get { byNumber[UInt64(number)] }
    set { byNumber[UInt64(number)] = newValue }
  }

  /// The number of indexes.
  package var count: Int { byNumber.count }

  /// Whether no index is maintained.
  package var isEmpty: Bool { byNumber.count == 0 }

  /// The trees of each index, in the order of their definitions' numbers. O(n log n).
  package var all: [IndexRoots] {
    var all: [IndexRoots] = []
    all.reserveCapacity(count)
    byNumber.forEach { all.append($1) }
    return all.sorted { $0.number < $1.number }
  }

  /// Adds the trees of an index, or replaces its old ones. O(log n).
  package mutating func set(_ roots: IndexRoots) { self[roots.number] = roots }

  /// The approximate heap bytes that a state takes if it differs from another in `changedCount` of
  /// these indexes: a full node of the map for each.
  func byteCount(changing changedCount: Int) -> Int {
    changedCount * (64 + min(count, 32) * (MemoryLayout<IndexRoots>.stride + 16))
  }
}
