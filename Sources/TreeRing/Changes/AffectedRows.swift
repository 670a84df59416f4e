// The effects of a span of commits on one group index: a map from row to (first old places, last
// new places, both contents). It holds places, never positions, so merging any number of commits is
// a map union, and no index ever shifts.

package import TreeRingLog

/// One row of a change record: its places and content before and after.
package struct AffectedRow: Hashable, Sendable {
  /// The row's places before, in group order; empty if it was in no group.
  package var oldPlaces: [RowPlace]
  /// The row's places after, in group order.
  package var newPlaces: [RowPlace]
  /// The row's content before; nil if the row was in no group.
  package var oldContent: RowContent?
  /// The row's content after; nil if the row is in no group.
  package var newContent: RowContent?

  package init(
    oldPlaces: [RowPlace], newPlaces: [RowPlace], oldContent: RowContent?, newContent: RowContent?
  ) {
    self.oldPlaces = oldPlaces
    self.newPlaces = newPlaces
    self.oldContent = oldContent
    self.newContent = newContent
  }

  /// The same change, backward in time.
  package var reversed: AffectedRow {
    AffectedRow(
      oldPlaces: newPlaces, newPlaces: oldPlaces, oldContent: newContent, newContent: oldContent)
  }
}

/// The parts of a row that changed between two commits.
public struct Parts: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// The object's bytes differ.
  public static let object = Parts(rawValue: 1)
  /// The metadata's bytes differ.
  public static let metadata = Parts(rawValue: 2)
  /// The row was touched in between.
  public static let touched = Parts(rawValue: 4)
  /// A row it is drawn with was inserted, deleted or changed.
  public static let dependency = Parts(rawValue: 8)
}

/// The merged change records of one group index between two commits.
package struct AffectedRows: Sendable {
  /// The commit that the changes start from.
  package var from: CommitNumber
  /// The commit that the changes lead to; below `from` when they run backward.
  package var to: CommitNumber
  /// Every row whose places or content may differ between the two.
  package var rows: [RowReference: AffectedRow] = [:]
  /// Whether the index compares rows. Places are then labels, which differ from build to build of
  /// its trees: a row with another label and the same content has not moved.
  package var comparesRows = false

  package init(
    from: CommitNumber, to: CommitNumber, rows: [RowReference: AffectedRow] = [:],
    comparesRows: Bool = false
  ) {
    self.from = from
    self.to = to
    self.rows = rows
    self.comparesRows = comparesRows
  }

  /// Appends the changes that follow: keeps the first old state, takes the last new one. O(rows of
  /// `next`).
  mutating func merge(_ next: AffectedRows) {
    precondition(to == next.from, "change records must be merged in order, without gaps")
    to = next.to
    if rows.isEmpty {
      rows = next.rows
      return
    }
    for (row, change) in next.rows {
      if rows[row]?.follow(with: change) == nil { rows[row] = change }
    }
  }

  /// The changed parts of one of these rows; nil unless the row is in the index on both sides.
  package func parts(of row: AffectedRow) -> Parts? {
    guard let old = row.oldContent, let new = row.newContent else { return nil }
    var parts: Parts = []
    if old.object != new.object { parts.insert(.object) }
    if old.metadata != new.metadata { parts.insert(.metadata) }
    let later = from <= to ? new : old
    if later.touched > min(from, to) { parts.insert(.touched) }
    return parts
  }

  /// The same changes, backward in time.
  package var reversed: AffectedRows {
    AffectedRows(from: to, to: from, rows: rows.mapValues(\.reversed))
  }
}

extension AffectedRow {
  /// Takes the new state from a later change of the same row.
  mutating func follow(with next: AffectedRow) {
    newPlaces = next.newPlaces
    newContent = next.newContent
  }
}
