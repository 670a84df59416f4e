// A change in the form of YapDatabase's views, for code ported from there.
//
// Differences from a changeset:
//   - Rows of deleted and inserted sections are listed too.
//   - A row whose place changed is a move wherever both sides show it, also from a deleted or to an
//     inserted section. A row that was only in the way is never a move.
//   - An update keeps its old path. A row whose place changed but not its path is an update,
//     provided it passed no staying row; only then does the list lead to the new state.
//   - In a consolidated section, rows are listed as in the changeset. When all groups become one
//     section, or one becomes many, every row is deleted and inserted.

public import TreeRing
public import TreeRingLog

/// A change in the form of YapDatabase's views.
public struct LegacyChanges: Hashable, Sendable {
  /// The kind of an operation on a section or row.
  public enum Kind: String, Hashable, Sendable {
    /// The names are YapDatabase's.
    case delete, insert, move, update
  }

  /// An operation on a section.
  public struct SectionChange: Hashable, Sendable {
    /// The kind of the operation.
    public let kind: Kind
    /// The section.
    public let group: GroupName
    /// The old position; nil for an insert.
    public let originalSection: Int?
    /// The new position; nil for a delete.
    public let finalSection: Int?
  }

  /// An operation on a row.
  public struct RowChange: Hashable, Sendable {
    /// The kind of the operation.
    public let kind: Kind
    /// The row.
    public let row: RowID
    /// The parts of its content that changed; empty for deletes and inserts.
    public fileprivate(set) var parts: Parts
    /// The old group; nil for an insert.
    public let originalGroup: GroupName?
    /// The old path; nil for an insert.
    public let original: RowPath?
    /// The new group; nil for a delete.
    public let finalGroup: GroupName?
    /// The new path; nil for a delete.
    public let final: RowPath?
  }

  /// Deletes by old position, then inserts and moves by new position.
  public internal(set) var sections: [SectionChange] = []
  /// Deletes by old path, then inserts, moves and updates, each by new path.
  public internal(set) var rows: [RowChange] = []
}

extension Change {
  /// The change in the form of YapDatabase's views; empty for a reset. O(k log n), plus O(rows) of
  /// deleted and inserted sections, and O(groups) after a change of mappings or a manual range
  /// change.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func legacy() throws(TreeRingError) -> LegacyChanges {
    var result = LegacyChanges()
    guard !isReset, let later = before.later, let groups = before.groups else { return result }
    result.sections = legacySections()
    let projection = LegacyProjection(old: before.layout, new: after.layout, later: later)
    switch (before.isConsolidated, after.isConsolidated) {
    case (false, false):
      result.rows = try projection.affectedRows(in: groups)
      try appendSlides(projection, to: &result.rows)
    case _ where sections.isEmpty:
      result.rows = listedRows(projection)
    default:
      for path in before.allPaths {
        if let row = try before.row(at: path) {
          result.rows.append(projection.change(row, [], from: path, to: nil))
        }
      }
      for path in after.allPaths {
        if let row = try after.row(at: path) {
          result.rows.append(projection.change(row, [], from: nil, to: path))
        }
      }
    }
    addNeighbors(projection, to: &result.rows)
    result.rows.sort { legacyPath($0) < legacyPath($1) }
    let kinds: [LegacyChanges.Kind] = [.delete, .insert, .move, .update]
    result.rows = kinds.flatMap { kind in result.rows.filter { $0.kind == kind } }
    return result
  }

  /// Adds the unaffected rows that slid over an edge of a range.
  private func appendSlides(
    _ projection: LegacyProjection, to rows: inout [LegacyChanges.RowChange]
  ) throws(TreeRingError) {
    for slot in projection.later.slotsChanged {
      for (from, to) in projection.slides(slot) {
        var row: RowID?
        if let to {
          row = try after.row(at: to)
        } else if let from {
          row = try before.row(at: from)
        }
        if let row { rows.append(projection.change(row, [], from: from, to: to)) }
      }
    }
  }

  /// The rows in the order of the changeset; a row that moved and changed is one move.
  private func listedRows(_ projection: LegacyProjection) -> [LegacyChanges.RowChange] {
    var parts: [RowPath: Parts] = [:]
    for update in rows.updates { parts[update.to] = update.parts }
    var changes = rows.deletes.map { projection.change($0.row, [], from: $0.path, to: nil) }
    changes += rows.inserts.map { projection.change($0.row, [], from: nil, to: $0.path) }
    for move in rows.moves {
      let parts = parts.removeValue(forKey: move.to) ?? []
      changes.append(projection.change(move.row, parts, from: move.from, to: move.to))
    }
    for update in rows.updates where parts[update.to] != nil {
      changes.append(
        projection.change(
          update.row, update.parts, from: update.from, to: update.to, isUpdate: true))
    }
    return changes
  }

  /// Adds the part `dependency` to the rows that have it, including rows not yet listed.
  private func addNeighbors(
    _ projection: LegacyProjection, to rows: inout [LegacyChanges.RowChange]
  ) {
    let dependent = self.rows.updates.filter { $0.parts.contains(.dependency) }
    if dependent.isEmpty { return }
    var indexes: [RowPath: Int] = [:]
    for (index, change) in rows.enumerated() {
      if let path = change.final { indexes[path] = index }
    }
    for update in dependent {
      if let index = indexes[update.to] {
        rows[index].parts = update.parts
      } else {
        rows.append(
          projection.change(
            update.row, update.parts, from: update.from, to: update.to, isUpdate: true))
      }
    }
  }

  private func legacyPath(_ change: LegacyChanges.RowChange) -> RowPath {
    change.final ?? change.original ?? RowPath(section: 0, row: 0)
  }

  private func legacySections() -> [LegacyChanges.SectionChange] {
    let (old, new) = (changeset.oldOutline, changeset.newOutline)
    let deletes = sections.deletes.map {
      LegacyChanges.SectionChange(
        kind: .delete, group: old[$0].group, originalSection: $0, finalSection: nil)
    }
    let inserts = sections.inserts.map {
      LegacyChanges.SectionChange(
        kind: .insert, group: new[$0].group, originalSection: nil, finalSection: $0)
    }
    let moves = sections.moves.map {
      LegacyChanges.SectionChange(
        kind: .move, group: new[$0.to].group, originalSection: $0.from, finalSection: $0.to)
    }
    return deletes + inserts + moves
  }
}

