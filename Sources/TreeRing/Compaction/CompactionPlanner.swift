// The first pass of a compaction: reads the commits up to the horizon once, oldest first, and
// changes nothing. It collects the facts that no segment shows alone:
//
//   · the deletes still needed: an operation before them would otherwise bring the row back;
//   · the commit that introduced each bucket;
//   · the part of each segment that would stay.
//
// It uses filters of bounded size, not sets of rows. A false positive of a filter keeps a delete
// that could be dropped.

internal import TreeRingLog

extension KeepRule.Removal {
  /// The digest that represents the removal in filters.
  fileprivate func digest(of row: RowAddress) -> UInt64 {
    self == .row ? RowDigest.of(row) : RowDigest.ofPlaces(row)
  }
}

/// The input of the rewriting pass.
struct CompactionPlan: Sendable {
  /// The part of a segment that would stay.
  struct Segment: Hashable, Sendable {
    var firstCommit: CommitNumber
    /// Bytes of its payloads and logged values, and those of them that would stay.
    var byteCount: UInt64 = 0
    var keptByteCount: UInt64 = 0
    /// Whether a commit up to the horizon writes a row that older segments hold, without stating
    /// the whole row. Such a segment must be rewritten before the older ones.
    var leansOnOlder = false

    /// The fraction of the segment's bytes that would go, from 0 to 1.
    var gain: Double {
      byteCount == 0 ? 0 : 1 - Double(keptByteCount) / Double(byteCount)
    }
  }

  let points: KeptPoints
  /// The segments, the oldest first.
  var segments: [Segment] = []
  fileprivate(set) var neededDeletes: BloomFilter
  /// The commit that introduced each bucket, by bucket.
  fileprivate(set) var introducers: [UInt32: CommitNumber] = [:]

  /// Rewrites one commit at or below the horizon.
  ///
  /// - Parameter state: The state at the first kept point at or after the commit.
  func rewrite(
    _ payload: UnsafeRawBufferPointer, of commit: CommitNumber, state: StateReader
  ) throws(TreeRingError) -> RewrittenPayload {
    let rule = KeepRule(state: state) { removed, row, stamp in
      neededDeletes.mayContain(RowDigest.of(removed.digest(of: row), at: stamp))
    }
    return try rewrite(payload, of: commit, rule: rule)
  }

  fileprivate func rewrite(
    _ payload: UnsafeRawBufferPointer, of commit: CommitNumber, rule: KeepRule
  ) throws(TreeRingError) -> RewrittenPayload {
    let isPoint = points.contains(commit)
    return try PayloadRewriter.rewrite(
      payload, of: commit,
      notes: { notes in
        if isPoint { return notes }
        var kept = CommitNotes()
        kept.tags = notes.tags
        kept.idempotencyKey = notes.idempotencyKey
        return kept
      }, declares: { introducers[$0.number] == commit },
      decide: { (operation) throws(TreeRingError) in try rule.verdict(on: operation) })
  }
}

/// Makes a plan from commits that it gets in order.
struct CompactionPlanner {
  private var plan: CompactionPlan
  private let seen: SeenRows
  /// The rows that this segment writes.
  private var written: [UInt64] = []
  /// The last needed delete in this segment since the last kept point, by row.
  private var deletes: [UInt64: UInt64] = [:]
  private var point: CommitNumber?

  /// The rows that an operation may bring back. An object, so that closures read it uncopied.
  private final class SeenRows {
    /// The rows that the segments before this one write.
    var older: BloomFilter
    /// The rows of this segment that stay.
    var kept: Set<UInt64> = []
    init(older: BloomFilter) { self.older = older }
  }

  /// - Parameters:
  ///   - operationCount: The approximate number of operations up to the horizon.
  ///   - memoryLimit: The most bytes that the filters may take.
  init(points: KeptPoints, operationCount: Int, memoryLimit: Int) {
    let filter = BloomFilter(expecting: operationCount, limit: memoryLimit / 2)
    seen = SeenRows(older: filter)
    plan = CompactionPlan(points: points, neededDeletes: filter)
  }

