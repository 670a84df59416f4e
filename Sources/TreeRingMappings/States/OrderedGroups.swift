// What the changeset algorithm asks of a group index at one commit.

package import TreeRing
package import TreeRingLog

/// A group index at one commit.
package protocol OrderedGroups<Group>: Sendable {
  associatedtype Group: OrderedGroup

  /// Every group that has rows. O(groups · log n).
  func groupNames() throws(TreeRingError) -> [GroupName]
  /// A group to ask of; one that does not exist has no rows. O(log n).
  func group(_ name: GroupName) throws(TreeRingError) -> Group
  /// A row's places, in group order; empty if it is not in the index. O(log n).
  func places(of row: RowReference) throws(TreeRingError) -> [RowPlace]
  /// Calls `body` with each group a row stands in, in group order, and the row's position there.
  /// O(log n) for each.
  func forEachRank(
    of row: RowReference, _ body: (GroupName, Int) -> Void
  ) throws(TreeRingError)
  /// A row with its content. O(log n).
  func stored(_ row: RowReference) throws(TreeRingError) -> StoredRow?
  /// A row's public identity, also of a row that is not there any more, or not yet. O(1).
  func id(of row: RowReference) throws(TreeRingError) -> RowID
  /// The row of a public identity; nil if there never was such a row. O(1).
  func reference(of id: RowID) -> RowReference?
}

/// One group: a strict total order of rows, with order statistics. Every call costs O(log n).
package protocol OrderedGroup {
  /// How many rows it has.
  var count: Int { get }
  /// How many of its rows stand before this place, whether or not a row stands at it.
  func rank(of order: [UInt8]) throws(TreeRingError) -> Int
  /// The same of many places, in their order.
  func ranks(of places: [[UInt8]]) throws(TreeRingError) -> [Int]
  /// The row at a position, less than the count.
  func row(at position: Int) throws(TreeRingError) -> RowReference
}

extension OrderedGroups {
  package func forEachRank(
    of row: RowReference, _ body: (GroupName, Int) -> Void
  ) throws(TreeRingError) {
    for place in try places(of: row) {
      body(place.group, try group(place.group).rank(of: place.order))
    }
  }
}

extension OrderedGroup {
  package func ranks(of places: [[UInt8]]) throws(TreeRingError) -> [Int] {
    var ranks: [Int] = []
    ranks.reserveCapacity(places.count)
    for place in places { ranks.append(try rank(of: place)) }
    return ranks
  }
}

/// The groups of an index by slot, each found once.
struct GroupCache<Groups: OrderedGroups> {
  let groups: Groups
  private let table: GroupTable
  private var found: [(slot: Int, group: Groups.Group)] = []
  /// By slot, which of the groups found it is, once there are more than a few.
  private var indexes: [Int: Int] = [:]
  private static var few: Int { 4 }
  /// The slot asked for last and its group: neighbouring questions are mostly about the same one.
  private var lastSlot = -1
  private var last = 0

  init(_ groups: Groups, table: GroupTable) {
    self.groups = groups
    self.table = table
  }

  /// How many rows the group of a slot has.
  mutating func count(_ slot: Int) throws(TreeRingError) -> Int {
    try find(slot)
    return found[last].group.count
  }

  /// How many rows of a slot's group stand before each of these places.
  mutating func ranks(of places: [[UInt8]], slot: Int) throws(TreeRingError) -> [Int] {
    try find(slot)
    return try found[last].group.ranks(of: places)
  }

  /// The row at a position of a slot's group.
  mutating func row(at position: Int, slot: Int) throws(TreeRingError) -> RowReference {
    try find(slot)
    return try found[last].group.row(at: position)
  }

  /// The public identity of the row at a position of a slot's group.
  mutating func id(at position: Int, slot: Int) throws(TreeRingError) -> RowID {
    try groups.id(of: try row(at: position, slot: slot))
  }

  /// What a slot's group is ordered by in a list of groups; nil if it is not to be listed.
  mutating func orderKey(
    _ slot: Int, by choice: GroupChoice
  ) throws(TreeRingError) -> [UInt8]? {
    try find(slot)
    return try choice.orderKey(table.names[slot], found[last].group, in: groups)
  }

  private mutating func find(_ slot: Int) throws(TreeRingError) {
    if slot == lastSlot { return }
    let known =
      found.count <= Self.few ? found.firstIndex { $0.slot == slot } : indexes[slot]
    last = known ?? found.count
    lastSlot = -1
    if known == nil {
      found.append((slot, try groups.group(table.names[slot])))
      if found.count == Self.few + 1 {
        for (index, entry) in found.enumerated() { indexes[entry.slot] = index }
      } else if found.count > Self.few {
        indexes[slot] = last
      }
    }
    lastSlot = slot
  }
}
