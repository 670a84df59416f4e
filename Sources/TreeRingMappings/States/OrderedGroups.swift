// The changeset algorithm's view of a group index at one commit.

internal import TreeRing
internal import TreeRingLog

/// A group index at one commit.
protocol OrderedGroups<Group>: Sendable {
  associatedtype Group: OrderedGroup

  /// Every group that has rows. O(groups · log n).
  func groupNames() throws(TreeRingError) -> [GroupName]
  /// A group; one that does not exist has no rows. O(log n).
  func group(_ name: GroupName) throws(TreeRingError) -> Group
  /// A row's places, in group order; empty if it is not in the index. O(log n).
  func places(of row: RowReference) throws(TreeRingError) -> [RowPlace]
  /// Calls `body` with each group that holds the row, in group order, and the row's position there.
  /// O(log n) for each.
  func forEachRank(
    of row: RowReference, _ body: (GroupName, Int) -> Void
  ) throws(TreeRingError)
  /// A row with its content. O(log n).
  func stored(_ row: RowReference) throws(TreeRingError) -> StoredRow?
  /// A row's public identity, also for a row that is deleted or not yet inserted. O(1).
  func id(of row: RowReference) throws(TreeRingError) -> RowID
  /// The row of a public identity; nil if there never was such a row. O(1).
  func reference(of id: RowID) -> RowReference?
  /// Whether groups have sums.
  var hasSums: Bool { get }
  /// The sum of a group; nil without sums, or if one of its numbers cannot be summed. O(log n).
  func sum(of name: GroupName) throws(TreeRingError) -> IndexSum?
}

extension OrderedGroups {
  var hasSums: Bool { false }
  func sum(of name: GroupName) throws(TreeRingError) -> IndexSum? { nil }
}

/// One group: a strict total order of rows, with order statistics. Every call costs O(log n).
protocol OrderedGroup {
  /// The number of its rows.
  var count: Int { get }
  /// The number of its rows before this place, whether or not a row stands at it.
  func rank(of order: [UInt8]) throws(TreeRingError) -> Int
  /// The ranks of many places, in their order.
  func ranks(of places: [[UInt8]]) throws(TreeRingError) -> [Int]
  /// The row at a position below the count.
  func row(at position: Int) throws(TreeRingError) -> RowReference
}

/// The groups of an index by slot, each looked up once.
struct GroupCache<Groups: OrderedGroups> {
  let groups: Groups
  private let table: GroupTable
  private var found: [(slot: Int, group: Groups.Group)] = []
  /// The index of each slot in `found`, once there are more than a few groups.
  private var indexes: [Int: Int] = [:]
  private static var few: Int { 4 }
  /// The slot of the last lookup, and its group: consecutive lookups mostly concern one group.
  private var lastSlot = -1
  private var last = 0

  init(_ groups: Groups, table: GroupTable) {
    self.groups = groups
    self.table = table
  }

  /// The number of rows in a slot's group.
  mutating func count(_ slot: Int) throws(TreeRingError) -> Int {
    try find(slot)
    return found[last].group.count
  }

  /// The number of rows of a slot's group before a place.
  mutating func rank(of order: [UInt8], slot: Int) throws(TreeRingError) -> Int {
    try find(slot)
    return try found[last].group.rank(of: order)
  }

  /// The ranks of many places of one slot, in their order.
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

  /// The sort key of a slot's group in the list of groups; nil if the filter excludes it.
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
