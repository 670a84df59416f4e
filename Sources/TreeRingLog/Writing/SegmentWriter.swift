// The life of a segment beyond its commits: beginning, sealing, closing.
//
// - Begin: write the header under a temporary name, sync, rename, sync the folder. So a file with a
//   segment's name always has a whole header.
// - Seal: sync (done by the leader), trim the reserved room, append the directory, sync. Only then
//   is the next segment begun. A sealed file is never written again.
// - Close: sync, trim, append a mark, sync.

internal import Logging

extension GroupCommit {
  /// Seals the active segment, if there is one, and begins the next. The monitor is held on entry
  /// and on return. Nothing is pending, everything is synced, no thread leads.
  func roll(firstCommit: CommitNumber) throws(TreeRingError) {
    state.isLeading = true
    defer { stopLeading(nil) }
    if let active = state.active { try sealActive(active) }
    let header = SegmentHeader(
      salt: options.random(), storeID: storeID, firstCommit: firstCommit, generation: 0,
      origin: .sealed)
    let (directory, fileSystem, options) = (directory, fileSystem, options)
    state.active = try exclusively { () throws(TreeRingError) in
      try options.placeCheck?(true)
      return try SegmentWriter.begin(header, in: directory, fileSystem: fileSystem)
    }
  }

  /// Runs `body` with the monitor released. Any failure except `noSpace` poisons the log.
  private func exclusively<R>(_ body: () throws(TreeRingError) -> R) throws(TreeRingError) -> R {
    monitor.unlock()
    let result = Result { () throws(TreeRingError) in try body() }
    monitor.lock()
    if case .failure(let error) = result, error.code != .noSpace { state.poison = error }
    return try result.get()
  }

  /// Seals the active segment. All of it is synced, and this thread leads.
  func sealActive(_ active: ActiveSegment) throws(TreeRingError) {
    var sealed = active.segment(
      completed: state.completed, timestamp: state.completedTimestamp)
    let directory = sealed.directory
    let (whole, byteCount) = try exclusively {
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

  /// Flushes, trims, marks and closes. Afterwards the log is closed, also after a failure.
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
      options.logger.notice("There was no room to mark the log as closed: \(error)")
    }
  }
}

enum SegmentWriter {
  /// Creates a segment that holds only its header, durably, and opens it.
  static func begin(
    _ header: SegmentHeader, in directory: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> ActiveSegment {
    let name = SegmentName(firstCommit: header.firstCommit, generation: header.generation)
    let path = "\(directory)/\(name.fileName)"
    let buffer = ByteBuffer()
    let checksum = header.append(to: buffer)
    let file = try writeAside(path, in: directory, fileSystem: fileSystem) {
      file throws(TreeRingError) in try file.write(buffer.bytes, at: 0)
    }
    let position = ChainPosition(
      salt: header.salt, offset: UInt64(buffer.count), checksum: checksum)
    return ActiveSegment(
      file: file, path: path, header: header,
      directory: SegmentDirectory(firstCommit: header.firstCommit), position: position,
      written: position, synced: position.offset, fileSize: position.offset, endsInMark: false)
  }

  /// Creates a file under a temporary name, lets `fill` write it, syncs it, renames it and syncs
  /// the folder. Afterwards the file is whole or absent.
  static func writeAside(
    _ path: String, in directory: String, fileSystem: any FileSystem,
    fill: (any File) throws(TreeRingError) -> Void
  ) throws(TreeRingError) -> any File {
    let suffix = Format.segmentSuffix.utf8.count
    let temporary = path.dropLast(suffix) + Format.temporarySuffix
    let aside = String(temporary)
    if try fileSystem.exists(aside) { try fileSystem.unlink(aside) }
    do throws(TreeRingError) {
      let file = try fileSystem.open(aside, .createNew)
      try fill(file)
      try file.sync(.full)
      file.close()
      try fileSystem.rename(aside, to: path)
    } catch {
      // Report the first error. The next opening removes a remaining temporary file.
      try? fileSystem.unlink(aside)
      throw error
    }
    try fileSystem.syncDirectory(directory)
    return try fileSystem.open(path, .readWrite)
  }

  /// Trims a segment whose frames are all synced, appends its last header, and syncs.
  static func finish(_ active: ActiveSegment, with last: ByteBuffer) throws(TreeRingError) {
    let end = active.written.offset
    if active.fileSize > end { try active.file.truncate(to: end) }
    do throws(TreeRingError) {
      try active.file.write(last.bytes, at: end)
    } catch  where error.code == .noSpace {
      try active.file.truncate(to: end)
      try active.file.sync(.whole)
      throw error
    }
    try active.file.sync(.whole)
  }
}