  mutating func beginSegment(_ first: CommitNumber) {
    settleDeletes()
    for row in written { seen.older.insert(row) }
    written.removeAll(keepingCapacity: true)
    seen.kept.removeAll(keepingCapacity: true)
    plan.segments.append(CompactionPlan.Segment(firstCommit: first))
  }

  /// Ends the planning and returns the plan.
  mutating func finish() -> CompactionPlan {
    settleDeletes()
    return plan
  }

  private mutating func settleDeletes() {
    for delete in deletes.values { plan.neededDeletes.insert(delete) }
    deletes.removeAll(keepingCapacity: true)
  }

  /// Counts a commit above the horizon, which stays as it is.
  mutating func pass(_ header: CommitHeader) {
    note(Int(header.storedByteCount), kept: Int(header.storedByteCount))
  }

  /// Plans a commit at or below the horizon.
  mutating func visit(
    _ header: CommitHeader, _ payload: UnsafeRawBufferPointer, state: StateReader
  ) throws(TreeRingError) {
    let commit = header.number
    if let next = plan.points.first(from: commit), next != point {
      settleDeletes()
      point = next
    }
    try learn(payload, of: commit)
    var needed: [(row: UInt64, delete: UInt64)] = []
    var present: [UInt64] = []
    var takenOut: [UInt64] = []
    let seen = seen
    let rule = KeepRule(state: state) { removed, row, stamp in
      let digest = removed.digest(of: row)
      guard seen.older.mayContain(digest) || seen.kept.contains(digest) else { return false }
      let operation = RowDigest.of(digest, at: stamp)
      if removed == .place {
        takenOut.append(operation)
      } else {
        needed.append((digest, operation))
      }
      return true
    }
    let introducers = plan.introducers
    let rewritten = try PayloadRewriter.rewrite(
      payload, of: commit, declares: { introducers[$0.number] == commit },
      decide: { (operation) throws(TreeRingError) in
        let verdict = try rule.verdict(on: operation)
        if case .row = verdict { present.append(RowDigest.of(operation.row)) }
        if operation.place != nil, case .keep = verdict {
          present.append(RowDigest.ofPlaces(operation.row))
        }
        return verdict
      })
    for operation in takenOut { plan.neededDeletes.insert(operation) }
    for row in present { seen.kept.insert(row) }
    for (row, delete) in needed { deletes[row] = delete }
    let values = max(0, Int(header.storedByteCount) - payload.count)
    let stays = !rewritten.isVacant || plan.points.contains(commit)
    note(
      payload.count + values,
      kept: stays ? rewritten.payload.count + (rewritten.keptValues.isEmpty ? 0 : values) : 0)
  }

  /// Collects the rows that a commit writes and the buckets that it introduces.
  private mutating func learn(
    _ payload: UnsafeRawBufferPointer, of commit: CommitNumber
  ) throws(TreeRingError) {
    var reader = try PayloadReader(payload, commit: commit)
    guard let first = plan.segments.last?.firstCommit else { return }
    var leansOnOlder = false
    defer { if leansOnOlder { plan.segments[plan.segments.count - 1].leansOnOlder = true } }
    while let operation = try reader.next() {
      switch operation {
      case .row(let row, let change) where !change.isDelete:
        written.append(RowDigest.of(row))
        introduce(row.bucket, commit)
        if !change.kept.isEmpty, row.previous != 0, row.previous < first { leansOnOlder = true }
      case .held(let row, _): introduce(row.bucket, commit)
      case .place(_, let row, _): written.append(RowDigest.ofPlaces(row))
      case .stub(_, let buckets): for bucket in buckets { introduce(bucket, commit) }
      case .row, .deleteRange, .tag, .index: break
      }
    }
  }

  private mutating func introduce(_ bucket: BucketReference, _ commit: CommitNumber) {
    if plan.introducers[bucket.number] == nil { plan.introducers[bucket.number] = commit }
  }

  private mutating func note(_ byteCount: Int, kept: Int) {
    let last = plan.segments.count - 1
    guard last >= 0 else { return }
    plan.segments[last].byteCount += UInt64(byteCount)
    plan.segments[last].keptByteCount += UInt64(min(kept, byteCount))
  }
}
