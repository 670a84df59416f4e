// The staying rows of a group, for the windows of flexible ranges.
//
// A row stays if it is in the group before and after and passes no other such row. Unaffected rows
// never pass each other. An affected row in the group on both sides passes no unaffected row iff as
// many of them precede it as before. It passes no affected row iff it has the same index among
// those in both orders, and the same ones precede it. So relabelling rows in place moves nothing.
// O(affected rows).

extension TouchedPlaces {
  /// The ranks of rows that leave or join the group; a row that passes another counts as both.
  func staying(_ delta: GroupDelta, flaw: Flaw = .none) -> Alignment {
    if flaw == .relabelledLeaves { return delta.alignment }
    return delta.without(remaining(delta) { _ in true }).alignment
  }

  /// The selected affected rows of a group that pass neither an unaffected row nor each other.
  func remaining(_ delta: GroupDelta, where isAsked: (TouchedPlace) -> Bool) -> Set<Int> {
    var before: [Int: (index: Int, untouched: Int)] = [:]
    for (index, touched) in delta.left.enumerated()
    where moved[touched].oldSlot == moved[touched].newSlot && isAsked(moved[touched]) {
      before[touched] = (before.count, delta.alignment.removed[index] - index)
    }
    if before.isEmpty { return [] }
    var remaining: Set<Int> = []
    var seen = 0
    var furthest = -1
    for (index, touched) in delta.taken.enumerated() {
      guard let old = before[touched] else { continue }
      let untouched = delta.alignment.added[index] - index
      if old.index == seen, furthest < seen, old.untouched == untouched {
        remaining.insert(touched)
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
    for (rank, touched) in zip(alignment.removed, left) where !rows.contains(touched) {
      delta.alignment.removed.append(rank)
      delta.left.append(touched)
    }
    for (rank, touched) in zip(alignment.added, taken) where !rows.contains(touched) {
      delta.alignment.added.append(rank)
      delta.taken.append(touched)
    }
    return delta
  }
}
