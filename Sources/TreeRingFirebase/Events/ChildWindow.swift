// The children of a location in a part of an order, kept up to date with the events of a stream.
//
//   1. The event is applied to the tree of the location.
//   2. Each child below which the event changed something is compared with its known version. An
//      event of the whole location compares all children.
//   3. The differences become child events: removals in the old order, then additions and moves in
//      the new order, then changes in the new order.
//
// A child lies in the part if its bytes do (OrderInterval). So a stream may send more children than
// the part has, but not fewer.

internal import TreeRingCollections

/// The differences between two states of a window.
struct WindowChange: Equatable {
  var removed: [FirebaseChild] = []
  /// The children added or moved, in order.
  var placed: [Placement] = []
  /// The children with other data, in order.
  var changed: [SourceChild<FirebaseChild>] = []

  struct Placement: Equatable {
    let child: SourceChild<FirebaseChild>
    let previous: FirebaseKey?
    let isNew: Bool
  }

  /// The keys of all children that differ.
  var keys: [FirebaseKey] {
    removed.map(\.key) + placed.map(\.child.data.key) + changed.map(\.data.key)
  }

  /// The differences as child events.
  var events: [FirebaseChildEvent] {
    removed.map { .removed($0) }
      + placed.map {
        $0.isNew
          ? .added($0.child.data, previous: $0.previous)
          : .moved($0.child.data, previous: $0.previous)
      } + changed.map { .changed($0.data) }
  }

  /// The differences as events of a source: removals, then children set, each once.
  var sourceEvents: [SourceEvent<FirebaseChild>] {
    // A child that moved changed too: its value in the order is part of its data.
    let moved = Set(changed.map(\.key))
    return removed.map { .removed(key: $0.key.childKey) }
      + placed.filter { !moved.contains($0.child.key) }.map { .set($0.child) }
      + changed.map { .set($0) }
  }
}

/// The children of a location in a part of an order.
struct ChildWindow {
  private let order: FirebaseOrder
  private var interval: OrderInterval
  private var tree = FirebaseNode.null
  private var known = KnownChildren<FirebaseChild>()

  /// An empty window.
  init(_ order: FirebaseOrder, _ interval: OrderInterval) {
    self.order = order
    self.interval = interval
  }

  /// The children, in order. O(n log n).
  var children: [SourceChild<FirebaseChild>] {
    known.keys(in: PositionRange()).compactMap { known[$0] }
  }

  /// Replaces the part of the order, and the location's tree unless it is nil. O(n log n) for n
  /// children.
  mutating func replace(
    _ interval: OrderInterval, by tree: FirebaseNode? = nil
  ) -> WindowChange {
    self.interval = interval
    if let tree { self.tree = tree }
    return compareAll()
  }

  /// Applies an event to the tree. O(log n) for each child below which something changed.
  mutating func apply(_ replacements: [TreeEvent.Replacement]) -> WindowChange {
    var affected: Set<FirebaseKey> = []
    var isWhole = false
    for replacement in replacements {
      tree.replace(replacement.path, by: replacement.node)
      if let key = replacement.path.keys.first { affected.insert(key) } else { isWhole = true }
    }
    return isWhole ? compareAll() : compare(affected)
  }

  /// Shows the children of another window of the same order.
  ///
  /// - Parameter affected: The keys of children that may differ; nil if all may.
  mutating func advance(to other: ChildWindow, _ affected: Set<FirebaseKey>?) -> WindowChange {
    (interval, tree) = (other.interval, other.tree)
    return affected.map { compare($0) } ?? compareAll()
  }

  private mutating func compareAll() -> WindowChange {
    var affected = Set(tree.keys)
    for key in known.keys(in: PositionRange()) {
      if let child = known[key] { affected.insert(child.data.key) }
    }
    return compare(affected)
  }

  /// Brings the known children of these keys up to date with the tree.
  private mutating func compare(_ keys: Set<FirebaseKey>) -> WindowChange {
    var change = WindowChange()
    var removed: [SourceChild<FirebaseChild>] = []
    var placed: [(child: SourceChild<FirebaseChild>, isNew: Bool)] = []
    for key in keys {
      let old = known[key.childKey]
      guard let new = child(key) else {
        if let old { removed.append(old) }
        continue
      }
      if old?.position != new.position { placed.append((new, isNew: old == nil)) }
      if let old, old.data != new.data { change.changed.append(new) }
    }
    removed.sort { $0.position < $1.position }
    placed.sort { $0.child.position < $1.child.position }
    change.changed.sort { $0.position < $1.position }
    for child in removed { known.remove(child.key) }
    for (child, _) in placed { known.set(child) }
    for child in change.changed { known.set(child) }
    change.removed = removed.map(\.data)
    change.placed = placed.map { child, isNew in
      let before = known.key(before: child.position)
      return WindowChange.Placement(
        child: child, previous: before.flatMap { known[$0]?.data.key }, isNew: isNew)
    }
    return change
  }

  /// The child of a key in this part; nil if it does not exist or lies elsewhere.
  private func child(_ key: FirebaseKey) -> SourceChild<FirebaseChild>? {
    guard let node = tree.child(key) else { return nil }
    let child = FirebaseChild(key: key, node: node)
    let position = ChildPosition(child, in: order)
    return interval.contains(position.orderBytes) ? SourceChild(child, at: position) : nil
  }
}
