// Opening from a position that a checkpoint stored: O(log after it), plus three small reads for
// each segment before it.
//
// 1. The position names a segment by first commit, generation and salt, and the offset of its
//    commit's frame. If that offset holds a sound commit header with the stored number, timestamp,
//    identity and checksum, it is that commit, and the checkpoint was made from this log. Reading
//    continues after that frame, with that chain.
// 2. If recovery has since moved the commit to another segment, that segment is searched for a
//    commit of that number and identity, and then read from its start.
// 3. The checkpoint synced the log through the position before it stored it. So everything before
//    the position counts as synced and is not copied after a doubtful tail.
// 4. If neither segment holds the commit, everything is read, as without a position. If the log
//    then ends before the commit, it has lost durable commits: `logBehindPages`, before any change.

extension Recovery {
  /// The segment at which reading begins, and an offset in it unless that is the segment's start.
  mutating func beginning(
    _ candidates: [Candidate]
  ) throws(TreeRingError) -> (index: Int, start: ScanStart?) {
    guard options.recovery == .tail, let position = options.trusted,
      let storeID = candidates.first?.header.storeID, isSameStore(storeID),
      let index = candidates.lastIndex(where: {
        $0.header.firstCommit <= max(position.commit, 1)
      })
    else { return (0, nil) }
    let candidate = candidates[index]
    let file = try reopened(candidate)
    defer { file.close() }
    let isNamed =
      candidate.name.firstCommit == position.segment
      && candidate.name.generation == position.generation
    if isNamed, candidate.header.salt == position.salt, !candidate.header.isCompacted {
      guard position.commit > 0 else {
        isTrusted = position.offset == 0 && position.chain == candidate.head.checksum
        return (0, nil)
      }
      guard let start = try start(at: position, candidate, file) else { return (0, nil) }
      isTrusted = true
      return (index, start)
    }
    guard try holds(position, candidate, file) else { return (0, nil) }
    isTrusted = true
    // Recovery may have been interrupted before it cut the segment that it copied from.
    return (candidate.header.origin == .recovery ? max(index - 1, 0) : index, nil)
  }

  func isSameStore(_ storeID: UInt64) -> Bool {
    options.trustedStoreID.map { $0 == storeID } ?? true
  }

  /// The start after the position's commit; nil if that commit is not at the stated offset.
  private func start(
    at position: LogPosition, _ candidate: Candidate, _ file: any File
  ) throws(TreeRingError) -> ScanStart? {
    let reader = SegmentReader(file: file, end: try file.size(), chunk: 1)
    let header = candidate.header
    guard position.offset < reader.end,
      case .success(let frame) = try reader.frame(
        at: position.offset, salt: header.salt, wholly: false),
      frame.head.checksum == position.chain, let commit = frame.commit,
      isCommit(commit, of: position)
    else { return nil }
    let end = position.offset + frame.byteCount
    let deferred = DeferredEntries(of: header, framesBefore: end, through: position.commit)
    return ScanStart(
      end: ChainPosition(salt: header.salt, offset: end, checksum: frame.head.checksum),
      directory: SegmentDirectory(of: header, after: position, deferred: deferred),
      lastKind: .commit, last: position)
  }

  private func isCommit(_ fields: CommitFields, of position: LogPosition) -> Bool {
    fields.number == position.commit && fields.identity == position.identity
      && fields.timestamp == position.timestamp
  }

  /// True if a segment holds the position's commit at any offset. O(headers before it).
  private func holds(
    _ position: LogPosition, _ candidate: Candidate, _ file: any File
  ) throws(TreeRingError) -> Bool {
    let reader = SegmentReader(file: file, end: try file.size())
    var offset: UInt64 = 0
    while offset < reader.end {
      guard
        case .success(let frame) = try reader.frame(
          at: offset, salt: candidate.header.salt, wholly: false)
      else { return false }
      if let commit = frame.commit, commit.number >= position.commit {
        return isCommit(commit, of: position)
      }
      offset += frame.byteCount
    }
    return false
  }

  /// A segment that precedes the trusted position, described by its header and its directory's
  /// summary.
  ///
  /// - Throws: `corruption` if it does not reach the next segment.
  func readSummary(
    _ candidate: Candidate, next: Candidate
  ) throws(TreeRingError) -> Segment {
    let (header, path) = (candidate.header, candidate.file.path)
    let last = next.header.firstCommit - 1
    guard let summary = try candidate.summary.get() else {
      let file = try reopened(candidate)
      defer { file.close() }
      let size = try file.size()
      guard next.header.origin == .recovery, !header.isCompacted else {
        throw .corruptLog("a sealed segment has lost its directory", file: path, offset: size)
      }
      // Recovery cut it at the first commit of the next segment.
      let deferred = DeferredEntries(of: header, framesBefore: size, through: last)
      let directory = SegmentDirectory(
        of: header, through: last, at: Timestamp(microseconds: 0), deferred: deferred)
      return Segment(path: path, header: header, directory: directory, end: size)
    }
    guard (header.isCompacted ? header.lastCommit : summary.lastCommit) == last else {
      throw .corruptLog(
        "commits are missing between the segment and the next one", file: path,
        offset: summary.offset, commit: summary.lastCommit + 1)
    }
    let deferred = DeferredEntries(
      of: header, .directory(offset: summary.offset), through: summary.lastCommit,
      count: summary.entryCount)
    let directory = SegmentDirectory(
      of: header, through: summary.lastCommit, at: summary.lastTimestamp, deferred: deferred)
    return Segment(path: path, header: header, directory: directory, end: summary.end)
  }

  /// Throws if the log ends before the position's commit.
  func checkTrusted(
    lastCommit: CommitNumber, file: String, offset: UInt64
  ) throws(TreeRingError) {
    guard let position = options.trusted, options.recovery != .prefix,
      lastCommit < position.commit
    else { return }
    throw TreeRingError(
      .logBehindPages,
      "The log ends before commit \(lastCommit + 1), but it held all commits up to "
        + "\(position.commit), synced, when the page file was written. So it has lost durable "
        + "commits. Restore \(directory) from a backup, or delete the file `pages` to continue "
        + "without them.",
      file: file, offset: offset, commit: lastCommit + 1)
  }
}
