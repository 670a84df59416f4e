// Reads one group of an index. Finding the group is done once, so that each further question is one
// descent of the order tree.

public import TreeRingLog

/// One group of a group index as it is at one commit: for many questions about the same group.
///
/// Of a transaction it is valid until the transaction's next write.
public struct GroupReader: Sendable {
  private let entries: GroupEntries

  init(_ name: GroupName, of index: IndexReader) throws(TreeRingError) {
    entries = try GroupEntries(name, of: index)
  }

  /// The group's name.
  public var name: GroupName { entries.name }

  /// How many rows the group has.
  public var count: Int { entries.count }

  /// The identity of the row at a position; nil beyond the group's end. O(log n).
  public func id(at position: Int) throws(TreeRingError) -> RowID? { try entries.id(at: position) }

  /// The position of a row; nil if it is not in the group. O(log n).
  public func index(of id: RowID) throws(TreeRingError) -> Int? { try entries.position(of: id) }
}

extension IndexReader {
  /// A group to ask several questions of. O(log n).
  public func group(_ name: GroupName) throws(TreeRingError) -> GroupReader {
    try GroupReader(name, of: self)
  }
}
