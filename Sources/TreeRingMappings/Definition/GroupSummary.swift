// A group summary: the argument of the filter and the order of a dynamic list of groups.

public import TreeRing
internal import TreeRingLog

/// A group of an index at one commit: its name, its number of rows, its first row and its last.
///
/// Rows are read on demand from a snapshot that the store holds for the call. Use the summary only
/// during the call and in its task; for that reason it is not `Sendable`.
public struct GroupSummary {
  /// The group's name.
  public let name: GroupName
  /// The number of rows in the group: at least one.
  public let count: Int
  /// Reads the row at a position; nil if that fails.
  let row: (Int) -> StoredRow?

  /// The first row in the index's order; nil if it cannot be read. A failed read ends the whole
  /// call.
  public var first: StoredRow? { row(0) }
  /// The last row in the index's order; nil if it cannot be read. A failed read ends the whole
  /// call.
  public var last: StoredRow? { row(count - 1) }

  /// The first row, decoded; nil if it belongs to another bucket or cannot be decoded.
  public func first<Row>(in bucket: Bucket<Row>) -> Row? { decode(first, bucket) }
  /// The last row, decoded; nil if it belongs to another bucket or cannot be decoded.
  public func last<Row>(in bucket: Bucket<Row>) -> Row? { decode(last, bucket) }

  private func decode<Row>(_ row: StoredRow?, _ bucket: Bucket<Row>) -> Row? {
    guard let row, row.bucket.isSameName(as: bucket.name) else { return nil }
    return try? bucket.decode(row)
  }
}

/// A filter and an order of groups. Copies of mappings share one object; equality is identity.
final class GroupChoice: Sendable {
  private let isIncluded: @Sendable (GroupSummary) -> Bool
  private let order: @Sendable (GroupSummary) -> [SortItem]

  init(
    where isIncluded: @escaping @Sendable (GroupSummary) -> Bool,
    order: @escaping @Sendable (GroupSummary) -> [SortItem]
  ) {
    self.isIncluded = isIncluded
    self.order = order
  }

  /// The group's sort key in the list of groups; nil if the filter excludes it.
  ///
  /// - Throws: the error of reading its first or last row.
  func orderKey<Group: OrderedGroup>(
    _ name: GroupName, _ group: Group, in groups: some OrderedGroups<Group>
  ) throws(TreeRingError) -> [UInt8]? {
    if group.count == 0 { return nil }
    var failure: TreeRingError?
    let summary = GroupSummary(name: name, count: group.count) { position in
      do throws(TreeRingError) {
        return try groups.stored(try group.row(at: position))
      } catch {
        failure = error
        return nil
      }
    }
    var key: [UInt8]?
    if isIncluded(summary) {
      let start = Stamp(commit: 0, operation: 0)
      key = Place(in: name, by: order(summary)).sortKey(
        context: SortKeyContext(created: start, modified: start))
    }
    if let failure { throw failure }
    return key
  }
}
