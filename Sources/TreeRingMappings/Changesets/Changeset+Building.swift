// Changesets put together from their operations, for those who keep changes in another form.

package import TreeRing

extension Changeset {
  /// A changeset of one section that stays, from rows and positions.
  ///
  /// - Parameters:
  ///   - group: The section's group.
  ///   - counts: How many rows it has before and after.
  package init(
    group: GroupName, counts: (before: Int, after: Int), deletes: [(row: RowID, index: Int)],
    inserts: [(row: RowID, index: Int)], moves: [(row: RowID, from: Int, to: Int)],
    updates: [(row: RowID, from: Int, to: Int, parts: Parts)]
  ) {
    self.init(
      before: [Section(group: group, count: counts.before)],
      after: [Section(group: group, count: counts.after)])
    func path(_ row: Int) -> RowPath { RowPath(section: 0, row: row) }
    rows.deletes = deletes.map { ListedRow(row: $0.row, path: path($0.index)) }
    rows.inserts = inserts.map { ListedRow(row: $0.row, path: path($0.index)) }
    rows.moves = moves.map { RowMove(row: $0.row, from: path($0.from), to: path($0.to)) }
    rows.updates = updates.map {
      RowUpdate(row: $0.row, from: path($0.from), to: path($0.to), parts: $0.parts)
    }
  }
}
