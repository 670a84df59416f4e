// The position of a section's rows in its group. With it a list that shows a range of a large group
// has a scroll bar of the right length.
//
//     "totals":[[G,FIRST,ROWS]…]
//
// FIRST counts the group's rows before the section's first one, in display order; ROWS counts all
// rows of the group. A whole window gives them for each section, a change for those that differ.

internal import TreeRing
internal import TreeRingMappings

/// The position of a section's rows in its group.
struct SectionTotals: Sendable, Hashable {
  let group: GroupName
  let first: Int
  let rowCount: Int

  /// The position of a group's rows; nil if the group is not shown.
  init?(of group: GroupName, in shown: ShownRows) {
    guard let position = shown.rangePosition(of: group) else { return nil }
    self.group = group
    first = position.offsetFromBeginning
    rowCount = position.offsetFromBeginning + position.length + position.offsetFromEnd
  }

  /// The positions that a change changes, and those of new sections. O(sections).
  static func changed(by change: Change) -> [SectionTotals] {
    var totals: [SectionTotals] = []
    for section in change.after.outline {
      guard let after = SectionTotals(of: section.group, in: change.after) else { continue }
      let isShown = change.before.section(of: section.group) != nil
      if isShown, SectionTotals(of: section.group, in: change.before) == after { continue }
      totals.append(after)
    }
    return totals
  }
}

extension RowEncoder {
  /// Appends the member `totals`, unless there are none.
  mutating func append(totals: [SectionTotals]) {
    if totals.isEmpty { return }
    append(",\"totals\":[")
    for (index, total) in totals.enumerated() {
      append(index > 0 ? ",[" : "[")
      append(key: total.group.bytes)
      append(",\(total.first),\(total.rowCount)]")
    }
    append("]")
  }
}
