// What rewriting a segment is asked for, and what the log says about its segments.

/// What becomes of one commit when its segment is rewritten.
package enum Rewriting: Sendable {
  /// It stays as it is, byte for byte.
  case keep
  /// It goes; reading it throws `beyondHorizon`. Only below the horizon.
  case drop
  /// Its payload is replaced and of its logged values only these stay, as they are stored. Number,
  /// timestamp and operation count stay; its `CommitHeader.checksum` changes.
  case replace(payload: [UInt8], keptValues: [(operation: UInt32, part: ValuePart)])
}

/// One segment of a log.
package struct SegmentInfo: Hashable, Sendable {
  package var firstCommit: CommitNumber
  /// The last commit it covers, there or compacted away; `firstCommit - 1` if there is none.
  package var lastCommit: CommitNumber
  package var generation: UInt32
  /// The horizon it was compacted for; 0 if it was not.
  package var horizon: CommitNumber
  /// Bytes up to the end of its last frame.
  package var byteCount: UInt64
  package var path: String
  /// True if it is not written any more.
  package var isSealed: Bool
}

extension CommitLog {
  /// All segments, oldest first.
  package var segments: [SegmentInfo] {
    core.monitor.lock()
    defer { core.monitor.unlock() }
    let state = core.state
    var all = state.segments.map { Self.info($0, isSealed: true) }
    if let active = state.active {
      let segment = active.segment(
        completed: state.completed, timestamp: state.completedTimestamp)
      all.append(Self.info(segment, isSealed: false))
    }
    return all
  }

  private static func info(_ segment: Segment, isSealed: Bool) -> SegmentInfo {
    SegmentInfo(
      firstCommit: segment.header.firstCommit, lastCommit: segment.lastCommit,
      generation: segment.header.generation, horizon: segment.header.horizon,
      byteCount: segment.end, path: segment.path, isSealed: isSealed)
  }

  /// Seals the active segment, if it holds a commit, so that it can be rewritten. Everything
  /// sequenced before is written and synced; the next commit begins a new segment.
  ///
  /// - Throws: `noSpace` (the segment stays active), `io`, `poisoned`, `closed`, `notAllowed`.
  package func seal() throws(TreeRingError) { try core.seal() }

  /// Writes a sealed segment anew, in its next generation, and puts that in its place. Appending,
  /// committing and reading go on meanwhile; readers that have the old file open finish with it.
  /// One rewriting runs at a time, others wait.
  ///
  /// Crash-safe: written under a temporary name, checked, synced, renamed, the folder synced; only
  /// then is the old file removed. Room for the whole old segment is reserved before anything is
  /// written, where the file system can do that.
  ///
  /// - Parameters:
  ///   - first: the segment's first commit.
  ///   - horizon: from this commit on every commit stays; at most the newest one. The segment's old
  ///     horizon counts if it is larger.
  ///   - transform: called with each commit in order and its payload, valid until it returns. What
  ///     it throws passes through, and nothing has happened. It must not close the log.
  /// - Returns: bytes of the segment before and after.
  /// - Throws: `notFound`, `notAllowed` (still active, or the log is for reading only),
  ///   `invalidInput` (a horizon beyond the newest commit, a commit dropped that must stay, a value
  ///   kept that is not there), `noSpace`, `corruption`, `io`, `poisoned`, `closed`. The old segment
  ///   is in force then, except after a failure to remove it, which says so. The log's writer is
  ///   never poisoned by it.
  @discardableResult
  package func rewrite(
    segment first: CommitNumber, horizon: CommitNumber,
    _ transform: (CommitHeader, UnsafeRawBufferPointer) throws -> Rewriting
  ) throws -> (before: UInt64, after: UInt64) {
    core.rewriting.lock()
    defer { core.rewriting.unlock() }
    let old = try core.rewritable(first, horizon: horizon)
    guard let (_, source) = try sealed(holding: first) else { throw removed(first) }
    var header = old.header
    header.salt = core.options.random()
    header.lastCommit = old.lastCommit
    header.horizon = max(horizon, old.header.horizon)
    guard header.generation < .max else {
      throw TreeRingError(
        .unsupportedFormat, "The segment cannot be rewritten once more.", file: old.path)
    }
    header.generation += 1
    let rewriter = try SegmentRewriter(
      of: old, source: source, header: header, directory: core.directory,
      fileSystem: core.fileSystem)
    let core = core
    let new = try rewriter.run { header, payload in
      try core.checkNotClosed()
      return try transform(header, payload)
    }
    try core.replace(old, with: new)
    // Until its name is gone, readers that found the path before may still open it.
    defer { files.forget(old.path) }
    try rewriter.removeOlderGenerations()
    return (old.end, new.end)
  }
}

extension GroupCommit {
  /// Seals the active segment if it holds a commit.
  func seal() throws(TreeRingError) {
    // Keeps appenders out: what they have prepared refers to the active segment.
    appending.lock()
    defer { appending.unlock() }
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      try checkWritable()
      if state.isLeading {
        idle.wait(monitor)
      } else if !state.pending.isEmpty || state.durable < state.sequenced {
        lead(atLeast: .full)
      } else {
        break
      }
    }
    guard let active = state.active, !active.directory.isEmpty else { return }
    state.isLeading = true
    defer { stopLeading(nil) }
    try sealActive(active)
  }

  /// The segment that begins with a commit, if it may be rewritten for this horizon.
  func rewritable(
    _ first: CommitNumber, horizon: CommitNumber
  ) throws(TreeRingError) -> Segment {
    monitor.lock()
    defer { monitor.unlock() }
    try checkWritable()
    if state.durable < horizon {
      // A log must never end, after a crash, before its own horizon.
      monitor.unlock()
      let synced = Result { () throws(TreeRingError) in try sync() }
      monitor.lock()
      try synced.get()
      try checkWritable()
    }
    guard horizon <= state.durable else {
      throw TreeRingError(
        .invalidInput,
        "The horizon \(horizon) lies beyond the newest commit, \(state.completed).",
        commit: horizon, current: state.completed)
    }
    if state.active?.header.firstCommit == first {
      throw TreeRingError(
        .notAllowed, "The segment that begins with commit \(first) is still being written.",
        commit: first)
    }
    guard let segment = state.segments.first(where: { $0.header.firstCommit == first }) else {
      throw TreeRingError(.notFound, "No segment begins with commit \(first).", commit: first)
    }
    return segment
  }

  func checkNotClosed() throws(TreeRingError) {
    try withState { state throws(TreeRingError) in
      if state.isClosed { throw TreeRingError(.closed, "The log has been closed.") }
    }
  }

  /// Puts a rewritten segment in the place of the old one, for readers that come from now on.
  func replace(_ old: Segment, with new: Segment) throws(TreeRingError) {
    try withState { state throws(TreeRingError) in
      guard let index = state.segments.firstIndex(where: { $0.path == old.path }) else {
        throw TreeRingError(.notFound, "The segment is not in the log any more.", file: old.path)
      }
      state.segments[index] = new
      state.statistics.writtenByteCount += new.end
      state.statistics.syncCount += 1
    }
  }
}
