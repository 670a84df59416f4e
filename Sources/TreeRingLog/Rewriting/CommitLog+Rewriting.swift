// Rewrites segments of an open log, and lists its segments.

internal import Logging

extension CommitLog {
  /// All segments, oldest first.
  package var segments: [SegmentInfo] {
    core.withState { state in
      var all = state.segments.map { Self.info($0, isSealed: true) }
      if let active = state.active {
        let segment = active.segment(
          completed: state.completed, timestamp: state.completedTimestamp)
        all.append(Self.info(segment, isSealed: false))
      }
      return all
    }
  }

  private static func info(_ segment: Segment, isSealed: Bool) -> SegmentInfo {
    SegmentInfo(
      firstCommit: segment.header.firstCommit, lastCommit: segment.lastCommit,
      generation: segment.header.generation, horizon: segment.header.horizon,
      byteCount: segment.end, path: segment.path, isSealed: isSealed)
  }

  /// Seals the active segment, if it holds a commit, so that it can be rewritten. Writes and syncs
  /// every commit sequenced before; the next commit begins a new segment.
  ///
  /// - Throws: `noSpace` (the segment stays active), `io`, `poisoned`, `closed`, `notAllowed`.
  package func seal() throws(TreeRingError) { try core.seal() }

  /// Rewrites a sealed segment: writes its next generation and replaces the old file by it.
  /// Appending, committing and reading continue concurrently; a reader that has the old file open
  /// keeps reading it. Only one rewriting runs at a time; others wait.
  ///
  /// Crash-safe: the new file is written under a temporary name, checked, synced and renamed, and
  /// the folder is synced. Only then is the old file removed. Where the file system supports it,
  /// room for the whole old segment is reserved before anything is written.
  ///
  /// - Parameters:
  ///   - first: the segment's first commit.
  ///   - horizon: the commit from which on every commit stays; at most the newest one. The
  ///     segment's old horizon applies if it is larger.
  ///   - transform: called with each commit in order and its payload, which is valid until
  ///     `transform` returns. Its errors are rethrown, and the log is unchanged then. It must not
  ///     close the log.
  /// - Returns: the bytes of the segment before and after.
  /// - Throws: `notFound`, `notAllowed` (the segment is active, or the log is open for reading
  ///   only), `invalidInput` (a horizon beyond the newest commit, or a dropped commit that must
  ///   stay), `noSpace`, `corruption` (also for a kept value that the commit lacks), `io`,
  ///   `poisoned`, `closed`. The old segment stays current, except after a failure to remove its
  ///   file; the error says so. A failure does not poison the log, unless its folder was removed,
  ///   moved or replaced.
  @discardableResult
  package func rewrite(
    segment first: CommitNumber, horizon: CommitNumber,
    _ transform: (CommitHeader, UnsafeRawBufferPointer) throws -> Rewriting
  ) throws -> (before: UInt64, after: UInt64) {
    try core.rewriting.withLock { _ in
      let old = try core.rewritable(first, horizon: horizon)
      try core.checkFolder()
      guard let (_, source) = try sealed(holding: first) else { throw removed(first) }
      var header = old.header
      header.salt = core.options.random()
      header.lastCommit = old.lastCommit
      header.horizon = max(horizon, old.header.horizon)
      guard header.generation < .max else {
        throw TreeRingError(
          .unsupportedFormat,
          "The segment has reached the last generation and cannot be rewritten. Copy the store "
            + "with `treering replay`.", file: old.path)
      }
      header.generation += 1
      let rewriter = try SegmentRewriter(
        of: old, source: source, header: header, directory: core.directory,
        fileSystem: core.fileSystem)
      let new = try rewriter.run { header, payload in
        try core.checkOpen()
        return try transform(header, payload)
      }
      try core.checkFolder()
      try core.replace(old, with: new)
      // Until the name is removed, readers that took the path before may still open the file.
      defer { files.forget(old.path) }
      let hasLeftovers = core.setHasOldGenerations(true)
      try rewriter.removeOlderGenerations(all: hasLeftovers)
      _ = core.setHasOldGenerations(hasLeftovers)
      return (old.end, new.end)
    }
  }
}

extension GroupCommit {
  /// Sets whether the folder may hold replaced generations. Returns the value before.
  fileprivate func setHasOldGenerations(_ value: Bool) -> Bool {
    withState { state in
      defer { state.hasOldGenerations = value }
      return state.hasOldGenerations
    }
  }

  /// Seals the active segment if it holds a commit.
  func seal() throws(TreeRingError) {
    // Excludes appenders, whose prepared frames refer to the active segment.
    try appending.withLock { _ throws(TreeRingError) in
      try monitor.enter { held throws(TreeRingError) in
        repeat { try held.state.checkWritable() } while !quiesce(held)
        guard let active = held.state.active, !active.directory.isEmpty else { return }
        held.state.isLeading = true
        defer { stopLeading(&held.state) }
        try seal(active, held)
      }
    }
  }

  /// The segment that begins with `first`, if it may be rewritten for this horizon.
  func rewritable(
    _ first: CommitNumber, horizon: CommitNumber
  ) throws(TreeRingError) -> Segment {
    // After a crash a log must never end before its own horizon.
    if try withState({ state throws(TreeRingError) in
      try state.checkWritable()
      return state.durable < horizon
    }) {
      try sync()
    }
    return try withState { state throws(TreeRingError) in
      try state.checkWritable()
      guard horizon <= state.durable else {
        throw TreeRingError(
          .invalidInput,
          "The horizon \(horizon) lies after the newest commit, \(state.completed). Choose an "
            + "earlier one.",
          commit: horizon, current: state.completed)
      }
      if state.active?.header.firstCommit == first {
        throw TreeRingError(
          .notAllowed,
          "The segment that begins with commit \(first) is still being written. Seal it first.",
          commit: first)
      }
      guard let segment = state.segments.first(where: { $0.header.firstCommit == first }) else {
        throw TreeRingError(
          .notFound, "No segment of the log in \(directory) begins with commit \(first).",
          file: directory, commit: first)
      }
      return segment
    }
  }

  /// Throws and poisons the log if its folder was removed, moved or replaced.
  func checkFolder() throws(TreeRingError) {
    do throws(TreeRingError) {
      try options.folderCheck?(true)
    } catch {
      withState { $0.poison = $0.poison ?? error }
      throw error
    }
  }

  func checkOpen() throws(TreeRingError) {
    try withState { state throws(TreeRingError) in try state.checkOpen() }
  }

  /// Replaces the old segment by the rewritten one for all later reads.
  func replace(_ old: Segment, with new: Segment) throws(TreeRingError) {
    try withState { state throws(TreeRingError) in
      guard let index = state.segments.firstIndex(where: { $0.path == old.path }) else {
        throw TreeRingError(
          .notFound, "The segment is no longer part of the log; nothing was changed.",
          file: old.path)
      }
      state.segments[index] = new
      state.statistics.writtenByteCount += new.end
      state.statistics.syncCount += 1
    }
  }
}
