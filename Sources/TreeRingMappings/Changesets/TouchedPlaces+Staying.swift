// Which rows of a group stay, for the windows of flexible ranges.
//
// A row stays if it is in the group before and after and passes no row that is there before and after.
// Untouched rows never pass each other. A touched one that is in the group on both sides passes no
// untouched row iff as many of them precede it as before; and no touched one iff it has the same index
// among those in both orders, and the ones before it are the same. So re-labelling rows in place moves
// nothing. O(rows touched).

extension TouchedPlaces {
  /// The ranks of rows that leave the group or come to it, a row that passes another counted as both.
  func staying(_ delta: GroupDelta, flaw: Flaw = .none) -> Alignment {
    if flaw == .relabelledLeaves { return delta.alignment }
    let remaining = remaining(delta)
    if remaining.isEmpty { return delta.alignment }
    var result = Alignment()
    for (index, rank) in delta.alignment.removed.enumerated()
    where !remaining.contains(delta.left[index]) {
      result.removed.append(rank)
    }
    for (index, rank) in delta.alignment.added.enumerated()
    where !remaining.contains(delta.taken[index]) {
      result.added.append(rank)
    }
    return result
  }

  /// The touched rows of a group that pass no other one.
  private func remaining(_ delta: GroupDelta) -> Set<Int> {
    var before: [Int: (index: Int, untouched: Int)] = [:]
    for (index, touched) in delta.left.enumerated()
    where moved[touched].oldSlot == moved[touched].newSlot {
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
