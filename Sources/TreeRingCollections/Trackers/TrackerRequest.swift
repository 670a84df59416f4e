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
  private(set) var fetchLimit: Int?

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

  /// Limits the list to this many first rows; as rows come and go, others slide out and in.
  public func first(_ fetchLimit: Int) -> TrackerRequest {
    precondition(fetchLimit >= 0, "a fetch limit is not negative")
    var copy = self
    copy.fetchLimit = fetchLimit
    return copy
  }
}
