// What a backup copies: all of a log up to its newest synced commit, as it is at one moment.
//
// Sealed segments do not change and may get a second name; the one that is written gets copied up to
// where it is synced, with a mark behind it. Rewriting waits while a backup holds its source, for
// generations of different times do not make one log. So a segment's file need not be open before its turn
// comes, and there may be more segments than descriptors. Only what another process writes and rewrites can go
// away meanwhile, and then the backup begins again; that of a log of few segments need not.

/// One file of the copy to be made.
struct BackupPart {
  var name: SegmentName
  /// The source's path.
  var path: String
  /// Whether nothing is written to the source any more, so that a second name does as well as a copy.
  var isSealed: Bool
  var header: SegmentHeader
  /// The source, for copying; `notFound` if it has been rewritten.
  var open: () throws(TreeRingError) -> any File
  /// How many bytes of the source belong to it.
  var end: UInt64
  /// What goes behind them.
  var mark: [UInt8] = []
  /// The newest commit in it.
  var lastCommit: CommitNumber

  var byteCount: UInt64 { end + UInt64(mark.count) }
}

struct BackupSource {
  var storeID: UInt64
  var parts: [BackupPart]
  var lastCommit: CommitNumber
  var horizon: CommitNumber
}

extension CommitLog {
  /// What there is to back up now. `core.rewriting` is held.
  func backupSource() throws(TreeRingError) -> BackupSource {
    let (segments, active, last) = try core.synced()
    var parts: [BackupPart] = []
    for (index, segment) in segments.enumerated() {
      // Read only, the last one may be another process's active segment.
      let isReadOnly = core.options.access == .readOnly
      let isLast = index + 1 == segments.count
      parts.append(
        BackupPart(
          name: SegmentName(
            firstCommit: segment.header.firstCommit, generation: segment.header.generation),
          path: segment.path, isSealed: !(isReadOnly && isLast), header: segment.header,
          open: try opener(segment.path, ahead: isReadOnly && index < Self.openAhead),
          end: segment.end, lastCommit: segment.lastCommit))
    }
    if let active {
      parts.append(
        BackupPart(
          name: SegmentName(
            firstCommit: active.header.firstCommit, generation: active.header.generation),
          path: active.path, isSealed: false, header: active.header,
          open: { () throws(TreeRingError) in active.file }, end: active.written.offset,
          mark: active.endsInMark ? [] : Mark.bytes(at: active.written), lastCommit: last))
    }
    return BackupSource(
      storeID: storeID, parts: parts, lastCommit: last,
      horizon: segments.reduce(0) { max($0, $1.header.horizon) })
  }

  /// How many files of another process's log are opened beforehand, and so stay readable.
  private static let openAhead = 64

  private func opener(
    _ path: String, ahead: Bool
  ) throws(TreeRingError) -> () throws(TreeRingError) -> any File {
    let fileSystem = core.fileSystem
    guard ahead else {
      return { () throws(TreeRingError) in try fileSystem.open(path, .readOnly) }
    }
    let file = try fileSystem.open(path, .readOnly)
    return { () throws(TreeRingError) in file }
  }
}

extension GroupCommit {
  /// The log at a moment when all that is written is synced, and its newest commit then.
  fileprivate func synced() throws(TreeRingError) -> ([Segment], ActiveSegment?, CommitNumber) {
    monitor.lock()
    defer { monitor.unlock() }
    var hasLed = false
    while true {
      guard !state.isClosed else { throw TreeRingError(.closed, "The log has been closed.") }
      if state.isLeading {
        idle.wait(monitor)
      } else if state.active == nil
        || state.durable == state.completed && (hasLed || state.pending.isEmpty)
      {
        return (state.segments, state.active, state.durable)
      } else {
        try checkWritable()
        lead(atLeast: .full)
        hasLed = true
      }
    }
  }
}
