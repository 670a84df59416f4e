// The staying rows of a group, for the windows of flexible ranges.
//
// A row stays if it is in the group before and after and passes no other such row. Unaffected rows
// never pass each other. An affected row in the group on both sides passes no unaffected row iff as
// many of them precede it as before. It passes no affected row iff it has the same index among
// those in both orders, and the same ones precede it. So relabelling rows in place moves nothing.
// O(affected rows).

extension AffectedPlaces {
  /// The ranks of rows that leave or join the group; a row that passes another counts as both.
  func staying(_ delta: GroupDelta) -> Alignment {
    delta.without(remaining(delta) { _ in true }).alignment
  }

  /// The selected affected rows of a group that pass neither an unaffected row nor each other.
  func remaining(_ delta: GroupDelta, where isSelected: (AffectedPlace) -> Bool) -> Set<Int> {
    var before: [Int: (index: Int, unaffected: Int)] = [:]
    for (index, affected) in delta.left.enumerated()
    where moved[affected].isInOneGroup && isSelected(moved[affected]) {
      before[affected] = (before.count, delta.alignment.removed[index] - index)
    }
    if before.isEmpty { return [] }
    var remaining: Set<Int> = []
    var seen = 0
    var furthest = -1
    for (index, affected) in delta.taken.enumerated() {
      guard let old = before[affected] else { continue }
      let unaffected = delta.alignment.added[index] - index
      if old.index == seen, furthest < seen, old.unaffected == unaffected {
        remaining.insert(affected)
      }
      furthest = max(furthest, old.index)
      seen += 1
    }
    return remaining
  }
}

extension GroupDelta {
  /// The delta with some affected rows counted as unaffected. These rows must keep their order
  /// among themselves and the unaffected ones.
  func without(_ rows: Set<Int>) -> GroupDelta {
    if rows.isEmpty { return self }
    var delta = GroupDelta(slot: slot)
    for (rank, affected) in zip(alignment.removed, left) where !rows.contains(affected) {
      delta.alignment.removed.append(rank)
      delta.left.append(affected)
    }
    for (rank, affected) in zip(alignment.added, taken) where !rows.contains(affected) {
      delta.alignment.added.append(rank)
      delta.taken.append(affected)
    }
    return delta
  }
}
