// Begins and seals segments between two commits, and closes the log.

internal import Logging

extension GroupCommit {
  /// Seals the active segment, if any, and begins the next. The monitor is held on entry and on
  /// return. Requires that no commit is pending, all are synced, and no thread leads.
  func roll(firstCommit: CommitNumber) throws(TreeRingError) {
    state.isLeading = true
    defer { stopLeading(nil) }
    if let active = state.active { try sealActive(active) }
    let header = SegmentHeader(
      salt: options.random(), storeID: storeID, firstCommit: firstCommit, generation: 0,
      origin: .sealed)
    let (directory, fileSystem, options) = (directory, fileSystem, options)
    state.active = try withMonitorReleased { () throws(TreeRingError) in
      try options.folderCheck?(true)
      return try SegmentWriter.begin(header, in: directory, fileSystem: fileSystem)
    }
  }

  /// Runs `body` with the monitor released. Any failure except `noSpace` poisons the log.
  private func withMonitorReleased<R>(_ body: () throws(TreeRingError) -> R) throws(TreeRingError)
    -> R
  {
    monitor.unlock()
    let result = Result { () throws(TreeRingError) in try body() }
    monitor.lock()
    if case .failure(let error) = result, error.code != .noSpace { state.poison = error }
    return try result.get()
  }

  /// Seals the active segment. Requires that all of it is synced and that this thread leads.
  func sealActive(_ active: ActiveSegment) throws(TreeRingError) {
    var sealed = active.segment(
      completed: state.completed, timestamp: state.completedTimestamp)
    let directory = sealed.directory
    let (whole, byteCount) = try withMonitorReleased {
      () throws(TreeRingError) -> (SegmentDirectory, Int) in
      let buffer = ByteBuffer()
      let whole = try directory.whole(active.file)
      _ = whole.append(to: buffer, at: active.written)
      try SegmentWriter.finish(active, with: buffer)
      return (whole, buffer.count)
    }
    sealed.directory = whole
    sealed.end += UInt64(byteCount)
    state.segments.append(sealed)
    state.active = nil
  }

  /// Flushes and syncs all commits, trims the file, appends a mark and closes it. The log is closed
  /// even after a failure.
  func close() throws(TreeRingError) {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      if state.isClosed { return }
      if state.isLeading {
        idle.wait(monitor)
      } else if state.poison == nil, !state.pending.isEmpty || state.durable < state.sequenced {
        lead(atLeast: .full)
      } else {
        break
      }
    }
    state.isClosed = true
    defer {
      state.active?.file.close()
      stopLeading(nil)
    }
    if let poison = state.poison { throw poison }
    guard let active = state.active, options.access != .readOnly else { return }
    if active.endsInMark, active.fileSize == active.written.offset { return }
    let buffer = ByteBuffer()
    _ = Mark.append(to: buffer, at: active.written)
    do throws(TreeRingError) {
      try SegmentWriter.finish(active, with: buffer)
    } catch  where error.code == .noSpace {
      // Every commit is synced. Only the mark is missing, and the next opening accepts that.
      options.logger.notice("The device has no room to mark the log as closed: \(error)")
    }
  }
}
