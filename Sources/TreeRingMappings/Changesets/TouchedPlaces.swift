// The touched rows of the mapped groups, ranked: how each group's order changed.
//
// A change record holds places, not positions. Positions follow from the newest tree and the touched
// rows alone, because the old list is the new one without the places taken and with the places left:
//   1. rank every place left and every place taken in the newest tree;
//   2. a place taken before a place left is one with a lower rank, so that the number of untouched
//      rows before a place left is its rank less the number of those;
//   3. its old rank is that number plus the places left before it.
// Integers decide everything but the order of places left between the same two rows.
// O(k log n) for the ranks and O(k log k) for the rest.

internal import TreeRing
internal import TreeRingLog

/// A row that stands, or stood, in a mapped group and changed its place there. A row with several
/// places is one of these per group.
struct TouchedPlace: Sendable {
  let row: RowReference
  /// What of its content changed; empty if it was not there before or is not now.
  let parts: Parts
  /// The slot of the group it left, and its old rank there; -1 if it came from no mapped group.
  var oldSlot = -1
  var oldRank = -1
  /// The slot of the group it is in, and its rank there; -1 if it is in no mapped group.
  var newSlot = -1
  var newRank = -1
}

/// A row whose content changed and whose place did not.
struct UpdatedPlace: Sendable {
  let row: RowReference
  let parts: Parts
  let slot: Int
  let oldRank: Int
  let newRank: Int
}

/// How the order of one group changed.
struct GroupDelta: Sendable {
  let slot: Int
  /// The old ranks of the places left and the new ranks of the places taken.
  var alignment = Alignment()
  /// The touched places, as `alignment.removed` and `alignment.added` list them.
  var left: [Int] = []
  var taken: [Int] = []

  /// How many rows the group gained, less those it lost.
  var growth: Int { taken.count - left.count }
}

/// The touched rows of the mapped groups, ranked.
struct TouchedPlaces: Sendable {
  /// Rows that changed their place.
  private(set) var moved: [TouchedPlace] = []
  /// Rows that changed in place.
  private(set) var updated: [UpdatedPlace] = []
  /// Per group that lost or gained a place, by ascending slot.
  private(set) var deltas: [GroupDelta] = []
  /// The slots of groups that a touched row stood or stands in, ascending: also of one that was written
  /// again as it was.
  private(set) var touchedSlots: [Int] = []

  /// No row was touched.
  init() {}

  /// Ranks the touched rows in the newest trees.
  init<Groups>(
    _ touched: TouchedRows, table: GroupTable, in groups: inout GroupCache<Groups>,
    flaw: Flaw = .none
  ) throws(TreeRingError) {
    var collector = PlaceCollector(table: table, flaw: flaw)
    for (row, change) in touched.rows { collector.add(change, of: row, in: touched) }
    moved = collector.moved
    touchedSlots = collector.slots.sorted()
    var left = try RankedPlace.list(collector.left, in: &groups)
    var taken = try RankedPlace.list(collector.taken, in: &groups)
    left.sort { a, b in
      if a.precedes(b) || b.precedes(a) || flaw == .tiesUnordered { return a.precedes(b) }
      return collector.left[a.place].order.lexicographicallyPrecedes(collector.left[b.place].order)
    }
    taken.sort { $0.precedes($1) }
    align(left, taken, flaw: flaw)
    updated.reserveCapacity(collector.stayed.count)
    let stays = try RankedPlace.list(collector.kept, in: &groups)
    var alignment = Alignment()
    var slot = -1
    for place in stays.sorted(by: { $0.precedes($1) }) {
      if place.slot != slot {
        slot = place.slot
        alignment = delta(of: slot)?.alignment ?? Alignment()
      }
      let stay = collector.stayed[place.place]
      let kept = alignment.keptBefore(new: place.rank)
      updated.append(
        UpdatedPlace(
          row: stay.row, parts: stay.parts, slot: place.slot,
          oldRank: alignment.oldPosition(ofKept: kept), newRank: place.rank))
    }
  }

  /// How a group's order changed; nil if it did not. O(log of the groups touched).
  func delta(of slot: Int) -> GroupDelta? { deltaIndex(of: slot).map { deltas[$0] } }

  /// Whether a group lost or gained a place. O(log of the groups touched).
  func hasDelta(of slot: Int) -> Bool { deltaIndex(of: slot) != nil }

  /// The rank a row had in a group, given the one that its old place there has in the newest tree.
  /// O(log k), with as many calls of `precedes`.
  ///
  /// - Parameter precedes: Whether another row that left the group stood before this one.
  func oldRank(
    of row: RowReference, at rank: Int, in delta: GroupDelta,
    after precedes: (RowReference) -> Bool
  ) -> Int {
    let (alignment, kept) = (delta.alignment, delta.alignment.keptBefore(new: rank))
    // Those that left from between the same two rows have one rank in the newest tree, or are told apart
    // there only by rows that came; among themselves they lie in the old order.
    var low = alignment.removed.leaders(upTo: kept - 1)
    let end = alignment.removed.leaders(upTo: kept)
    var high = end
    while low < high {
      let middle = (low + high) / 2
      if precedes(moved[delta.left[middle]].row) { low = middle + 1 } else { high = middle }
    }
    if low < end, moved[delta.left[low]].row == row { return alignment.removed[low] }
    return alignment.oldPosition(ofKept: kept)
  }