/// Lists the rows of a change from its two layouts.
private struct LegacyProjection {
  let old: Layout
  let new: Layout
  let later: ShownRows.Later

  /// The operation on a row; its kind follows from the ends that exist.
  func change(
    _ row: RowID, _ parts: Parts, from: RowPath?, to: RowPath?, isUpdate: Bool = false
  ) -> LegacyChanges.RowChange {
    let kind: LegacyChanges.Kind =
      isUpdate ? .update : from == nil ? .insert : to == nil ? .delete : .move
    return LegacyChanges.RowChange(
      kind: kind, row: row, parts: from == nil || to == nil ? [] : parts,
      originalGroup: from.flatMap { old.group(at: $0) }, original: from,
      finalGroup: to.flatMap { new.group(at: $0) }, final: to)
  }

  /// The moves, deletes, inserts and updates of the affected rows.
  func affectedRows(
    in groups: any OrderedGroups
  ) throws(TreeRingError) -> [LegacyChanges.RowChange] {
    var changes: [LegacyChanges.RowChange] = []
    for affected in later.places.moved {
      let from = old.path(affected.old)
      let to = new.path(affected.new)
      if from == nil, to == nil { continue }
      let stays = from != nil && to != nil && from?.row == to?.row && passesNone(affected)
      if stays, affected.parts.isEmpty { continue }
      let row = try groups.id(of: affected.row)
      changes.append(change(row, affected.parts, from: from, to: to, isUpdate: stays))
    }
    for updated in later.places.updated {
      guard let from = old.path(updated.old), let to = new.path(updated.new) else { continue }
      let row = try groups.id(of: updated.row)
      changes.append(change(row, updated.parts, from: from, to: to, isUpdate: true))
    }
    return changes
  }

  /// Whether a row that kept its group also kept its position among the unaffected rows.
  private func passesNone(_ affected: AffectedPlace) -> Bool {
    guard let before = affected.old, let after = affected.new, before.slot == after.slot,
      old.groups[before.slot].isReversed == new.groups[after.slot].isReversed
    else { return false }
    let alignment = later.places.delta(of: before.slot).alignment
    return alignment.keptBefore(old: before.rank) == alignment.keptBefore(new: after.rank)
  }

  /// The unaffected rows of a group that only one side shows, or all rows of a reversed section, by
  /// their paths; nil on a side that does not show the row.
  func slides(_ slot: Int) -> [(from: RowPath?, to: RowPath?)] {
    let (oldGroup, newGroup) = (old.groups[slot], new.groups[slot])
    if oldGroup == newGroup, !later.places.hasDelta(of: slot) { return [] }
    let alignment = later.places.delta(of: slot).alignment
    let before = oldGroup.section == nil ? 0..<0 : alignment.kept(inOld: oldGroup.shown)
    let after = newGroup.section == nil ? 0..<0 : alignment.kept(inNew: newGroup.shown)
    func oldPath(_ kept: Int) -> RowPath? {
      old.path(slot: slot, rank: alignment.oldPosition(ofKept: kept))
    }
    func newPath(_ kept: Int) -> RowPath? {
      new.path(slot: slot, rank: alignment.newPosition(ofKept: kept))
    }
    var slides = before.subtracting(after).joined().map { (from: oldPath($0), to: RowPath?.none) }
    slides += after.subtracting(before).joined().map { (nil, newPath($0)) }
    if oldGroup.isReversed != newGroup.isReversed {
      slides += before.clamped(to: after).map { (oldPath($0), newPath($0)) }
    }
    return slides
  }
}
