// Changesets built from their operations, for callers that keep changes in another form.

package import TreeRing

extension Changeset {
  /// A changeset of these operations, given in any order.
  package init(
    before: [Section], after: [Section], sections: SectionChanges,
    deletes: [(row: RowID, path: RowPath)], inserts: [(row: RowID, path: RowPath)],
    moves: [(row: RowID, from: RowPath, to: RowPath)],
    updates: [(row: RowID, from: RowPath, to: RowPath, parts: Parts)]
  ) {
    self.init(before: Outline(before), after: Outline(after))
    self.sections = sections
    rows.deletes = deletes.map { ListedRow(row: $0.row, path: $0.path) }
    rows.inserts = inserts.map { ListedRow(row: $0.row, path: $0.path) }
    rows.moves = moves.map { RowMove(row: $0.row, from: $0.from, to: $0.to) }
    rows.updates = updates.map {
      RowUpdate(row: $0.row, from: $0.from, to: $0.to, parts: $0.parts)
    }
    rows.sort()
  }
}
