// Indexes of events, which every program can evaluate: a row's places depend on its key, on its
// metadata and on the operation that created it. TreeRingStreams defines them.

internal import TreeRingLog

extension EventGrouping {
  /// The group of all events of an index by categories.
  package static let all: GroupName = "$all"

  /// The places of a row, in group order.
  func places(of row: RowInput) -> [EncodedPlace] {
    guard let key = EventKey(row.key) else { return [] }
    switch self {
    case .categories:
      let category = GroupName(bytes: key.category)
      guard category.bytes.count <= Limits.nameByteCount else { return [] }
      let position = Self.position(of: row.record.created)
      let all = EncodedPlace(group: Self.all, sortKey: position)
      if category == Self.all { return [all] }
      let own = EncodedPlace(group: category, sortKey: position)
      return category < Self.all ? [own, all] : [all, own]
    case .ids:
      guard let id = Self.id(in: row.metadata) else { return [] }
      return [EncodedPlace(group: id, sortKey: Self.position(of: row.record.created))]
    }
  }

  /// The id in an event's metadata; nil if there is none.
  private static func id(in metadata: UnsafeRawBufferPointer?) -> GroupName? {
    guard let metadata, let idPath else { return nil }
    let found = try? JSONScanner.find(idPath, in: metadata)
    guard let found, metadata[found.lowerBound] == UInt8(ascii: "\"") else { return nil }
    var text: [UInt8] = []
    JSONScanner.appendString(UnsafeRawBufferPointer(rebasing: metadata[found]), to: &text)
    return (1...Limits.nameByteCount).contains(text.count) ? GroupName(bytes: text) : nil
  }

  private static let idPath = try? JSONPath("id")

  /// The sort key of an event that an operation appended: commit and operation, big-endian.
  package static func position(of stamp: Stamp) -> [UInt8] {
    var encoder = SortKeyEncoder()
    encoder.appendBigEndian(stamp.commit)
    encoder.appendBigEndian(stamp.operation)
    return encoder.bytes
  }
}
