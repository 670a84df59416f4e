// The roots of all trees at one commit. They are all that a state consists of; the catalog's
// decoded part (Catalog.swift) can be read from its tree.

package import TreeRingLog

/// The roots of a group index's two trees.
package struct IndexRoots: Hashable, Sendable {
  /// The number of the definition that the trees were built from.
  package var number: UInt32
  /// (group, sort key, bucket, key) → lengths of group and sort key.
  package var order = TreeRoot.empty
  /// (bucket, key, group) → sort key.
  package var places = TreeRoot.empty
  /// The number of rows left out because the index's closure cannot decode them.
  var undecodable: UInt64 = 0

  package init(number: UInt32) { self.number = number }
}

/// The roots of all trees at one commit.
package struct Roots: Sendable {
  package var commit: CommitNumber = 0
  /// The form of the commit's trees; see `StateID`.
  package var form: UInt16 = 0
  package var timestamp = Timestamp(microseconds: .min)
  /// The number of operations of all commits so far, and the bytes of their payloads.
  package var operationCount: UInt64 = 0
  package var payloadByteCount: UInt64 = 0
  /// (bucket, key) → row record.
  package var rows = TreeRoot.empty
  /// (bucket, key) → commit of the delete: the tombstones.
  package var tombstones = TreeRoot.empty
  package var catalog = TreeRoot.empty
  /// The trees of the group indexes maintained at this commit.
  package var indexes = IndexTrees()

  package init() {}

  /// The state that these are the roots of.
  package var state: StateID { StateID(commit, form: form) }

  /// The lowest form that the trees can be of: the highest edition of the commit's pages. O(trees).
  var lowestForm: UInt16 {
    trees.lazy.map(\.birth).filter { $0.commit == commit }.map(\.edition).max() ?? 0
  }

  /// The cost of replaying all commits so far, in bytes of payload. Each operation counts for as
  /// many further bytes as take about the time of its edits. The greatest number if the sum
  /// overflows: a list of roots in a damaged file may state any counts.
  var replayByteCount: UInt64 {
    let (operations, isHuge) = operationCount.multipliedReportingOverflow(by: 64)
    let (sum, isOver) = payloadByteCount.addingReportingOverflow(operations)
    return isHuge || isOver ? .max : sum
  }

  /// Every tree, those of the indexes last.
  package var trees: [TreeRoot] {
    [rows, tombstones, catalog] + indexes.all.flatMap { [$0.order, $0.places] }
  }

  /// The trees of one index definition, if they are maintained at this commit.
  package func index(_ number: UInt32) -> IndexRoots? { indexes[number] }

  /// The commit that deleted a row; 0 if none did, or its tombstone is gone. Inside a read section.
  func tombstone(
    bucket: UInt32, key: UnsafeRawBufferPointer, pages: PageStore
  ) throws(TreeRingError) -> CommitNumber {
    if tombstones.count == 0 { return 0 }
    let tombstones = Tree(tombstones, pages: pages)
    guard let bytes = RowTreeKey.with(bucket: bucket, key: key, { tombstones.value(of: $0) }) else {
      return 0
    }
    var reader = ByteReader(bytes)
    return try reader.integer()
  }
}
