// One run of compaction over the log's segments.
//
//   1. plan: read the commits up to the horizon once, oldest first (CompactionPlanner).
//   2. rewrite segments, newest first, each durable before the next is begun. A row as it is kept needs
//      nothing before it, so the log replays to the kept states after every step: a run can stop
//      anywhere, by crash or request, and the next one goes on.
//
// A segment is rewritten if operations in it lean on older segments, which will not be there; or if
// enough of it goes to be worth the writing. The one that holds the horizon is always rewritten, so that
// its header states the horizon before anything of the history is gone.
//
// Extra space: one segment. Time between slices is left to commits while there are any.

internal import TreeRingLog

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// Compacts a log. Used by one thread.
final class Compactor {
  /// A state that stays readable, and what keeps it there while it is looked at.
  struct KeptState {
    var version: Version
    var reader: StateReader
  }

  private let log: CommitLog
  private let points: KeptPoints
  /// Finds the state at a kept point.
  private let state: (CommitNumber) throws -> KeptState
  /// Called between slices; throws to stop.
  private let progress: (CompactionProgress) throws -> Void
  private let memoryLimit: Int
  private var current: (point: CommitNumber, state: KeptState)?
  private var done: UInt64 = 0
  private var total: UInt64 = 0
  private var sinceSlice: UInt64 = 0
  private var lastSequenced: CommitNumber = 0

  /// After so many bytes of the log others get a turn.
  private static let sliceByteCount: UInt64 = 1 << 20

  init(
    log: CommitLog, points: KeptPoints, memoryLimit: Int,
    state: @escaping (CommitNumber) throws -> KeptState,
    progress: @escaping (CompactionProgress) throws -> Void
  ) {
    self.log = log
    self.points = points
    self.memoryLimit = memoryLimit
    self.state = state
    self.progress = progress
  }

  /// Whether to look at the segment still being written too, which cannot be rewritten.
  var includesActive = false

  /// The segments that hold commits up to the horizon, oldest first.
  private var segments: [SegmentInfo] {
    log.segments.filter { ($0.isSealed || includesActive) && $0.firstCommit <= points.horizon }
  }

  // MARK: - Planning

  func plan() throws -> CompactionPlan {
    let segments = segments
    done = 0
    total = segments.reduce(0) { $0 + $1.byteCount } * 2
    // An operation takes some 16 bytes at least.
    var planner = CompactionPlanner(
      points: points, operationCount: Int(clamping: total / 2 / 16), memoryLimit: memoryLimit)
    for segment in segments {
      planner.beginSegment(segment.firstCommit)
      if segment.lastCommit < segment.firstCommit { continue }
      try log.replay(from: segment.firstCommit, through: segment.lastCommit) { header, payload in
        if let state = try keptState(for: header.number) {
          try state.reader.reading {
            try planner.visit(header, payload, state: state.reader)
          }
        } else {
          planner.pass(header)
        }
        try went(header.storedByteCount, through: segment)
        return true
      }
    }
    return planner.finish()
  }

  /// The segments to rewrite, newest first.
  ///
  /// - Parameter gain: which part of a segment must go to make rewriting it worth while.
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
  @discardableResult
  func rewrite(_ segment: SegmentInfo, _ plan: CompactionPlan) throws -> (
    before: UInt64, after: UInt64
  ) {
    try log.rewrite(segment: segment.firstCommit, horizon: points.horizon) { header, payload in
      guard let state = try keptState(for: header.number) else {
        try went(header.storedByteCount, through: segment)
        return .keep
      }
      let new = try state.reader.reading {
        try plan.rewrite(payload, of: header.number, state: state.reader)
      }
      try went(header.storedByteCount, through: segment)
      if new.isVacant, !plan.points.contains(header.number) { return .drop }
      return .replace(payload: new.payload, keptValues: new.keptValues)
    }
  }

  // MARK: - Parts

  /// The state at the first kept point at or after a commit; nil above the horizon.
  private func keptState(for commit: CommitNumber) throws -> KeptState? {
    guard let point = points.first(from: commit) else { return nil }
    if let current, current.point == point { return current.state }
    current = nil
    let found = try state(point)
    current = (point, found)
    return found
  }

  private func went(_ byteCount: UInt64, through segment: SegmentInfo) throws {
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
