// A changeset as sequential operations, for arrays and for views that apply each call at once:
// deletes from the back, then sections, then rows by ascending final path.

public import TreeRing

/// One operation, in the positions at the time it is applied. A move takes its element out first
/// and then inserts it.
public enum Step: Hashable, Sendable {
  /// Deletes a row.
  case deleteRow(RowID, at: RowPath)
  /// Deletes a section.
  case deleteSection(at: Int)
  /// Inserts a section with all the rows that the state after the change shows in it.
  case insertSection(Section, at: Int)
  /// Moves a section.
  case moveSection(from: Int, to: Int)
  /// Inserts a row.
  case insertRow(RowID, at: RowPath)
  /// Moves a row.
  case moveRow(RowID, from: RowPath, to: RowPath)
  /// Updates these parts of a row.
  case updateRow(RowID, at: RowPath, Parts)
}

extension Changeset {
  /// The changeset as a sequence with the same number of operations. O(k log k) for k operations,
  /// and O(sections) if sections change.
  public func steps() -> [Step] {
    var steps: [Step] = []
    steps.reserveCapacity(count)
    for delete in rows.deletes.reversed() {
      steps.append(.deleteRow(delete.row, at: delete.path))
    }
    for section in sections.deletes.reversed() { steps.append(.deleteSection(at: section)) }
    appendSections(to: &steps)
    appendRows(to: &steps)
    for update in rows.updates {
      steps.append(.updateRow(update.row, at: update.to, update.parts))
    }
    return steps
  }

  private func appendSections(to steps: inout [Step]) {
    let deletes = Alignment(removed: sections.deletes)
    func path(_ section: Int) -> RowPath { RowPath(section: 0, row: section) }
    let arrivals =
      (sections.inserts.map { SequentialPlan.Placement(from: nil, to: path($0)) }
      + sections.moves.map {
        SequentialPlan.Placement(from: path(deletes.keptBefore(old: $0.from)), to: path($0.to))
      }).sorted { $0.to < $1.to }
    var plan = SequentialPlan(arrivals)
    for (arrival, placement) in zip(arrivals, plan.placements()) {
      if let from = placement.from {
        steps.append(.moveSection(from: from.row, to: placement.to.row))
      } else {
        steps.append(.insertSection(newOutline[arrival.to.row], at: placement.to.row))
      }
    }
  }

  private func appendRows(to steps: inout [Step]) {
    let arrangement = Arrangement(of: self)
    let arrivals =
      (rows.inserts.map { (row: $0.row, from: RowPath?.none, to: $0.path) }
      + rows.moves.map { (row: $0.row, from: arrangement.path(of: $0.from), to: $0.to) })
      .sorted { $0.to < $1.to }
    var plan = SequentialPlan(
      arrivals.map { SequentialPlan.Placement(from: $0.from, to: $0.to) })
    for (arrival, placement) in zip(arrivals, plan.placements()) {
      if let from = placement.from {
        steps.append(.moveRow(arrival.row, from: from, to: placement.to))
      } else {
        steps.append(.insertRow(arrival.row, at: placement.to))
      }
    }
  }
}
