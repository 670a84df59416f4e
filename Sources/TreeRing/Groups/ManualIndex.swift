// Definitions of manual indexes: rows stand where they were put.

/// A group index whose rows are placed by hand, one by one: shelves, playlists, boards.
///
///     try store.define("shelves", ManualIndex(on: books))
///     try store.write { tx in
///       let unread = try tx.group("unread", of: "shelves")
///       try unread.append(RowID("moby", in: books))
///       try unread.move(RowID("emma", in: books), to: 0)
///     }
///
/// A row is in it only where it was placed, in any number of groups, and leaves all of them when it is
/// deleted. Placing is part of history: it is logged, and every earlier order can be read.
public struct ManualIndex: Hashable, Sendable {
  /// The buckets whose rows may be placed.
  public let buckets: [String]

  /// An index of rows of these buckets.
  public init(on buckets: String...) { self.buckets = buckets }

  /// An index of rows of a bucket.
  public init<Row>(on bucket: Bucket<Row>) { buckets = [bucket.name] }
}
