// A source's children, found by key and by range of the order.

/// Children by key, and their positions in order.
struct KnownChildren<Data: Sendable & Equatable>: Sendable {
  private var children: [String: SourceChild<Data>] = [:]
  private(set) var positions = RankedList<ChildPosition, Weightless<ChildPosition>>()

  /// A child; nil if it is unknown. O(1).
  subscript(key: String) -> SourceChild<Data>? { children[key] }

  /// Adds a child, or replaces the one with its key. O(log n).
  mutating func set(_ child: SourceChild<Data>) {
    let old = children.updateValue(child, forKey: child.key)
    if old?.position == child.position { return }
    if let old { positions.remove(at: index(of: old.position)) }
    positions.insert(child.position, at: index(of: child.position))
  }

  /// Removes a child. O(log n).
  mutating func remove(_ key: String) {
    guard let old = children.removeValue(forKey: key) else { return }
    positions.remove(at: index(of: old.position))
  }

  /// The keys of the children of a range, in order. O(log n) for each.
  func keys(in range: PositionRange) -> [String] {
    let first = range.first.map(index(of:)) ?? 0
    let end = range.last.map { last in positions.firstPosition { last < $0 } } ?? positions.count
    return (first..<max(first, end)).map { positions[$0].key }
  }

  /// The index of a position, or its insertion index. O(log n).
  func index(of position: ChildPosition) -> Int { positions.firstPosition { !($0 < position) } }
}
