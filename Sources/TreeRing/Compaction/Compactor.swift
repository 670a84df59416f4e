// One run of compaction over the log's segments.
//
//   1. Plan: read the commits up to the horizon once, oldest first (CompactionPlanner).
//   2. Rewrite segments, newest first. Each is durable before the next is begun. A kept row needs
//      nothing before it, so the log replays to the kept states after every step. A run can stop
//      anywhere, by a crash or on request, and the next run continues.
//
// A segment is rewritten if operations in it depend on older segments, which will be dropped, or if
// it would lose enough to be worth the writing. The segment that holds the horizon is always
// rewritten, so that its header states the horizon before any history is gone.
//
// A run needs extra space for one segment. Between slices the compactor yields to waiting commits.

internal import TreeRingLog
internal import TreeRingPlatform

/// Compacts a log. Used by one thread.
struct Compactor {
  let log: CommitLog
  let points: KeptPoints
  let memoryLimit: Int
  /// Returns the state at a kept point.
  let state: (CommitNumber) throws -> StateReader
  /// Called between slices; throws to stop the run.
  let progress: (CompactionProgress) throws -> Void
  /// Whether to read the active segment too, which cannot be rewritten.
  var includesActive = false
  private(set) var current: (point: CommitNumber, state: StateReader)?
  private(set) var done: UInt64 = 0
  private(set) var total: UInt64 = 0
  private(set) var sinceSlice: UInt64 = 0
  private(set) var lastSequenced: CommitNumber = 0

  /// The bytes of the log in one slice; then other work gets a turn.
  private static let sliceByteCount: UInt64 = 1 << 20

  /// The segments that hold commits up to the horizon, oldest first.
  private var segments: [SegmentInfo] {
    log.segments.filter { ($0.isSealed || includesActive) && $0.firstCommit <= points.horizon }
  }

  // MARK: - Planning

  mutating func plan() throws -> CompactionPlan {
    let segments = segments
    done = 0
    total = segments.reduce(0) { $0 + $1.byteCount } * 2
    // An operation takes at least some 16 bytes.
    var planner = CompactionPlanner(
      points: points, operationCount: Int(clamping: total / 2 / 16), memoryLimit: memoryLimit)
    for segment in segments {
      planner.beginSegment(segment.firstCommit)
      if segment.lastCommit < segment.firstCommit { continue }
      try log.replayRethrowing(from: segment.firstCommit, through: segment.lastCommit) {
        header, payload in
        if let state = try keptState(for: header.number) {
          try state.reading {
            try planner.visit(header, payload, state: state)
          }
        } else {
          planner.pass(header)
        }
        try advance(header.storedByteCount, through: segment)
        return true
      }
    }
    return planner.finish()
  }

  /// The segments to rewrite, newest first.
  ///
  /// - Parameter gain: The fraction of a segment that must go to make rewriting it worthwhile.
  func segments(to plan: CompactionPlan, gain: Double) -> [SegmentInfo] {
    let segments = segments
    let planned = Dictionary(
      plan.segments.map { ($0.firstCommit, $0) }, uniquingKeysWith: { first, _ in first })
    let isNew = log.horizon < points.horizon
    return segments.reversed().filter { segment in
      guard let part = planned[segment.firstCommit] else { return false }
      let holdsHorizon = segment.lastCommit >= points.horizon
      return part.leansOnOlder || isNew && holdsHorizon || part.gain > gain
    }
  }

  // MARK: - Rewriting

  /// Rewrites one segment.
  mutating func rewrite(_ segment: SegmentInfo, _ plan: CompactionPlan) throws {
    try log.rewrite(segment: segment.firstCommit, horizon: points.horizon) { header, payload in
      guard let state = try keptState(for: header.number) else {
        try advance(header.storedByteCount, through: segment)
        return .keep
      }
      let new = try state.reading {
        try plan.rewrite(payload, of: header.number, state: state)
      }
      try advance(header.storedByteCount, through: segment)
      if new.isVacant, !plan.points.contains(header.number) { return .drop }
      return .replace(payload: new.payload, keptValues: new.keptValues)
    }
  }

  // MARK: - Parts

  /// The state at the first kept point at or after a commit; nil above the horizon.
  private mutating func keptState(for commit: CommitNumber) throws -> StateReader? {
    guard let point = points.first(from: commit) else { return nil }
    if let current, current.point == point { return current.state }
    current = nil
    let found = try state(point)
    current = (point, found)
    return found
  }

  private mutating func advance(_ byteCount: UInt64, through segment: SegmentInfo) throws {
    done += byteCount
    sinceSlice += byteCount
    if sinceSlice < Self.sliceByteCount { return }
    sinceSlice = 0
    try progress(
      CompactionProgress(
        doneByteCount: min(done, total), totalByteCount: total, segment: segment.firstCommit))
    let sequenced = log.sequenced
    if sequenced != lastSequenced { usleep(2000) }
    lastSequenced = sequenced
  }
}
