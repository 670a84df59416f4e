// The position of a section's rows in its group. With it a list that shows a range of a large group
// has a scroll bar of the right length.
//
//     "totals":[[G,FIRST,ROWS]…]          or [[G,FIRST,ROWS,SUM]…]
//
// FIRST counts the group's rows before the section's first one, in display order; ROWS counts all
// rows of the group; SUM is their sum, in an index with sums, or null if a number cannot be summed.
// A whole window gives them for each section, a change for those that differ. A change knows no sum
// before it, so it gives them also for groups in which a row was written, and for all sections
// after another definition of an index that has or had sums.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

/// The position of a section's rows in its group.
struct SectionTotals: Sendable, Hashable {
  let group: GroupName
  let first: Int
  let rowCount: Int
  /// The sum of all rows of the group; nil in an index without sums.
  private(set) var sum: String?

  /// The position of a group's rows; nil if the group is not shown.
  init?(of group: GroupName, in shown: ShownRows) {
    guard let position = shown.rangePosition(of: group) else { return nil }
    self.group = group
    first = position.offsetFromBeginning
    rowCount = position.offsetFromBeginning + position.length + position.offsetFromEnd
  }

  /// The positions that a change changes, and those of new sections. O(sections).
  static func changed(by change: Change) throws(TreeRingError) -> [SectionTotals] {
    var totals: [SectionTotals] = []
    let written = change.after.hasSums ? change.affectedGroups : []
    for section in change.after.outline {
      guard let after = SectionTotals(of: section.group, in: change.after) else { continue }
      let isShown =
        change.before.section(of: section.group) != nil && !written.contains(section.group)
        && !change.hasSumsAnew
      if isShown, SectionTotals(of: section.group, in: change.before) == after { continue }
      totals.append(try after.withSum(in: change.after))
    }
    return totals
  }

  /// The same position with the sum of the group, if the index has sums. O(log n).
  func withSum(in shown: ShownRows) throws(TreeRingError) -> SectionTotals {
    guard shown.hasSums, let total = try shown.total(of: group) else { return self }
    var copy = self
    copy.sum = total.sum?.description ?? "null"
    return copy
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
      append(",\(total.first),\(total.rowCount)\(total.sum.map { ",\($0)" } ?? "")]")
    }
    append("]")
  }
}
