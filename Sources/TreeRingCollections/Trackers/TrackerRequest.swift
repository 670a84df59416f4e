// A tracker's request: the rows of a store to follow, their order and their number.

public import TreeRing

/// A row in a tracker's list.
public struct TrackedRow<Row> {
  /// The row's identity.
  public let id: RowID
  /// The row, decoded.
  public let row: Row

  /// A row under its identity.
  public init(id: RowID, row: Row) {
    self.id = id
    self.row = row
  }
}

extension TrackedRow: Sendable where Row: Sendable {}
extension TrackedRow: Equatable where Row: Equatable {}

/// Rows of a store as one list.
///
///     let request = TrackerRequest(books, index: "SalesRank", groups: ["sci-fi"]).first(20)
public struct TrackerRequest<Row: Sendable>: Sendable {
  /// The origin of the rows.
  enum Scope: Hashable, Sendable {
    /// All rows of the bucket, by key.
    case bucket
    /// Rows of these groups, group after group.
    case groups(index: String, [GroupName])
  }

  let bucket: Bucket<Row>
  let scope: Scope
  private(set) var predicate: (@Sendable (TrackedRow<Row>) -> Bool)?
  private(set) var order: (@Sendable (TrackedRow<Row>, TrackedRow<Row>) -> Bool)?
  /// The positions shown of all rows, if there are as many.
  private(set) var window = 0..<Int.max

  /// All rows of a bucket, in key order.
  public init(_ bucket: Bucket<Row>) {
    self.bucket = bucket
    scope = .bucket
  }

  /// The rows that a bucket has in groups of an index, group after group, each in the index's
  /// order. A row in several of the groups is listed once for each.
  public init(_ bucket: Bucket<Row>, index: String, groups: [GroupName]) {
    self.bucket = bucket
    var seen: Set<GroupName> = []
    scope = .groups(index: index, groups.filter { seen.insert($0).inserted })
  }

  /// The rows in the groups of these values. Otherwise like the initialiser with names.
  @_disfavoredOverload
  public init(_ bucket: Bucket<Row>, index: String, groups: [some KeyConvertible]) {
    self.init(bucket, index: index, groups: groups.map { GroupName($0) })
  }

  /// The rows in groups of a typed index, group after group, each in the index's order. A row in
  /// several of the groups is listed once for each.
  ///
  ///     let request = TrackerRequest(salesRank, groups: [.fantasy]).first(20)
  public init<Group, Sort>(_ index: Index<Row, Group, Sort>, groups: [Group]) {
    self.init(index.bucket, index: index.name, groups: groups.map { index.groupName(of: $0) })
  }

  /// Restricts the list to matching rows. The closure must depend on the row alone.
  public func matching(
    _ predicate: @escaping @Sendable (TrackedRow<Row>) -> Bool
  ) -> TrackerRequest {
    var copy = self
    copy.predicate = predicate
    return copy
  }

  /// Sorts the rows by a strict weak order that depends on the two rows alone. Rows that compare as
  /// equal keep their default order.
  public func sorted(
    by order: @escaping @Sendable (TrackedRow<Row>, TrackedRow<Row>) -> Bool
  ) -> TrackerRequest {
    var copy = self
    copy.order = order
    return copy
  }

  /// Limits the list to this many rows: the first, or those behind the first `offset`. As rows come
  /// and go, others slide out and in. The last of several limits counts.
  ///
  /// The tracker keeps the rows outside the limit too. For pages of a long list use a range of
  /// mappings, which does not.
  public func first(_ fetchLimit: Int, after offset: Int = 0) -> TrackerRequest {
    precondition(fetchLimit >= 0, "a fetch limit is not negative")
    precondition(offset >= 0, "an offset is not negative")
    var copy = self
    copy.window = offset..<(fetchLimit > .max - offset ? .max : offset + fetchLimit)
    return copy
  }
}
