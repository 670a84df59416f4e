// Rewrites a commit's payload without some of its operations. Compaction and erasing decide which
// to remove; this file builds the new payload. Pure: bytes in, bytes out.
//
//   1. `decide` judges each operation on a row, and each row of a ranged delete by itself.
//   2. Kept operations are copied, or replaced by a whole row. Dropped ones become part of a stub,
//      and neighbours share one, so that every other operation keeps its number.
//   3. A stub names the buckets that its operations introduced, if nothing else would: a bucket's
//      number must never be reused.
//   4. Tags, index definitions and the commit's content for programs stay.
//
// The result lists the logged values that stay; the log drops the others.

package import TreeRingLog

/// An operation on one row, as `decide` sees it.
package struct RowOperation {
  package var row: RowAddress
  package var stamp: Stamp
  var isDelete: Bool
  /// The group and the label of a placing operation; otherwise nil.
  package var place: (address: PlaceAddress, label: UnsafeRawBufferPointer)?
}

/// The decision about an operation.
enum Verdict {
  case keep
  case drop
  /// Keep only the row as this operation left it.
  case row(RowRecord)
  /// Keep only these of its logged values.
  case hold(ValueParts)
}

/// A rewritten payload.
package struct RewrittenPayload: Sendable {
  package var payload: [UInt8]
  /// The logged values that stay, by operation.
  package var keptValues: [(operation: UInt32, part: ValuePart)]
  /// The number of operations removed by this rewrite.
  var droppedCount: Int
  /// Whether the rest holds nothing that a store needs: no operation, tag, key or bucket.
  var isVacant: Bool
}

/// Rewrites one payload.
package struct PayloadRewriter {
  /// Decides about one operation on a row.
  typealias Decide = (RowOperation) throws(TreeRingError) -> Verdict

  private var writer: PayloadWriter
  private var keptValues: [(operation: UInt32, part: ValuePart)] = []
  private var dropped = Dropped()
  private var droppedCount = 0
  private var keptCount = 0
  private let declares: (BucketReference) -> Bool
  private let decide: Decide

  /// A run of dropped operations.
  private struct Dropped {
    var count: UInt32 = 0
    var buckets: [BucketReference] = []
  }

  /// The payload of commit `commit` without the operations that `decide` drops.
  ///
  /// - Parameters:
  ///   - notes: the part to keep of the commit's content besides its operations.
  ///   - declares: whether this commit must keep introducing a bucket that a dropped operation
  ///     named.
  static func rewrite(
    _ payload: UnsafeRawBufferPointer, of commit: CommitNumber,
    notes: (CommitNotes) -> CommitNotes = { $0 },
    declares: @escaping (BucketReference) -> Bool = { _ in true }, decide: @escaping Decide
  ) throws(TreeRingError) -> RewrittenPayload {
    var reader = try PayloadReader(payload, commit: commit)
    var rewriter = PayloadRewriter(
      writer: PayloadWriter(commit: commit), declares: declares, decide: decide)
    while let (operation, stamp) = try reader.nextStamped() {
      try rewriter.add(operation, at: stamp)
    }
    rewriter.endStub()
    let kept = notes(reader.notes)
    return RewrittenPayload(
      payload: rewriter.writer.payload(notes: kept), keptValues: rewriter.keptValues,
      droppedCount: rewriter.droppedCount,
      isVacant: rewriter.keptCount == 0 && kept == CommitNotes())
  }

  private mutating func add(_ operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    switch operation {
    case .tag, .index: keep(operation)
    case .stub(let count, let buckets):
      dropped.count += count
      for bucket in buckets { declare(bucket) }
    case .deleteRange(let bucket, let rows):
      try addRange(bucket, rows, at: stamp)
    case .row(let row, let change):
      try add(operation, on: RowOperation(row: row, stamp: stamp, isDelete: change.isDelete))
    case .place(let address, let row, let label):
      try add(
        operation,
        on: RowOperation(row: row, stamp: stamp, isDelete: false, place: (address, label)))
    case .held(let row, _):
      try add(operation, on: RowOperation(row: row, stamp: stamp, isDelete: false))
    }
  }

  private mutating func add(
    _ operation: Operation, on shown: RowOperation
  ) throws(TreeRingError) {
    let (row, stamp) = (shown.row, shown.stamp)
    let own = operation.loggedParts(of: stamp)
    switch try decide(shown) {
    case .keep:
      keep(operation)
      keep(own, of: stamp)
    case .row(let record):
      precondition(record.written == stamp, "a row must lie where it was last written")
      keep(.row(row, RowChange(whole: record)))
      keep(record.loggedParts(of: stamp), of: stamp)
    case .hold(let parts) where !parts.isDisjoint(with: own):
      keep(.held(row, parts.intersection(own)))
      keep(parts.intersection(own), of: stamp)
    case .drop, .hold:
      if !shown.isDelete { declare(row.bucket) }
      drop()
    }
  }

  private mutating func addRange(
    _ bucket: BucketReference, _ rows: [DeletedRow], at stamp: Stamp
  ) throws(TreeRingError) {
    var kept: [DeletedRow] = []
    for row in rows {
      let shown = RowOperation(row: row.address(in: bucket), stamp: stamp, isDelete: true)
      if case .keep = try decide(shown) { kept.append(row) }
    }
    if kept.isEmpty {
      drop()
    } else {
      if kept.count < rows.count { droppedCount += 1 }
      keep(.deleteRange(bucket, kept))
    }
  }

  private mutating func keep(_ operation: Operation) {
    endStub()
    writer.append(operation)
    keptCount += 1
  }

  private mutating func keep(_ parts: ValueParts, of stamp: Stamp) {
    if parts.contains(.object) { keptValues.append((stamp.operation, .object)) }
    if parts.contains(.metadata) { keptValues.append((stamp.operation, .metadata)) }
  }

  private mutating func drop() {
    dropped.count += 1
    droppedCount += 1
  }

  private mutating func declare(_ bucket: BucketReference) {
    if declares(bucket), !dropped.buckets.contains(bucket) { dropped.buckets.append(bucket) }
  }

  private mutating func endStub() {
    if dropped.count == 0 { return }
    writer.append(.stub(count: dropped.count, buckets: dropped.buckets))
    if !dropped.buckets.isEmpty { keptCount += 1 }
    dropped = Dropped()
  }
}

extension RowRecord {
  /// The values that the operation with this stamp has logged.
  func loggedParts(of stamp: Stamp) -> ValueParts {
    ValueParts(object, metadata, loggedBy: stamp)
  }
}
