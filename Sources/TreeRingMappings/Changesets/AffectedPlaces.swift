// The affected rows of the mapped groups, ranked: the change of each group's order.
//
// A change record holds places, not positions. Positions follow from the newest tree and the
// affected rows alone, because the old list is the new one without the places taken and with the
// places left:
//   1. Rank every place left and every place taken in the newest tree.
//   2. A place taken precedes a place left if its rank is lower. So the number of unaffected rows
//      before a place left is its rank less the number of places taken before it.
//   3. Its old rank is that number plus the number of places left before it.
// Integers decide everything except the order of places left between the same two rows. O(k log n)
// for the ranks and O(k log k) for the rest.
//
// In an index that compares rows a place is a label, and two builds of its trees give one row two
// labels. So there a row has moved if its content differs, whatever its labels. Rows with other
// labels are ranked as above, and those with equal content then count as unaffected again.

internal import TreeRing
internal import TreeRingLog

/// A row in a mapped group, before or after, that changed its place there. A row with several
/// places has one entry per group.
struct AffectedPlace: Sendable {
  let row: RowReference
  /// The parts of its content that changed; empty if it was inserted or deleted.
  let parts: Parts
  /// Whether only its label changed, in an index that compares rows.
  let isRelabeled: Bool
  /// Its old group and its rank there; nil if it was in no mapped group.
  var old: SlotRank?
  /// Its new group and its rank there; nil if it is in no mapped group.
  var new: SlotRank?

  /// Whether it is in one and the same mapped group before and after.
  var isInOneGroup: Bool { old != nil && old?.slot == new?.slot }
}

/// A row whose content changed and whose place did not.
struct UpdatedPlace: Sendable {
  let row: RowReference
  let parts: Parts
  let old: SlotRank
  let new: SlotRank
}

/// The change of one group's order.
struct GroupDelta: Sendable {
  let slot: Int
  /// The old ranks of the places left and the new ranks of the places taken.
  var alignment = Alignment()
  /// The affected places, in the order of `alignment.removed` and `alignment.added`.
  var left: [Int] = []
  var taken: [Int] = []

  /// The rows the group gained, less those it lost.
  var growth: Int { taken.count - left.count }
}

/// The affected rows of the mapped groups, ranked.
struct AffectedPlaces: Sendable {
  /// The rows that changed their place.
  private(set) var moved: [AffectedPlace] = []
  /// The rows that changed in place.
  private(set) var updated: [UpdatedPlace] = []
  /// The change of each group that lost or gained a place, by ascending slot.
  private(set) var deltas: [GroupDelta] = []
  /// The slots of the groups of all affected rows, before and after, ascending. They include groups
  /// of rows that were written without a change.
  private(set) var affectedSlots: [Int] = []
  /// The old ranks of the rows in `moved`, for an index that compares rows: an old label has no
  /// rank in other trees.
  private var labeledRanks: [RowReference: [SlotRank]] = [:]

  /// The empty set of affected rows.
  init() {}

  /// Ranks the affected rows in the newest trees.
  init<Groups>(
    _ affected: AffectedRows, table: GroupTable, in groups: inout GroupCache<Groups>
  ) throws(TreeRingError) {
    var collector = PlaceCollector(table: table)
    for (row, change) in affected.rows { collector.add(change, of: row, in: affected) }
    moved = collector.moved
    affectedSlots = collector.slots.sorted()
    var left = try RankedPlace.list(collector.left, in: &groups)
    var taken = try RankedPlace.list(collector.taken, in: &groups)
    left.sort { a, b in
      if a.precedes(b) || b.precedes(a) { return a.precedes(b) }
      return collector.left[a.place].order.lexicographicallyPrecedes(collector.left[b.place].order)
    }
    taken.sort { $0.precedes($1) }
    align(left, taken)
    if affected.comparesRows { restoreRelabeled() }
    updated.reserveCapacity(updated.count + collector.stayed.count)
    let stays = try RankedPlace.list(collector.kept, in: &groups)
    var alignment = Alignment()
    var slot = -1
    for place in stays.sorted(by: { $0.precedes($1) }) {
      if place.slot != slot {
        slot = place.slot
        alignment = delta(of: slot).alignment
      }
      let stay = collector.stayed[place.place]
      let kept = alignment.keptBefore(new: place.rank)
      updated.append(
        UpdatedPlace(
          row: stay.row, parts: stay.parts,
          old: SlotRank(slot: slot, rank: alignment.oldPosition(ofKept: kept)),
          new: SlotRank(slot: slot, rank: place.rank)))
    }
  }

