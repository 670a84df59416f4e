// Follows a log that another process writes. A follower reads only commits that the writer has
// declared durable, so it never meets a frame in the middle of being written.
//
// 1. Usually the last segment has grown. The follower reads on from the known end to the target.
// 2. Otherwise the writer has begun another segment, a new writer has recovered the log, or
//    compaction has rewritten segments. The follower reopens the log and trusts the position of the
//    last visible commit: it reads the summaries of the other segments, and all frames after that
//    position. The result replaces the previous state.
// 3. If the log no longer holds that commit, it was replaced or cut back: `storeRewound`.
//
// Concurrent readers continue; each keeps reading the file that it has open.

extension CommitLog {
  /// Extends a log that was opened for reading up to a commit that its writer has declared durable.
  ///
  /// - Parameters:
  ///   - target: the last commit to make visible. Nothing happens if it is visible already.
  ///   - hasNewWriter: true if the writer has changed since the last call. Then `follow` checks
  ///     that the log still holds the last visible commit.
  /// - Returns: the newest visible commit. It is less than `target` if the log does not hold
  ///   `target`, for instance because the writer has not begun its segment yet.
  /// - Throws: `storeRewound` if the log lacks the last visible commit, and neither compaction nor
  ///   erasing has rewritten or removed it; `notAllowed` if the log was opened for writing;
  ///   `corruption`, `io`, `closed`.
  @discardableResult
  package func follow(
    through target: CommitNumber, hasNewWriter: Bool = false
  ) throws(TreeRingError) -> CommitNumber {
    try following.withLock { _ throws(TreeRingError) in
      guard core.options.access == .readOnly else {
        throw TreeRingError(
          .notAllowed,
          "The log in \(core.directory) is open for writing. Open it for reading to follow.",
          file: core.directory)
      }
      let shown = try newest()
      if hasNewWriter { return try reopen(through: max(target, shown)) }
      guard target > shown else { return shown }
      let extended = try extend(through: target)
      return extended >= target ? extended : try reopen(through: target)
    }
  }

  /// Reopens the log in its current state, for readers that find a segment's file missing.
  package func refresh() throws(TreeRingError) {
    try following.withLock { _ throws(TreeRingError) in
      _ = try reopen(through: try newest())
    }
  }

  private func newest() throws(TreeRingError) -> CommitNumber {
    try core.withState { state throws(TreeRingError) in
      try state.checkOpen()
      return state.completed
    }
  }

  /// Reads the new frames of the last segment. Stops at any flaw; `reopen` judges it.
  private func extend(through target: CommitNumber) throws(TreeRingError) -> CommitNumber {
    let (shown, last, end) = try core.withState { state throws(TreeRingError) in
      (state.completed, state.segments.last, state.end)
    }
    guard let last, let end, !last.header.isCompacted, end.lastKind != .directory,
      end.end.salt == last.header.salt, let file = try? files.file(last.path)
    else { return shown }
    let scan = try SegmentScan.scan(
      file, last.header, from: end, limit: nil, through: target, chunk: 64 << 10)
    guard let newest = scan.last, newest.commit > shown else { return shown }
    try core.withState { state throws(TreeRingError) in
      state.segments[state.segments.count - 1] = scan.segment
      state.end = scan.next
      state.makeVisible(newest.commit, newest.timestamp)
    }
    return newest.commit
  }

  private func reopen(through target: CommitNumber) throws(TreeRingError) -> CommitNumber {
    let end = try core.withState { state throws(TreeRingError) in state.end }
    var options = core.options
    options.recovery = .tail
    options.through = target
    options.trustedStoreID = storeID
    // Before the first commit no commit can be lost.
    options.trusted = end?.last.flatMap { $0.commit > 0 ? $0 : nil }
    let (core, settled) = (core, options)
    let found: CommitLog
    do throws(TreeRingError) {
      found = try BackupSwitch.reading(again: core.directory, fileSystem: core.fileSystem) {
        (directory) throws(TreeRingError) in
        try CommitLog(directory: directory, fileSystem: core.fileSystem, options: settled)
      }
    } catch  where error.code == .logBehindPages || error.code == .notFound {
      throw rewound(options.trusted?.commit ?? 0, "the log now ends before that commit")
    }
    if found.storeID != storeID {
      throw rewound(options.trusted?.commit ?? 0, "another store has replaced this one")
    }
    if case .refused(let reason) = found.trust, let last = options.trusted,
      try !found.hasRewritten(last)
    {
      throw rewound(last.commit, reason)
    }
    try adopt(found)
    return found.completed
  }

  /// Whether compaction or erasing has rewritten or removed a visible commit. A rewritten commit
  /// keeps its number and timestamp; a removed one leaves nothing.
  private func hasRewritten(_ position: LogPosition) throws(TreeRingError) -> Bool {
    let segment = try core.withState { state throws(TreeRingError) in
      state.segments.last { $0.header.firstCommit <= position.commit }?.header
    }
    // Erasing does not move the horizon, but increments the segment's generation.
    let isRewritten = segment.map { segment in
      segment.isCompacted
        && (segment.firstCommit, segment.generation) != (position.segment, position.generation)
    }
    guard position.commit <= horizon || isRewritten == true else { return false }
    do throws(TreeRingError) {
      return try header(of: position.commit).timestamp == position.timestamp
    } catch  where error.code == .beyondHorizon { return true }
  }

  private func rewound(_ commit: CommitNumber, _ reason: String) -> TreeRingError {
    TreeRingError(
      .storeRewound,
      "The log was replaced or cut back while this process followed it: commit \(commit) was "
        + "visible, and \(reason). Commits already read may be lost. Open the store again.",
      file: core.directory, commit: commit)
  }

  /// Replaces the state of this log by that of a newly opened one.
  private func adopt(_ found: CommitLog) throws(TreeRingError) {
    let (segments, end, completed, timestamp) = try found.core.withState {
      state throws(TreeRingError) in
      (state.segments, state.end, state.completed, state.completedTimestamp)
    }
    try core.withState { state throws(TreeRingError) in
      // Keeps directories that are loaded already.
      let known = Dictionary(
        state.segments.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
      state.segments = segments.map { segment in
        guard let old = known[segment.path], old.header == segment.header,
          old.directory.lastCommit == segment.directory.lastCommit, old.end == segment.end
        else { return segment }
        return old
      }
      state.end = end
      state.makeVisible(completed, timestamp)
    }
    // Another file may have the path of an open one by now.
    files.closeAll()
  }
}

extension GroupCommit.State {
  /// Makes a commit the newest visible one.
  fileprivate mutating func makeVisible(_ commit: CommitNumber, _ timestamp: Timestamp) {
    (sequenced, completed, durable) = (commit, commit, commit)
    (sequencedTimestamp, completedTimestamp) = (timestamp, timestamp)
  }
}
