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
    let targets =
      sections.inserts.map { SequentialPlan.Target(list: 0, position: $0, source: nil) }
      + sections.moves.map { move in
        let position = deletes.keptBefore(old: move.from)
        return SequentialPlan.Target(
          list: 0, position: move.to, source: SequentialPlan.Source(list: 0, position: position))
      }
    if targets.isEmpty { return }
    let ordered = targets.sorted { $0.position < $1.position }
    var plan = SequentialPlan(ordered)
    for (target, placement) in zip(ordered, plan.placements()) {
      if let from = placement.from {
        steps.append(.moveSection(from: from.position, to: placement.to.position))
      } else {
        steps.append(.insertSection(after[target.position], at: placement.to.position))
      }
    }
  }

  private func appendRows(to steps: inout [Step]) {
    if rows.moves.isEmpty {
      for insert in rows.inserts { steps.append(.insertRow(insert.row, at: insert.path)) }
      return
    }
    var gone: [Int: [Int]] = [:]
    for delete in rows.deletes { gone[delete.path.section, default: []].append(delete.path.row) }
    let correspondence = sections.isEmpty ? nil : SectionCorrespondence(self)
    func source(_ path: RowPath) -> SequentialPlan.Source {
      SequentialPlan.Source(
        list: correspondence?.new(ofOld: path.section) ?? path.section,
        position: Alignment(removed: gone[path.section] ?? []).keptBefore(old: path.row))
    }
    let arrivals =
      (rows.inserts.map { (row: $0.row, from: RowPath?.none, to: $0.path) }
      + rows.moves.map { (row: $0.row, from: Optional($0.from), to: $0.to) })
      .sorted { $0.to < $1.to }
    var plan = SequentialPlan(
      arrivals.map {
        SequentialPlan.Target(list: $0.to.section, position: $0.to.row, source: $0.from.map(source))
      })
    for (arrival, placement) in zip(arrivals, plan.placements()) {
      let to = RowPath(section: placement.to.list, row: placement.to.position)
      if let from = placement.from {
        let from = RowPath(section: from.list, row: from.position)
        steps.append(.moveRow(arrival.row, from: from, to: to))
      } else {
        steps.append(.insertRow(arrival.row, at: to))
      }
    }
  }
}
