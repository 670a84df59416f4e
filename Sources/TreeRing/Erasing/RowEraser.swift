// Removes a row from the log: every operation on it becomes part of a stub, and its logged values
// are removed.
//
// Segments are rewritten newest first. But the row's last delete stays until no older segment holds
// the row; a second pass removes it. So after a crash at any point the newest state has no such
// row, and nothing depends on removed operations. Erasing again finishes an interrupted erasing.
//
// Payloads hold keys unencoded. So a commit whose payload does not hold the key's bytes is skipped
// without being decoded.

internal import TreeRingLog

/// Erases one row from a log. Used by one thread.
final class RowEraser {
  let log: CommitLog
  let bucket: UInt32
  let key: [UInt8]
  /// The newest commit that may name the row. Later commits may have put a new row of this key.
  let newest: CommitNumber
  /// The commit of the delete that stays until the second pass; 0 if there is none.
  let lastDelete: CommitNumber
  /// Called with the progress; throws to stop.
  let progress: (CompactionProgress) throws -> Void
  /// The number of operations removed, and of segments rewritten.
  private(set) var operations = 0
  private(set) var rewrittenSegments = 0
  private(set) var done: UInt64 = 0
  /// The segment that holds the last delete; nil if none does, or before it has been found.
  private var lastSegment: SegmentInfo?

  init(
    log: CommitLog, bucket: UInt32, key: [UInt8], newest: CommitNumber,
    lastDelete: CommitNumber, progress: @escaping (CompactionProgress) throws -> Void
  ) {
    self.log = log
    self.bucket = bucket
    self.key = key
    self.newest = newest
    self.lastDelete = lastDelete
    self.progress = progress
  }

  /// The first pass: removes every operation but the last delete.
  func removeVersions() throws {
    let segments = log.segments.filter { $0.firstCommit <= newest }
    let total = segments.reduce(0) { $0 + $1.byteCount }
    for segment in segments.reversed() {
      let found = try findOperations(in: segment)
      if found.holdsLastDelete { lastSegment = segment }
      if found.others > 0 {
        try rewrite(segment, keepingLastDelete: true)
        operations += found.others
      }
      done += segment.byteCount
      try progress(
        CompactionProgress(
          doneByteCount: done, totalByteCount: total, segment: segment.firstCommit))
    }
  }

  /// The second pass: removes the last delete. A process that replayed older segments before the
  /// first pass still needs it until then.
  func removeLastDelete() throws {
    guard let lastSegment else { return }
    try rewrite(lastSegment, keepingLastDelete: false)
    operations += 1
  }

  /// The operations on the row in a segment.
  private struct Found {
    var others = 0
    var holdsLastDelete = false
  }

  private func findOperations(in segment: SegmentInfo) throws -> Found {
    var found = Found()
    if segment.lastCommit < segment.firstCommit { return found }
    let through = min(newest, segment.lastCommit)
    try log.replay(from: segment.firstCommit, through: through) {
      (header, payload) throws(TreeRingError) in
      guard payload.firstPosition(of: key) != nil else { return true }
      _ = try PayloadRewriter.rewrite(payload, of: header.number) {
        (operation) throws(TreeRingError) in
        guard self.names(operation) else { return .keep }
        if self.isLastDelete(operation) { found.holdsLastDelete = true } else { found.others += 1 }
        return .keep
      }
      return true
    }
    return found
  }

  private func rewrite(
    _ segment: SegmentInfo, keepingLastDelete keeps: Bool
  ) throws {
    rewrittenSegments += 1
    try log.rewrite(segment: segment.firstCommit, horizon: 0) { header, payload in
      guard header.number <= newest, payload.firstPosition(of: key) != nil else { return .keep }
      let new = try PayloadRewriter.rewrite(payload, of: header.number) {
        (operation) throws(TreeRingError) in
        guard self.names(operation) else { return .keep }
        return keeps && self.isLastDelete(operation) ? .keep : .drop
      }
      return new.droppedCount == 0
        ? .keep : .replace(payload: new.payload, keptValues: new.keptValues)
    }
  }

  private func names(_ operation: RowOperation) -> Bool {
    operation.row.bucket.number == bucket && operation.row.key.elementsEqual(key)
  }

  private func isLastDelete(_ operation: RowOperation) -> Bool {
    operation.isDelete && operation.stamp.commit == lastDelete
  }
}

extension UnsafeRawBufferPointer {
  /// The position of the first occurrence of `wanted`; nil if there is none. O(bytes), with little
  /// more than one comparison for each.
  func firstPosition(of wanted: [UInt8]) -> Int? {
    guard let first = wanted.first else { return 0 }
    guard wanted.count <= count else { return nil }
    var start = 0
    let last = count - wanted.count
    while start <= last {
      guard let next = self[start...last].firstIndex(of: first) else { return nil }
      if self[next..<next + wanted.count].elementsEqual(wanted) { return next }
      start = next + 1
    }
    return nil
  }
}
