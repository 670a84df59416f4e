// The totals of groups beside their windows: the counts and sums of whole groups, however many of
// their rows are shown.

public import TreeRing
public import TreeRingLog

/// The number of rows of a group and their sum, at one commit.
public struct GroupTotal: Hashable, Sendable {
  /// The group's name.
  public let group: GroupName
  /// The number of rows in the group.
  public let count: Int
  /// The sum of these rows; nil if the index has no sums, or cannot sum the number of one of them.
  public let sum: IndexSum?

  package init(group: GroupName, count: Int, sum: IndexSum?) {
    self.group = group
    self.count = count
    self.sum = sum
  }
}

extension ShownRows {
  /// The total of a mapped group; nil if the group is not mapped. O(log n).
  ///
  /// - Throws: `TreeRingError` if the index cannot be read; `notAllowed` for the state before a
  ///   change, which does not know the sums of its commit.
  public func total(of group: some KeyConvertible) throws(TreeRingError) -> GroupTotal? {
    let group = GroupName(group)
    guard later == nil else {
      throw TreeRingError(
        .notAllowed, "Only the state after a change has totals. Read those before from a snapshot.")
    }
    guard let groups, layout.state(of: group)?.position != nil else { return nil }
    return try groups.total(of: group)
  }

  /// Whether the index has sums.
  package var hasSums: Bool { groups?.hasSums ?? false }
}

extension Change {
  /// The totals after the change of the groups in which it inserts, deletes, moves or writes rows,
  /// shown or not, and of those that are sections anew; after a reset, or after another definition
  /// of an index that has or had sums, of all sections. In the order of the groups' names. O(log n)
  /// for each.
  ///
  /// A group that is not mapped any more, and one that is part of a consolidated section, has its
  /// total as long as it is mapped before or after the change.
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func totals() throws(TreeRingError) -> [GroupTotal] {
    var names = affectedGroups
    for section in after.outline where !section.isConsolidated {
      if isReset || hasSumsAnew || before.section(of: section.group) == nil {
        names.insert(section.group)
      }
    }
    var totals: [GroupTotal] = []
    for name in names.sorted() {
      let isMapped = [after, before].contains { $0.layout.state(of: name)?.position != nil }
      guard isMapped, let total = try after.groups?.total(of: name) else { continue }
      totals.append(total)
    }
    return totals
  }

  /// The groups in which rows were inserted, deleted, moved or written. O(rows affected).
  package var affectedGroups: Set<GroupName> {
    var names: Set<GroupName> = []
    for row in before.later?.affected.rows.values ?? [:].values {
      for place in row.oldPlaces { names.insert(place.group) }
      for place in row.newPlaces { names.insert(place.group) }
    }
    return names
  }

  /// Whether the sums of every group may differ, because the index has another definition.
  package var hasSumsAnew: Bool { before.later?.hasSumsAnew ?? false }

  /// Whether it affects a row of a mapped group, shown or not, or the sums of all groups.
  var affectsTotals: Bool {
    if hasSumsAnew { return !after.outline.isEmpty }
    return affectedGroups.contains { name in
      [after, before].contains { $0.layout.state(of: name)?.position != nil }
    }
  }
}

extension OrderedGroups {
  /// The total of a group; one that does not exist has no rows.
  fileprivate func total(of name: GroupName) throws(TreeRingError) -> GroupTotal {
    GroupTotal(group: name, count: try group(name).count, sum: try sum(of: name))
  }
}
