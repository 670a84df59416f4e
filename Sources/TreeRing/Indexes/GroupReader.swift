// Reads one group of an index. The group is looked up once, so that each query is one or two
// descents of a tree.

public import TreeRingLog

/// One group of a group index at one commit, for many queries of the same group.
///
/// A reader from a transaction is valid until the transaction's next write.
public struct GroupReader: Sendable {
  private let entries: GroupEntries

  init(_ name: GroupName, of index: IndexReader) throws(TreeRingError) {
    entries = try GroupEntries(name, of: index)
  }

  /// The group's name.
  public var name: GroupName { entries.name }

  /// The number of rows in the group.
  public var count: Int { entries.count }

  /// The identity of the row at a position; nil beyond the group's end. O(log n).
  public func id(at position: Int) throws(TreeRingError) -> RowID? { try entries.id(at: position) }

  /// The position of a row; nil if it is not in the group. O(log n).
  public func index(of id: RowID) throws(TreeRingError) -> Int? { try entries.position(of: id) }
}

extension IndexReader {
  /// Returns a group for several queries. O(log n).
  public func group(_ name: GroupName) throws(TreeRingError) -> GroupReader {
    try GroupReader(name, of: self)
  }
}