  private func deltaIndex(of slot: Int) -> Int? {
    var low = 0
    var high = deltas.count
    while low < high {
      let middle = (low + high) / 2
      if deltas[middle].slot < slot { low = middle + 1 } else { high = middle }
    }
    return low < deltas.count && deltas[low].slot == slot ? low : nil
  }

  /// Turns ranks in the newest tree into the deltas, group by group. Both lists are in order.
  private mutating func align(_ left: [RankedPlace], _ taken: [RankedPlace], flaw: Flaw) {
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
        moved[place.moved].newRank = place.rank
        nextTaken += 1
      }
      var takenBefore = 0
      while nextLeft < left.count, left[nextLeft].slot == slot {
        let place = left[nextLeft]
        while takenBefore < delta.taken.count, delta.alignment.added[takenBefore] < place.rank {
          takenBefore += 1
        }
        let untouched = place.rank - (flaw == .takenCounted ? 0 : takenBefore)
        let oldRank = untouched + delta.left.count
        delta.alignment.removed.append(oldRank)
        delta.left.append(place.moved)
        moved[place.moved].oldRank = oldRank
        nextLeft += 1
      }
      deltas.append(delta)
    }
  }
}

/// A place in a mapped group that a row left or took, or changed in.
private struct SlotPlace {
  let slot: Int
  /// Which of the collector's moved rows; -1 for a row that stayed.
  let moved: Int
  let order: [UInt8]
}

/// A place with its rank in the newest tree. Without references, so that sorting only moves integers.
private struct RankedPlace {
  let slot: Int
  let rank: Int
  let moved: Int
  /// Which of the collector's places.
  let place: Int

  /// The rank of each place, by slot.
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

  /// Whether it comes first, as far as slot and rank tell.
  func precedes(_ other: RankedPlace) -> Bool {
    slot == other.slot ? rank < other.rank : slot < other.slot
  }
}

/// Sorts the places of touched rows into those left, those taken and those kept.
private struct PlaceCollector {
  let table: GroupTable
  let flaw: Flaw
  var moved: [TouchedPlace] = []
  var left: [SlotPlace] = []
  var taken: [SlotPlace] = []
  /// Rows that changed in place, and their places.
  var stayed: [(row: RowReference, parts: Parts)] = []
  var kept: [SlotPlace] = []
  /// The slots of all these rows' groups, and of rows that neither changed nor moved.
  private(set) var slots: Set<Int> = []
  /// The group asked for last, and its slot: neighbouring questions are mostly the same.
  private var lastGroup: GroupName?
  private var lastSlot: Int?

  init(table: GroupTable, flaw: Flaw) {
    self.table = table
    self.flaw = flaw
  }

  /// A row with at most one place before and after keeps its identity from group to group; of one
  /// with several at either end, each place stands for itself.
  mutating func add(_ change: TouchedRow, of row: RowReference, in touched: TouchedRows) {
    let old = change.oldPlaces
    let new = change.newPlaces
    var parts = touched.parts(of: change) ?? []
    if flaw == .updatesUnchecked, change.newContent != nil { parts.insert(.object) }
    if old.count <= 1, new.count <= 1 {
      pair(row, parts, old.first, new.first)
      return
    }
    for place in old {
      pair(row, parts, place, new.first { $0.group == place.group })
    }
    for place in new where !old.contains(where: { $0.group == place.group }) {
      pair(row, parts, nil, place)
    }
  }

  private mutating func pair(
    _ row: RowReference, _ parts: Parts, _ old: RowPlace?, _ new: RowPlace?
  ) {
    if let old, let new, old.order == new.order, old.group == new.group {
      if parts.isEmpty, flaw == .rewritesUnasked { return }
      // The group is noted in any case: its summary tells when a row was written.
      guard let slot = slot(of: new.group), !parts.isEmpty else { return }
      stayed.append((row, parts))
      kept.append(SlotPlace(slot: slot, moved: -1, order: new.order))
      return
    }
    var touched = TouchedPlace(row: row, parts: parts)
    if let old, let slot = slot(of: old.group) {
      touched.oldSlot = slot
      left.append(SlotPlace(slot: slot, moved: moved.count, order: old.order))
    }
    if let new, let slot = slot(of: new.group) {
      touched.newSlot = slot
      taken.append(SlotPlace(slot: slot, moved: moved.count, order: new.order))
    }
    if touched.oldSlot >= 0 || touched.newSlot >= 0 { moved.append(touched) }
  }

  /// The slot of a touched row's group, which is noted; nil if the group is not mapped.
  private mutating func slot(of group: GroupName) -> Int? {
    if lastGroup != group {
      lastGroup = group
      lastSlot = table.slot(of: group)
      if let lastSlot { slots.insert(lastSlot) }
    }
    return lastSlot
  }
}
