// A batch for a list in sections: its check and its effect on the sections. It reads the batch's
// values and the sections before, never other rows.

internal import TreeRingLog
internal import TreeRingMappings

/// A batch, checked against a list in sections.
struct SectionedPlan {
  let rows: BatchPlan<RowNumber>
  /// The sections after it.
  private(set) var sections: SectionRuns
  /// The net changes.
  let changes: SectionedChanges

  /// Checks a batch. O(k log n) for k transactions.
  ///
  /// - Parameters:
  ///   - rows: The batch, checked against the list.
  ///   - old: The sections of that list.
  ///   - title: The title of a row of the batch.
  /// - Throws: `invalidInput` for a row inserted between two rows of one section under another
  ///   title.
  init(
    _ rows: BatchPlan<RowNumber>, on old: SectionRuns, title: (RowNumber) -> TitleNumber
  ) throws(TreeRingError) {
    self.rows = rows
    sections = old
    let comers = rows.comers.map { (index: $0.index, title: title($0.model)) }
    let updates = rows.updates.map { (index: $0.index, title: title($0.model)) }
    let retitledUpdates = updates.filter { $0.title != old.section(ofRow: $0.index).title }
    try Self.refuseForeign(comers, between: old, retitledUpdates, rows)

    var titles = Dictionary(uniqueKeysWithValues: comers.map { ($0.index, $0.title) })
    for update in updates {
      let kept = rows.alignment.keptBefore(old: update.index)
      titles[rows.alignment.newPosition(ofKept: kept)] = update.title
    }
    let list = rows.changes
    let moving = Set(list.moves.map { $0.from })
    // A row that must move although the batch does not move it has no new value.
    for move in list.moves where titles[move.to] == nil {
      titles[move.to] = old.section(ofRow: move.from).title
    }
    let retitledMoves = rows.moves.filter {
      !moving.contains($0.from) && titles[$0.to] != old.section(ofRow: $0.from).title
    }
    let retitled =
      retitledMoves.map { $0.from }
      + retitledUpdates.map { $0.index }.filter { !moving.contains($0) }
    let alignment = list.alignment
    for row in (alignment.removed + retitled).sorted().reversed() { sections.remove(row: row) }
    let back = retitled.map { alignment.newPosition(ofKept: alignment.keptBefore(old: $0)) }
    for row in (alignment.added + back).sorted() {
      if let title = titles[row] { sections.insert(title, row: row) }
    }
    changes = SectionedDifference(list, from: old, to: sections, retitled: retitled).changes
  }

  /// Refuses a row inserted between two rows of one section under another title. An exception: if
  /// one of the two changes its title too, it already splits the section.
  private static func refuseForeign(
    _ comers: [(index: Int, title: TitleNumber)], between old: SectionRuns,
    _ retitled: [(index: Int, title: TitleNumber)], _ rows: BatchPlan<RowNumber>
  ) throws(TreeRingError) {
    let alignment = rows.alignment
    let keptCount = rows.oldCount - alignment.removed.count
    let splitting = Set(retitled.map { alignment.keptBefore(old: $0.index) })
    for row in comers {
      let next = alignment.keptBefore(new: row.index)
      guard next > 0, next < keptCount else { continue }
      let section = old.section(ofRow: alignment.oldPosition(ofKept: next))
      if row.title != section.title,
        section.rows.contains(alignment.oldPosition(ofKept: next - 1)),
        !splitting.contains(next - 1), !splitting.contains(next)
      {
        throw .refusedBatch(
          "the row at index \(row.index) after the batch has another title than the section "
            + "around it; sort the list by section first")
      }
    }
  }
}
