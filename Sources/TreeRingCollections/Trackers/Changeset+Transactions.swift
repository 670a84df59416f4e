// Changesets of mappings as transactions, and back.

public import TreeRing
public import TreeRingMappings

/// What a transaction made from a changeset says of its row.
public struct ChangedRow: Hashable, Sendable {
  /// Which row.
  public let row: RowID
  /// What of it changed; nil for a row that comes, or that moves and is as it was.
  public let parts: Parts?
}

extension Changeset {
  /// The changeset as transactions, if it shows one section before and after. A row that moves and
  /// changes is listed as both. O(operations).
  ///
  /// - Throws: `notAllowed` for a changeset of several sections.
  public func transactions() throws(TreeRingError) -> [ListTransaction<ChangedRow>] {
    guard before.count == 1, after.count == 1, sections.isEmpty else {
      throw TreeRingError(
        .notAllowed,
        "Only a changeset of one section that stays is a list of transactions; map the groups one "
          + "by one, or consolidate them.")
    }
    return rows.deletes.map { .delete(index: $0.path.row) }
      + rows.inserts.map {
        .insert(ChangedRow(row: $0.row, parts: nil), newIndex: $0.path.row)
      }
      + rows.moves.map {
        .move(ChangedRow(row: $0.row, parts: nil), index: $0.from.row, newIndex: $0.to.row)
      }
      + rows.updates.map {
        .update(ChangedRow(row: $0.row, parts: $0.parts), index: $0.from.row)
      }
  }

  /// The changeset that transactions were made of.
  ///
  /// - Parameters:
  ///   - group: The group shown.
  ///   - oldCount: How many of its rows were shown.
  ///   - oldRow: Which row was shown at an index before; asked for rows that go.
  /// - Throws: `invalidInput` for transactions that contradict themselves or the count, or an update that
  ///   does not say which parts changed.
  public init(
    _ transactions: [ListTransaction<ChangedRow>], group: GroupName, oldCount: Int,
    oldRow: (Int) -> RowID
  ) throws(TreeRingError) {
    var deletes: [Int] = []
    var inserts: [(row: RowID, index: Int)] = []
    var moves: [(row: RowID, from: Int, to: Int)] = []
    var updates: [(row: RowID, index: Int, parts: Parts)] = []
    for transaction in transactions {
      switch transaction {
      case .delete(let index): deletes.append(index)
      case .insert(let model, let index): inserts.append((model.row, index))
      case .move(let model, let index, let newIndex): moves.append((model.row, index, newIndex))
      case .update(let model, let index):
        guard let parts = model.parts else {
          throw BatchCheck.refusal("an update does not say what changed")
        }
        updates.append((model.row, index, parts))
      }
    }
    try BatchCheck(oldCount: oldCount, newCount: oldCount - deletes.count + inserts.count).check(
      deletes: deletes, inserts: inserts.map(\.index), moves: moves.map { ($0.from, $0.to) },
      updates: updates.map(\.index))
    let alignment = Alignment(
      removed: (deletes + moves.map(\.from)).sorted(),
      added: (inserts.map(\.index) + moves.map(\.to)).sorted())
    let targets = Dictionary(uniqueKeysWithValues: moves.map { ($0.from, $0.to) })
    self.init(
      group: group, counts: (oldCount, oldCount - deletes.count + inserts.count),
      deletes: deletes.sorted().map { (oldRow($0), $0) },
      inserts: inserts.sorted { $0.index < $1.index }, moves: moves.sorted { $0.to < $1.to },
      updates: updates.map { update in
        let kept = alignment.keptBefore(old: update.index)
        let to = targets[update.index] ?? alignment.newPosition(ofKept: kept)
        return (update.row, update.index, to, update.parts)
      }.sorted { $0.2 < $1.2 })
  }
}
