// Begins and seals segments between two commits, and closes the log.

internal import Logging

extension GroupCommit {
  /// Seals the active segment, if any, and begins the next. Requires that no commit is pending,
  /// all are synced, and no thread leads.
  func roll(_ held: borrowing Held, firstCommit: CommitNumber) throws(TreeRingError) {
    held.state.isLeading = true
    defer { stopLeading(&held.state) }
    if let active = held.state.active { try seal(active, held) }
    let header = SegmentHeader(
      salt: options.random(), storeID: storeID, firstCommit: firstCommit, generation: 0,
      origin: .sealed)
    let (directory, fileSystem, options) = (directory, fileSystem, options)
    held.state.active = try released(held) { () throws(TreeRingError) in
      try options.folderCheck?(true)
      return try SegmentWriter.begin(header, in: directory, fileSystem: fileSystem)
    }
  }

  /// Does the syncs that the opening has left to the first write. A failure poisons the log, even
  /// on a full device, because no sync may be retried.
  func syncOpened(_ file: any File) throws(TreeRingError) {
    try fileSystem.syncNames(ofLog: directory)
    try file.sync(.whole)
  }

  /// Runs `body` with the monitor released. Any failure except `noSpace` poisons the log.
  private func released<R>(
    _ held: borrowing Held, _ body: () throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    do throws(TreeRingError) {
      return try held.released(body)
    } catch {
      if error.code != .noSpace { held.state.poison = error }
      throw error
    }
  }

  /// Seals the active segment. Requires that all of it is synced, apart from what the opening has
  /// left, and that this thread leads.
  func seal(_ active: ActiveSegment, _ held: borrowing Held) throws(TreeRingError) {
    if held.state.needsSync {
      do throws(TreeRingError) {
        try held.released { () throws(TreeRingError) in try syncOpened(active.file) }
      } catch {
        held.state.poison = error
        throw error
      }
      held.state.needsSync = false
    }
    var sealed = active.segment(
      completed: held.state.completed, timestamp: held.state.completedTimestamp)
    let directory = sealed.directory
    let (whole, byteCount) = try released(held) {
      () throws(TreeRingError) -> (SegmentDirectory, Int) in
      let buffer = ByteBuffer()
      let whole = try directory.whole(active.file)
      _ = whole.append(to: buffer, at: active.written)
      try SegmentWriter.finish(active, with: buffer)
      return (whole, buffer.count)
    }
    sealed.directory = whole
    sealed.end += UInt64(byteCount)
    held.state.segments.append(sealed)
    held.state.active = nil
  }

  /// Flushes and syncs all commits, trims the file, appends a mark and closes it. The log is closed
  /// even after a failure.
  func close() throws(TreeRingError) {
    try monitor.enter { held throws(TreeRingError) in
      repeat {
        if held.state.isClosed { return }
      } while !quiesce(held)
      held.state.isClosed = true
      defer {
        held.state.active?.file.close()
        stopLeading(&held.state)
      }
      if let poison = held.state.poison { throw poison }
      if let active = held.state.active, !held.state.isReadOnly { try finish(active) }
    }
  }

  /// Trims the file of the active segment and appends a mark.
  private func finish(_ active: ActiveSegment) throws(TreeRingError) {
    if active.endsInMark, active.room.end == active.written.offset { return }
    let buffer = ByteBuffer()
    _ = Mark.append(to: buffer, at: active.written)
    do throws(TreeRingError) {
      try SegmentWriter.finish(active, with: buffer)
    } catch  where error.code == .noSpace {
      // Every commit is synced. Only the mark is missing, and the next opening accepts that.
      options.logger.notice("The device has no room to mark the log as closed: \(error)")
    }
  }

  /// One step towards a log without a leader whose commits are all durable, or which is poisoned:
  /// waits for the leader, or leads.
  /// - Returns: true if the log is in that state; false if the step may have changed the state.
  func quiesce(_ held: borrowing Held) -> Bool {
    if held.state.isLeading {
      held.wait(for: idle)
    } else if held.state.poison == nil, held.state.hasUnsynced {
      lead(held, atLeast: .full)
    } else {
      return true
    }
    return false
  }
}