  /// Counts rows that only got a new label as unaffected. A row that passed another such row stays
  /// affected; this happens when the index's closures do not depend on the rows alone.
  private mutating func restoreRelabeled() {
    for place in moved {
      if let old = place.old { labeledRanks[place.row, default: []].append(old) }
    }
    for index in deltas.indices {
      let restored = remaining(deltas[index], where: \.isRelabeled)
      deltas[index] = deltas[index].without(restored)
      for index in restored.sorted() {
        let place = moved[index]
        moved[index].old = nil
        moved[index].new = nil
        guard !place.parts.isEmpty, let old = place.old, let new = place.new else { continue }
        updated.append(UpdatedPlace(row: place.row, parts: place.parts, old: old, new: new))
      }
    }
    deltas.removeAll { $0.left.isEmpty && $0.taken.isEmpty }
  }

  /// The old rank of a row in a group, in an index that compares rows; nil if its label is
  /// unchanged, or for other indexes. O(groups of the row).
  func labeledRank(of row: RowReference, slot: Int) -> Int? {
    labeledRanks[row]?.first { $0.slot == slot }?.rank
  }

  /// The change of a group's order; empty if there is none. O(log of the affected groups).
  func delta(of slot: Int) -> GroupDelta {
    deltaIndex(of: slot).map { deltas[$0] } ?? GroupDelta(slot: slot)
  }

  /// Whether a group lost or gained a place. O(log of the affected groups).
  func hasDelta(of slot: Int) -> Bool { deltaIndex(of: slot) != nil }

  /// The old rank of a row in a group, from the rank of its old place in the newest tree. O(log k),
  /// with as many calls of `precedes`.
  ///
  /// - Parameter precedes: Whether another row that left the group stood before this one.
  func oldRank(
    of row: RowReference, at rank: Int, in delta: GroupDelta,
    after precedes: (RowReference) -> Bool
  ) -> Int {
    let (alignment, kept) = (delta.alignment, delta.alignment.keptBefore(new: rank))
    // Rows that left from between the same two rows share one rank in the newest tree, or differ
    // there only by rows that came. Among themselves they are in the old order.
    let start = alignment.removed.count(beforeKept: kept - 1)
    let end = alignment.removed.count(beforeKept: kept)
    let own = (start..<end).partitioningIndex { !precedes(moved[delta.left[$0]].row) }
    return own < end && moved[delta.left[own]].row == row
      ? alignment.removed[own] : alignment.oldPosition(ofKept: kept)
  }

  private func deltaIndex(of slot: Int) -> Int? {
    let index = deltas.indices.partitioningIndex { deltas[$0].slot >= slot }
    return index < deltas.count && deltas[index].slot == slot ? index : nil
  }

  /// Converts ranks in the newest tree to deltas, group by group. Both lists are sorted.
  private mutating func align(_ left: [RankedPlace], _ taken: [RankedPlace]) {
    var nextLeft = 0
    var nextTaken = 0
    while nextLeft < left.count || nextTaken < taken.count {
      let slot = min(
        nextLeft < left.count ? left[nextLeft].slot : Int.max,
        nextTaken < taken.count ? taken[nextTaken].slot : Int.max)
      var delta = GroupDelta(slot: slot)
      while nextTaken < taken.count, taken[nextTaken].slot == slot {
        let place = taken[nextTaken]
        delta.alignment.added.append(place.rank)
        delta.taken.append(place.moved)
        moved[place.moved].new?.rank = place.rank
        nextTaken += 1
      }
      var takenBefore = 0
      while nextLeft < left.count, left[nextLeft].slot == slot {
        let place = left[nextLeft]
        while takenBefore < delta.taken.count, delta.alignment.added[takenBefore] < place.rank {
          takenBefore += 1
        }
        let unaffected = place.rank - takenBefore
        let oldRank = unaffected + delta.left.count
        delta.alignment.removed.append(oldRank)
        delta.left.append(place.moved)
        moved[place.moved].old?.rank = oldRank
        nextLeft += 1
      }
      deltas.append(delta)
    }
  }
}

/// A place in a mapped group that a row left, took, or kept while it changed.
private struct SlotPlace {
  let slot: Int
  /// The index among the collector's moved rows; -1 for a row that stayed.
  let moved: Int
  let order: [UInt8]
}

/// A place with its rank in the newest tree. It holds no references, so sorting moves only
/// integers.
private struct RankedPlace {
  let slot: Int
  let rank: Int
  let moved: Int
  /// The index among the collector's places.
  let place: Int

