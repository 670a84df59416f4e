// A source's children as last prepared, found by key and by range of the order.

/// Children by key, and their positions in order.
struct KnownChildren<Data: Sendable & Equatable>: Sendable {
  private var children: [String: SourceChild<Data>] = [:]
  private var positions = RankedList<ChildPosition, Weightless<ChildPosition>>()

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
    positions.indices(in: range) { $0 }.map { positions[$0].key }
  }

  private func index(of position: ChildPosition) -> Int {
    positions.firstPosition { !($0 < position) }
  }
}

extension RankedList {
  /// The indices of the elements in a range of the list's order. O(log n).
  func indices(in range: PositionRange, _ position: (Element) -> ChildPosition) -> Range<Int> {
    let first = range.first.map { first in firstPosition { !(position($0) < first) } } ?? 0
    let end = range.last.map { last in firstPosition { last < position($0) } } ?? count
    return first..<max(first, end)
  }
}
