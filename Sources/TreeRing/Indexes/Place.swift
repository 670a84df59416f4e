// The place of a row in a group index: a group and the values that order the row inside it.

internal import TreeRingLog

/// A row's place in a group index: the group and the values that order the row there.
///
/// Rows that are equal in every item are ordered by bucket and key. The items together take up to
/// 512 bytes; bytes beyond that are ignored.
public struct Place: Hashable, Sendable {
  /// The group.
  public var group: GroupName
  /// The values that order the row, the most significant first.
  public var order: [SortItem]

  /// Creates a place in a value's group, ordered by the items, the most significant first.
  public init(in group: some KeyConvertible, by order: [SortItem]) {
    self.group = GroupName(bytes: group.keyBytes)
    self.order = order
  }

  /// Creates a place in a value's group, ordered by the items, the most significant first.
  public init(in group: some KeyConvertible, by order: SortItem...) {
    self.init(in: group, by: order)
  }

  /// The sort key, at most 512 bytes.
  package func sortKey(context: SortKeyContext) -> [UInt8] {
    var encoder = SortKeyEncoder()
    encode(to: &encoder, context: context)
    return encoder.bytes
  }

  /// Replaces the content of an encoder by the sort key.
  package func encode(to encoder: inout SortKeyEncoder, context: SortKeyContext) {
    encoder.removeAll()
    for item in order { item.append(to: &encoder, context: context) }
    encoder.cut()
  }
}
