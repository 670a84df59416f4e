// The comparison of two lists row by row, for a notifying reset.

internal import TreeRingMappings

/// The minimal changes from one list to another. O(n log n).
struct ListComparison<Model> {
  /// The new rows, with values carried over.
  private(set) var rows: RankedList<Model, Weightless<Model>>
  private(set) var changes: ListChanges
  /// The rows in both lists, by ascending old position.
  private(set) var common: [IndexMove] = []

  /// Compares two lists; rows with equal `identity` are the same row.
  init(
    _ old: RankedList<Model, Weightless<Model>>, _ new: RankedList<Model, Weightless<Model>>,
    _ identity: ((Model) -> AnyHashable)?, _ rules: ValueRules<Model>
  ) {
    rows = new
    changes = ListChanges(oldCount: old.count, newCount: new.count)
    guard let identity, let oldIndex = Self.index(old, identity),
      let newIndex = Self.index(new, identity)
    else {
      changes.deletes = Array(0..<old.count)
      changes.inserts = Array(0..<new.count)
      return
    }
    for (index, row) in old.elements.enumerated() {
      guard let newPosition = newIndex[identity(row)] else {
        changes.deletes.append(index)
        continue
      }
      let ends = IndexMove(from: index, to: newPosition)
      common.append(ends)
      let (value, isChanged) = rules.value(of: new[newPosition], for: row)
      rows[newPosition] = value
      if isChanged { changes.updates.append(ends) }
    }
    for (index, row) in new.elements.enumerated() where oldIndex[identity(row)] == nil {
      changes.inserts.append(index)
    }
    // Every common row counts as moved, so there are no kept rows.
    let alignment = Alignment(removed: Array(0..<old.count), added: Array(0..<new.count))
    changes.moves = alignment.fewestMoves(of: common, among: 0..<0)
    changes.updates.sort { $0.to < $1.to }
  }

  /// The position of each row by identity; nil if two rows have the same identity.
  private static func index(
    _ rows: RankedList<Model, Weightless<Model>>, _ identity: (Model) -> AnyHashable
  ) -> [AnyHashable: Int]? {
    var index: [AnyHashable: Int] = [:]
    for (position, row) in rows.elements.enumerated() {
      if index.updateValue(position, forKey: identity(row)) != nil { return nil }
    }
    return index
  }
}
