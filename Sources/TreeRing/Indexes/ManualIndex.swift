// Definitions of manual indexes, whose rows stay where the caller places them.

/// A group index whose rows are placed manually, one by one: shelves, playlists, boards.
///
///     try store.define("shelves", ManualIndex(on: books))
///     try store.write { tx in
///       let unread = try tx.group("unread", of: "shelves")
///       try unread.append(RowID("moby", in: books))
///       try unread.move(RowID("emma", in: books), to: 0)
///     }
///
/// A row is only in the groups that it was placed in, any number of them. A delete of the row
/// removes it from all of them. Placing is part of history: it is logged, and every earlier order
/// is readable.
public struct ManualIndex: Hashable, Sendable {
  /// The buckets whose rows may be placed.
  public let buckets: [String]

  /// Creates an index over rows of these buckets.
  public init(on buckets: any BucketName...) { self.buckets = buckets.map(\.bucketName) }

  public static func == (a: ManualIndex, b: ManualIndex) -> Bool {
    a.buckets.areSameNames(as: b.buckets)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(buckets.names) }
}
