// A source's children, found by key and by range of the order.

/// Children by key, and their positions in order.
package struct KnownChildren<Data: Sendable & Equatable>: Sendable {
  private var children: [String: SourceChild<Data>] = [:]
  private(set) var positions = RankedList<ChildPosition, Weightless<ChildPosition>>()

  /// No children.
  package init() {}

  /// A child; nil if it is unknown. O(1).
  package subscript(key: String) -> SourceChild<Data>? { children[key] }

  /// Adds a child, or replaces the one with its key. O(log n).
  package mutating func set(_ child: SourceChild<Data>) {
    let old = children.updateValue(child, forKey: child.key)
    if old?.position == child.position { return }
    if let old { positions.remove(at: index(of: old.position)) }
    positions.insert(child.position, at: index(of: child.position))
  }

  /// Removes a child. O(log n).
  package mutating func remove(_ key: String) {
    guard let old = children.removeValue(forKey: key) else { return }
    positions.remove(at: index(of: old.position))
  }

  /// The keys of the children of a range, in order. O(log n) for each.
  package func keys(in range: PositionRange) -> [String] {
    let first = range.first.map(index(of:)) ?? 0
    let end = range.last.map { last in positions.firstPosition { last < $0 } } ?? positions.count
    return (first..<max(first, end)).map { positions[$0].key }
  }

  /// The key of the last child before a position; nil if there is none. O(log n).
  package func key(before position: ChildPosition) -> String? {
    let index = index(of: position)
    return index > 0 ? positions[index - 1].key : nil
  }

  /// The index of a position, or its insertion index. O(log n).
  func index(of position: ChildPosition) -> Int { positions.firstPosition { !($0 < position) } }
}
