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
  /// The groups a row stands in and its position in each, in group order. O(log n) for each.
  func ranks(of row: RowReference) throws(TreeRingError) -> [(group: GroupName, rank: Int)]
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
  package func ranks(
    of row: RowReference
  ) throws(TreeRingError) -> [(group: GroupName, rank: Int)] {
    var ranks: [(group: GroupName, rank: Int)] = []
    for place in try places(of: row) {
      ranks.append((place.group, try group(place.group).rank(of: place.order)))
    }
    return ranks
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
  private var found: [Groups.Group] = []
  /// By slot, which of the groups found it is.
  private var indexes: [Int: Int] = [:]
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
    return found[last].count
  }

  /// How many rows of a slot's group stand before each of these places.
  mutating func ranks(of places: [[UInt8]], slot: Int) throws(TreeRingError) -> [Int] {
    try find(slot)
    return try found[last].ranks(of: places)
  }

  /// The row at a position of a slot's group.
  mutating func row(at position: Int, slot: Int) throws(TreeRingError) -> RowReference {
    try find(slot)
    return try found[last].row(at: position)
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
    return try choice.orderKey(table.names[slot], found[last], in: groups)
  }

  private mutating func find(_ slot: Int) throws(TreeRingError) {
    if slot == lastSlot { return }
    if let index = indexes[slot] {
      last = index
    } else {
      found.append(try groups.group(table.names[slot]))
      last = found.count - 1
      indexes[slot] = last
    }
    lastSlot = slot
  }
}
