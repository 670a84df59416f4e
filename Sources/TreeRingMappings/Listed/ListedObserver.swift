// The changes between two states of a list that another process keeps: the same type, and as
// minimal, as those of a store.

package import TreeRing
package import TreeRingLog

/// A position in a list that another process keeps.
package struct ListedObserver: Sendable {
  private var cursor: MappingCursor?
  /// The state shown.
  private var shown = ListedRows()

  /// An observer that shows nothing yet.
  package init() {}

  /// The state shown.
  package var rows: ListedRows { shown }

  /// Advances to another state. The first change is a reset.
  ///
  /// O(k log n) for k rows that may differ, and O(sections) if a section comes, goes or moves.
  /// - Parameters:
  ///   - next: The state to show.
  ///   - index: The name of the index, of which the list shows groups.
  ///   - commit: The commit of that state.
  ///   - changed: All rows that may differ, with the reported parts; whether the object differs is
  ///     compared.
  ///   - limit: The maximum number of operations to list; a larger change is a reset.
  package mutating func advance(
    to next: ListedRows, of index: String, at commit: CommitNumber,
    changed: [RowReference: Parts], limit: Int
  ) throws(TreeRingError) -> Change {
    let old = shown
    shown = next
    guard var cursor else {
      var cursor = MappingCursor(Mappings(of: index, groups: next.sections))
      let change = try cursor.reset(to: next, at: commit)
      self.cursor = cursor
      return change
    }
    var affected = AffectedRows(from: cursor.commit, to: commit)
    for (row, parts) in changed {
      let (before, after) = (old.row(row), next.row(row))
      if before == nil, after == nil { continue }
      affected.rows[row] = AffectedRow(
        oldPlaces: old.placeList(of: row), newPlaces: next.placeList(of: row),
        oldContent: before.map { _ in Self.content(parts, isNew: false) },
        newContent: after.map { after in
          Self.content(parts, isNew: true, hasOtherObject: after.object != before?.object)
        })
    }
    let hasSameSections = old.sections == next.sections
    let change = try cursor.advance(
      to: next, by: affected,
      mappings: hasSameSections ? nil : Mappings(of: index, groups: next.sections), limit: limit)
    self.cursor = cursor
    return change
  }

  /// Contents that differ in exactly these parts.
  private static func content(
    _ parts: Parts, isNew: Bool, hasOtherObject: Bool = false
  ) -> RowContent {
    RowContent(
      object: hasOtherObject ? 1 : 0, metadata: isNew && parts.contains(.metadata) ? 1 : 0,
      touched: parts.contains(.touched) ? .max : 0)
  }
}

extension ShownRows {
  /// The content of a row in a list that another process keeps. Both states of a change have the
  /// contents of the later one. Nil if the row is not shown, or if a store keeps the list.
  package func listedObject(of row: RowID) -> [UInt8]? {
    (groups as? ListedRows)?.object(of: row)
  }
}
