// The source of a backup: the log up to its newest synced commit, at one moment.
//
// Sealed segments do not change and may get a second name. The active segment is copied up to its
// synced end, followed by a mark. Rewriting waits while a backup of this process holds its source,
// because generations of different times do not form one log. So the backup opens each file only
// when it copies it, and a log may have more segments than the process has descriptors. Another
// process's writer may replace a file before that. Then the backup starts again. It avoids that for
// the first files by opening them in advance.

/// One file of the copy.
struct BackupPart {
  /// The path of the source.
  var path: String
  /// The absolute path of the source, valid in any working folder.
  var linkPath: String
  /// True if the source is no longer written, so that a hard link is as good as a copy.
  var isSealed: Bool
  var header: SegmentHeader
  /// Opens the source for copying; throws `notFound` if another process has rewritten it.
  var open: () throws(TreeRingError) -> any File
  /// The number of the source's bytes that belong to the copy.
  var end: UInt64
  /// The mark that follows these bytes in the copy.
  var mark: [UInt8] = []
  /// The newest commit in the part.
  var lastCommit: CommitNumber

  var name: SegmentName { header.name }
  var byteCount: UInt64 { end + UInt64(mark.count) }
}

struct BackupSource {
  var storeID: UInt64
  var parts: [BackupPart]
  var lastCommit: CommitNumber
  var horizon: CommitNumber
  /// Returns false if the log holds another commit of the same number.
  var holds: (LogPosition) throws(TreeRingError) -> Bool
}

extension CommitLog {
  /// The source of a backup at this moment. The caller excludes rewritings.
  func backupSource() throws(TreeRingError) -> BackupSource {
    let (segments, active, last) = try core.synced()
    let fileSystem = core.fileSystem
    var parts: [BackupPart] = []
    for (index, segment) in segments.enumerated() {
      // In a log open for reading, the last segment may be another process's active one.
      let isReadOnly = core.options.access == .readOnly
      let isLast = index + 1 == segments.count
      let opensAhead = isReadOnly && index < Self.openAhead
      let opened = opensAhead ? try fileSystem.open(segment.path, .readOnly) : nil
      parts.append(
        BackupPart(
          path: segment.path, linkPath: fileSystem.absolute(segment.path),
          isSealed: !(isReadOnly && isLast), header: segment.header,
          open: { () throws(TreeRingError) in
            if let opened { return opened }
            return try fileSystem.open(segment.path, .readOnly)
          },
          end: segment.end, lastCommit: segment.lastCommit))
    }
    // Only after opening the files: during a sync their writer could replace them.
    if core.options.access == .readOnly, let newest = segments.last { try makeDurable(newest) }
    if let active {
      parts.append(
        BackupPart(
          path: active.path, linkPath: fileSystem.absolute(active.path), isSealed: false,
          header: active.header,
          open: { () throws(TreeRingError) in active.file }, end: active.written.offset,
          mark: active.endsInMark ? [] : Mark.bytes(at: active.written), lastCommit: last))
    }
    return BackupSource(
      storeID: storeID, parts: parts, lastCommit: last,
      horizon: segments.reduce(0) { max($0, $1.header.horizon) },
      holds: { [self] (position) throws(TreeRingError) in try holds(position) })
  }

  /// Syncs a log that is open for reading, whose writer may have been killed before it synced.
  /// Otherwise a power failure could take commits from the log that the backup keeps.
  private func makeDurable(_ newest: Segment) throws(TreeRingError) {
    do throws(TreeRingError) {
      let file = try core.fileSystem.open(newest.path, .readOnly)
      defer { file.close() }
      try file.sync(.whole)
      try core.fileSystem.syncDirectory(core.directory)
      try core.fileSystem.syncFolder(above: core.directory)
    } catch {
      // A read-only file system has nothing to sync.
      guard let number = error.errno, SystemErrors.isUnsyncable(number) else { throw error }
    }
  }

  /// Returns false if the log holds another commit of that number than its copy. A commit that was
  /// rewritten since is recognized by its date; a removed one cannot be compared.
  private func holds(_ position: LogPosition) throws(TreeRingError) -> Bool {
    do throws(TreeRingError) {
      let found = try header(of: position.commit)
      if found.checksum == position.identity { return true }
      let segment = segments.last { $0.firstCommit <= position.commit }
      return found.timestamp == position.timestamp && segment?.generation != position.generation
    } catch  where error.code == .beyondHorizon { return true }
  }

  /// The number of files of another process's log to open in advance, which keeps them readable.
  private static let openAhead = 64
}

extension GroupCommit {
  /// The log at a moment when all written bytes are synced, and its newest commit at that moment.
  fileprivate func synced() throws(TreeRingError) -> ([Segment], ActiveSegment?, CommitNumber) {
    try monitor.enter { held throws(TreeRingError) in
      var hasLed = false
      while true {
        try held.state.checkOpen()
        if held.state.isLeading {
          held.wait(for: idle)
        } else if held.state.active == nil
          || held.state.durable == held.state.completed && (hasLed || held.state.pending.isEmpty)
        {
          return (held.state.segments, held.state.active, held.state.durable)
        } else {
          try held.state.checkWritable()
          lead(held, atLeast: .full)
          hasLed = true
        }
      }
    }
  }
}