  /// The ranks of the places, by slot.
  static func list<Groups>(
    _ places: [SlotPlace], in groups: inout GroupCache<Groups>
  ) throws(TreeRingError) -> [RankedPlace] {
    guard let first = places.first else { return [] }
    if places.count == 1 {
      let rank = try groups.rank(of: first.order, slot: first.slot)
      return [RankedPlace(slot: first.slot, rank: rank, moved: first.moved, place: 0)]
    }
    if places.allSatisfy({ $0.slot == first.slot }) {
      let ranks = try groups.ranks(of: places.map(\.order), slot: first.slot)
      return places.indices.map {
        RankedPlace(slot: first.slot, rank: ranks[$0], moved: places[$0].moved, place: $0)
      }
    }
    let order = places.indices.sorted { places[$0].slot < places[$1].slot }
    var ranked: [RankedPlace] = []
    ranked.reserveCapacity(places.count)
    var rest = order[...]
    while let slot = rest.first.map({ places[$0].slot }) {
      let group = rest.prefix { places[$0].slot == slot }
      let ranks = try groups.ranks(of: group.map { places[$0].order }, slot: slot)
      for (place, rank) in zip(group, ranks) {
        ranked.append(
          RankedPlace(slot: slot, rank: rank, moved: places[place].moved, place: place))
      }
      rest = rest[group.endIndex...]
    }
    return ranked
  }

  /// Whether this place comes first by slot and rank.
  func precedes(_ other: RankedPlace) -> Bool {
    slot == other.slot ? rank < other.rank : slot < other.slot
  }
}

/// Sorts the places of affected rows into left, taken and kept ones.
private struct PlaceCollector {
  let table: GroupTable
  var moved: [AffectedPlace] = []
  var left: [SlotPlace] = []
  var taken: [SlotPlace] = []
  /// The rows that changed in place, and their places.
  var stayed: [(row: RowReference, parts: Parts)] = []
  var kept: [SlotPlace] = []
  /// The slots of all these rows' groups, and of rows that neither changed nor moved.
  private(set) var slots: Set<Int> = []
  /// The group of the last lookup, and its slot: consecutive lookups mostly concern one group.
  var lastGroup: GroupName?
  var lastSlot: Int?

  /// Adds a row. A row with at most one place on each side keeps its identity across groups. With
  /// several places on either side, each place is independent.
  mutating func add(_ change: AffectedRow, of row: RowReference, in affected: AffectedRows) {
    let old = change.oldPlaces
    let new = change.newPlaces
    let parts = affected.parts(of: change) ?? []
    // Whether its content decides its position; nil where a sort key does.
    let isRewritten =
      affected.comparesRows ? !parts.isDisjoint(with: [.object, .metadata]) : nil
    if old.count <= 1, new.count <= 1 {
      pair(row, parts, old.first, new.first, isRewritten)
      return
    }
    for place in old {
      pair(row, parts, place, new.first { $0.group == place.group }, isRewritten)
    }
    for place in new where !old.contains(where: { $0.group == place.group }) {
      pair(row, parts, nil, place, isRewritten)
    }
  }

  private mutating func pair(
    _ row: RowReference, _ parts: Parts, _ old: RowPlace?, _ new: RowPlace?, _ isRewritten: Bool?
  ) {
    let isInGroup = old != nil && old?.group == new?.group
    if let new, isInGroup, old?.order == new.order, isRewritten != true {
      // Records the group in any case: its summary depends on writes of its rows.
      guard let slot = slot(of: new.group), !parts.isEmpty else { return }
      stayed.append((row, parts))
      kept.append(SlotPlace(slot: slot, moved: -1, order: new.order))
      return
    }
    var affected = AffectedPlace(
      row: row, parts: parts, isRelabeled: isInGroup && isRewritten == false)
    if let old, let slot = slot(of: old.group) {
      affected.old = SlotRank(slot: slot, rank: 0)
      left.append(SlotPlace(slot: slot, moved: moved.count, order: old.order))
    }
    if let new, let slot = slot(of: new.group) {
      affected.new = SlotRank(slot: slot, rank: 0)
      taken.append(SlotPlace(slot: slot, moved: moved.count, order: new.order))
    }
    if affected.old != nil || affected.new != nil { moved.append(affected) }
  }

  /// The slot of an affected row's group, which is recorded; nil if the group is not mapped.
  private mutating func slot(of group: GroupName) -> Int? {
    if lastGroup != group {
      lastGroup = group
      lastSlot = table.slot(of: group)
      if let lastSlot { slots.insert(lastSlot) }
    }
    return lastSlot
  }
}
