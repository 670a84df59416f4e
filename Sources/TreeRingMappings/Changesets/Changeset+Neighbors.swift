// Rows drawn with a neighbour that was replaced, came, went or changed.
//
// Both sides use the offsets of the row's present group, in the display order of the whole group.
// An unaffected row is a candidate in two cases: an affected place lies between it and one of its
// neighbours, before or after; or a neighbour changed in place. So candidates stand at most
// |offset| away from an affected place. Each is then checked against both orders.
// O(k · Σ|offset|) arithmetic, and one lookup per listed row.

internal import TreeRing
internal import TreeRingLog

extension MinimalChangeset {
  /// A neighbour of a row, identified without a lookup where possible.
  private enum Neighbor: Equatable {
    case nobody
    /// By its index among the affected rows.
    case affected(Int)
    /// An unaffected row of a slot, by its position among the unaffected ones.
    case unaffected(slot: Int, Int)
  }

  /// The new ranks of rows that changed in place, by slot.
  private typealias ChangedRanks = [Int: Set<Int>]

  /// Adds the part `dependency` to the rows that have it; false if over the limit.
  mutating func listNeighbors() throws(TreeRingError) -> Bool {
    guard new.mappings.hasNeighbors else { return true }
    var changed: ChangedRanks = [:]
    for place in places.updated.map(\.new) { changed[place.slot, default: []].insert(place.rank) }
    var updates: [RowPath: Int] = [:]
    for (index, update) in result.rows.updates.enumerated() { updates[update.to] = index }
    for slot in slotsChanged where new.groups[slot].section != nil {
      let offsets = new.mappings.neighbors(of: new.table.names[slot])
      if offsets.isEmpty { continue }
      let delta = places.delta(of: slot)
      if survives(old: slot), survives(new: slot) {
        for rank in candidates(delta, offsets, changed[slot] ?? []).sorted() {
          let kept = delta.alignment.keptBefore(new: rank)
          let before = SlotRank(slot: slot, rank: delta.alignment.oldPosition(ofKept: kept))
          let after = SlotRank(slot: slot, rank: rank)
          guard let from = old.path(before), let to = new.path(after),
            try isDependent(from: before, to: after, offsets, changed)
          else { continue }
          let row = try groups.id(at: rank, slot: slot)
          guard add(RowUpdate(row: row, from: from, to: to, parts: .dependency), &updates) else {
            return false
          }
        }
      }
      for affected in delta.taken.map({ places.moved[$0] }) {
        guard case (let from?, let to?) = ends(of: affected),
          let before = affected.old, let after = affected.new,
          try isDependent(from: before, to: after, offsets, changed)
        else { continue }
        let row = try groups.groups.id(of: affected.row)
        guard add(RowUpdate(row: row, from: from, to: to, parts: .dependency), &updates) else {
          return false
        }
      }
    }
    return true
  }

  private mutating func add(_ update: RowUpdate, _ updates: inout [RowPath: Int]) -> Bool {
    if let index = updates[update.to] {
      let known = result.rows.updates[index]
      result.rows.updates[index] = RowUpdate(
        row: known.row, from: known.from, to: known.to,
        parts: known.parts.union(update.parts))
      return true
    }
    updates[update.to] = result.rows.updates.count
    result.rows.updates.append(update)
    count += 1
    return count <= limit
  }

  /// The new ranks of shown, unaffected rows that may have another neighbour.
  private func candidates(
    _ delta: GroupDelta, _ offsets: [Int], _ changed: Set<Int>
  ) -> Set<Int> {
    let slot = delta.slot
    let (before, after) = (old.groups[slot], new.groups[slot])
    let alignment = delta.alignment
    if turns(slot) {
      let common = alignment.kept(inOld: before.shown)
        .clamped(to: alignment.kept(inNew: after.shown))
      return Set(common.map { alignment.newPosition(ofKept: $0) })
    }
    var ranks: Set<Int> = []
    for offset in offsets {
      let offset = after.isReversed ? -offset : offset
      /// The positions from which the path to the neighbour crosses `place`.
      func positions(_ place: Int, in shown: Range<Int>) -> Range<Int> {
        let near =
          offset > 0
          ? Self.difference(place, offset)..<place
          : (place + 1)..<(Self.difference(place, offset) + 1)
        return near.clamped(to: shown)
      }
      for place in alignment.added {
        for rank in positions(place, in: after.shown) {
          if case .kept = alignment.newElement(at: rank) { ranks.insert(rank) }
        }
      }
      for place in alignment.removed {
        for rank in positions(place, in: before.shown) {
          if case .kept(let kept) = alignment.oldElement(at: rank) {
            ranks.insert(alignment.newPosition(ofKept: kept))
          }
        }
      }
      for place in changed {
        let rank = Self.difference(place, offset)
        if after.shown.contains(rank), case .kept = alignment.newElement(at: rank) {
          ranks.insert(rank)
        }
      }
    }
    return ranks
  }

  /// Clamps far offsets, which may exceed any group, so the difference cannot overflow.
  private static func difference(_ rank: Int, _ offset: Int) -> Int {
    rank - min(max(offset, -(.max / 2)), .max / 2)
  }

  /// Whether any neighbour of a row was replaced, came, went or changed.
  private mutating func isDependent(
    from: SlotRank, to: SlotRank, _ offsets: [Int], _ changed: ChangedRanks
  ) throws(TreeRingError) -> Bool {
    for offset in offsets {
      let before = neighbor(of: from, offset, in: old.groups[from.slot], isOld: true)
      let after = neighbor(of: to, offset, in: new.groups[to.slot], isOld: false)
      if before == .nobody, after == .nobody { continue }
      if before == .nobody || after == .nobody { return true }
      if before != after {
        guard from.slot != to.slot, try row(before) == row(after) else { return true }
      }
      if isChanged(before, changed) || isChanged(after, changed) { return true }
    }
    return false
  }

  private func neighbor(
    of row: SlotRank, _ offset: Int, in group: GroupState, isOld: Bool
  ) -> Neighbor {
    let rank = Self.difference(row.rank, group.isReversed ? offset : -offset)
    guard rank >= 0, rank < group.count else { return .nobody }
    let delta = places.delta(of: row.slot)
    let element =
      isOld ? delta.alignment.oldElement(at: rank) : delta.alignment.newElement(at: rank)
    switch element {
    case .unmatched(let index): return .affected(isOld ? delta.left[index] : delta.taken[index])
    case .kept(let kept): return .unaffected(slot: row.slot, kept)
    }
  }

  private func isChanged(_ neighbor: Neighbor, _ changed: ChangedRanks) -> Bool {
    switch neighbor {
    case .nobody: false
    case .affected(let index): !places.moved[index].parts.isEmpty
    case .unaffected(let slot, let kept):
      changed[slot]?.contains(places.delta(of: slot).alignment.newPosition(ofKept: kept)) ?? false
    }
  }

  private mutating func row(_ neighbor: Neighbor) throws(TreeRingError) -> RowReference? {
    switch neighbor {
    case .nobody: return nil
    case .affected(let index): return places.moved[index].row
    case .unaffected(let slot, let kept):
      return try groups.row(
        at: places.delta(of: slot).alignment.newPosition(ofKept: kept), slot: slot)
    }
  }
}
