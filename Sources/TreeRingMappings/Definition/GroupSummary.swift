// A group as the filter and the order of a dynamic list of groups see it.

public import TreeRing
internal import TreeRingLog

/// A group of an index at one commit: its name, its number of rows, its first row and its last.
///
/// The rows are read only when they are asked for, from a snapshot that is held for the call: use it
/// during the call only, and in its task, which is why it is not `Sendable`.
public struct GroupSummary {
  /// The group's name.
  public let name: GroupName
  /// How many rows the group has: at least one.
  public let count: Int
  private let row: (Int) -> StoredRow?

  init(name: GroupName, count: Int, row: @escaping (Int) -> StoredRow?) {
    self.name = name
    self.count = count
    self.row = row
  }

  /// The first row in the index's order; nil if it cannot be read, which ends the call's use.
  public var first: StoredRow? { row(0) }
  /// The last row in the index's order; nil if it cannot be read, which ends the call's use.
  public var last: StoredRow? { row(count - 1) }

  /// The first row, decoded; nil if it is of another bucket or cannot be decoded.
  public func first<Row>(in bucket: Bucket<Row>) -> Row? { decode(first, bucket) }
  /// The last row, decoded; nil if it is of another bucket or cannot be decoded.
  public func last<Row>(in bucket: Bucket<Row>) -> Row? { decode(last, bucket) }

  private func decode<Row>(_ row: StoredRow?, _ bucket: Bucket<Row>) -> Row? {
    guard let row, row.bucket == bucket.name else { return nil }
    return try? bucket.decode(row)
  }
}

/// A filter and an order of groups. Copies of mappings share it; two are equal if they are the same.
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

  /// What a group is ordered by among the groups listed; nil if it is not to be listed.
  ///
  /// - Throws: what reading its first or last row throws.
  func orderKey<Group: OrderedGroup>(
    _ name: GroupName, _ group: Group, in groups: some OrderedGroups<Group>
  ) throws(TreeRingError) -> [UInt8]? {
    if group.count == 0 { return nil }
    let failure = ReadFailure()
    let summary = GroupSummary(name: name, count: group.count) { position in
      do throws(TreeRingError) {
        return try groups.stored(try group.row(at: position))
      } catch {
        failure.error = error
        return nil
      }
    }
    var key: [UInt8]?
    if isIncluded(summary) {
      let start = Stamp(commit: 0, operation: 0)
      key = Place(in: name, by: order(summary)).sortKey(
        context: SortKeyContext(created: start, modified: start))
    }
    if let error = failure.error { throw error }
    return key
  }
}

/// What went wrong while a summary's rows were read.
private final class ReadFailure {
  var error: TreeRingError?
}
