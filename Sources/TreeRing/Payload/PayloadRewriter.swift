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
  package var kind: OperationKind
  package var row: RowAddress
  package var stamp: Stamp
  /// The group and the label of a placing operation; otherwise nil.
  package var place: (address: PlaceAddress, label: UnsafeRawBufferPointer)?
}

/// The decision about an operation.
package enum Verdict {
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
  package var droppedCount: Int
  /// Whether the rest holds nothing that a store needs: no operation, tag, key or bucket.
  package var isVacant: Bool
}

/// Rewrites one payload.
package struct PayloadRewriter {
  /// Decides about one operation on a row.
  package typealias Decide = (RowOperation) throws(TreeRingError) -> Verdict

  private var writer: PayloadWriter
  private var keptValues: [(operation: UInt32, part: ValuePart)] = []
  private var dropped: Dropped
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
  package static func rewrite(
    _ payload: UnsafeRawBufferPointer, of commit: CommitNumber,
    notes: (CommitNotes) -> CommitNotes = { $0 },
    declares: @escaping (BucketReference) -> Bool = { _ in true }, decide: @escaping Decide
  ) throws(TreeRingError) -> RewrittenPayload {
    var reader = try PayloadReader(payload, commit: commit)
    var rewriter = PayloadRewriter(commit: commit, declares: declares, decide: decide)
    while true {
      let stamp = Stamp(commit: commit, operation: reader.count)
      guard let operation = try reader.next() else { break }
      try rewriter.add(operation, at: stamp)
    }
    rewriter.endStub()
    let kept = notes(reader.notes)
    return RewrittenPayload(
      payload: rewriter.writer.payload(notes: kept), keptValues: rewriter.keptValues,
      droppedCount: rewriter.droppedCount,
      isVacant: rewriter.keptCount == 0 && kept == CommitNotes())
  }

  private init(
    commit: CommitNumber, declares: @escaping (BucketReference) -> Bool, decide: @escaping Decide
  ) {
    writer = PayloadWriter(commit: commit)
    dropped = Dropped()
    self.declares = declares
    self.decide = decide
  }

  private mutating func add(_ operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    switch operation {
    case .tag, .index: keep(operation)
    case .stub(let count, let buckets):
      dropped.count += count
      for bucket in buckets { declare(bucket) }
    case .deleteRange(let bucket, let rows):
      try addRange(bucket, rows, at: stamp)
    case .put(let row, _, _, _), .object(let row, _, _), .metadata(let row, _), .touch(let row),
      .delete(let row), .row(let row, _), .held(let row, _), .place(_, let row, _):
      try add(operation, on: row, at: stamp)
    }
  }

  private mutating func add(
    _ operation: Operation, on row: RowAddress, at stamp: Stamp
  ) throws(TreeRingError) {
    let own = operation.loggedParts(of: stamp)
    var shown = RowOperation(kind: operation.kind, row: row, stamp: stamp)
    if case .place(let address, _, let label) = operation { shown.place = (address, label) }
    switch try decide(shown) {
    case .keep:
      keep(operation)
      keep(own, of: stamp)
    case .row(let record):
      endStub()
      writer.row(row, record)
      keptCount += 1
      keep(record.loggedParts(of: stamp), of: stamp)
    case .hold(let parts) where !parts.isDisjoint(with: own):
      endStub()
      writer.held(row, parts.intersection(own))
      keptCount += 1
      keep(parts.intersection(own), of: stamp)
    case .drop, .hold:
      if operation.kind != .delete { declare(row.bucket) }
      drop()
    }
  }

  private mutating func addRange(
    _ bucket: BucketReference, _ rows: [DeletedRow], at stamp: Stamp
  ) throws(TreeRingError) {
    var kept: [DeletedRow] = []
    for row in rows {
      let address = RowAddress(bucket: bucket, key: row.key, previous: row.previous)
      if case .keep = try decide(RowOperation(kind: .deleteRange, row: address, stamp: stamp)) {
        kept.append(row)
      }
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
    writer.copy(operation)
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
    writer.stub(dropped.count, buckets: dropped.buckets)
    if !dropped.buckets.isEmpty { keptCount += 1 }
    dropped = Dropped()
  }
}

extension Operation {
  /// The kind of the operation.
  package var kind: OperationKind {
    switch self {
    case .put: .put
    case .object: .object
    case .metadata: .metadata
    case .touch: .touch
    case .delete: .delete
    case .deleteRange: .deleteRange
    case .tag: .tag
    case .index: .index
    case .place: .place
    case .stub: .stub
    case .row: .row
    case .held: .held
    }
  }

  /// The values that it has in the log under its own stamp.
  package func loggedParts(of stamp: Stamp) -> ValueParts {
    var parts: ValueParts = []
    switch self {
    case .put(_, _, let object, let metadata):
      if case .logged = object { parts.insert(.object) }
      if case .logged = metadata { parts.insert(.metadata) }
    case .object(_, _, .logged): parts.insert(.object)
    case .metadata(_, .logged): parts.insert(.metadata)
    case .row(_, let record): parts = record.loggedParts(of: stamp)
    case .held(_, let held): parts = held
    case .object, .metadata, .touch, .delete, .deleteRange, .tag, .index, .place, .stub: break
    }
    return parts
  }
}

extension RowRecord {
  /// The values that the operation with this stamp has logged.
  package func loggedParts(of stamp: Stamp) -> ValueParts {
    var parts: ValueParts = []
    if case .logged(let reference) = object, reference.stamp == stamp { parts.insert(.object) }
    if case .logged(let reference) = metadata, reference.stamp == stamp {
      parts.insert(.metadata)
    }
    return parts
  }
}
