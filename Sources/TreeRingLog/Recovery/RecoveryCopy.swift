// The changes that an opening for writing makes. It removes the leftovers of earlier operations
// (Recovery+Leftovers.swift), copies the doubtful commits at the end of the last segment and, in
// mode `prefix`, sets aside everything after the first flaw.
//
// A crash at any point of the copy leaves a log that recovers to the same commits. The new segment
// is written under a temporary name, synced and renamed, and the folder is synced. Only then is the
// old file cut at the commit with which the new one begins, and synced. Until the cut, the new
// segment's origin states that it supersedes the old one from there on.

extension Recovery {
  /// Makes the last segment ready for appending.
  /// - Parameter leavesSync: Whether its sync is left to the first write.
  mutating func settle(
    _ scan: SegmentScan, _ candidate: Candidate, leavesSync: Bool = false
  ) throws(TreeRingError) -> RecoveredLog {
    if scan.hasDoubtfulCommits {
      return try copyDoubtful(scan, candidate, generation: scan.header.generation + 1)
    }
    if scan.fileSize > scan.end.offset {
      try candidate.file.truncate(to: scan.end.offset)
    }
    if !leavesSync { try candidate.file.sync(.whole) }
    if scan.lastKind == .directory {
      return recovered(segments + [scan.segment], nil, scan)
    }
    let active = ActiveSegment(
      candidate.file, scan.header, scan.directory, at: scan.end,
      endsInMark: scan.lastKind == .mark)
    var log = recovered(segments, active, scan)
    log.needsSync = leavesSync
    return log
  }

  /// Copies the commits from `scan.doubtful` on to a new segment and cuts the old segment there.
  private mutating func copyDoubtful(
    _ scan: SegmentScan, _ candidate: Candidate, generation: UInt32
  ) throws(TreeRingError) -> RecoveredLog {
    let first = scan.provenCommit + 1
    let replacesWhole = first == scan.header.firstCommit
    let header = SegmentHeader(
      salt: options.random(), storeID: scan.header.storeID, firstCommit: first,
      generation: replacesWhole ? generation : 0,
      origin: replacesWhole ? scan.header.origin : .recovery)
    // Frees the room of the dropped tail and of the reservation for the copy.
    if scan.fileSize > scan.end.offset { try candidate.file.truncate(to: scan.end.offset) }
    let active = try copy(scan, candidate.file, to: header)
    report.copiedCommitCount = scan.directory.lastCommit - scan.provenCommit
    report.notes.append(
      "Copied \(report.copiedCommitCount) commits that no sync vouched for from \(scan.path) to "
        + "\(active.path).")
    if replacesWhole {
      candidate.file.close()
      try fileSystem.unlink(scan.path)
      try fileSystem.syncDirectory(directory)
      report.removedFiles.append(scan.path)
      return recovered(segments, active, scan)
    }
    try candidate.file.truncate(to: scan.doubtful.offset)
    try candidate.file.sync(.whole)
    candidate.file.close()
    var old = scan.segment
    old.directory.removeCommits(after: scan.provenCommit, timestamp: scan.provenTimestamp)
    old.end = scan.doubtful.offset
    return recovered(segments + [old], active, scan)
  }

  /// Writes a new segment: the commits of `scan` from `header.firstCommit` on, then a mark.
  private func copy(
    _ scan: SegmentScan, _ source: any File, to header: SegmentHeader
  ) throws(TreeRingError) -> ActiveSegment {
    let path = "\(directory)/\(header.name.fileName)"
    let buffer = ByteBuffer()
    var copied = SegmentDirectory(of: header)
    var position = ChainPosition(
      salt: header.salt, offset: 0, checksum: header.append(to: buffer))
    let file = try SegmentWriter.writeAside(path, in: directory, fileSystem: fileSystem) {
      file throws(TreeRingError) in
      var flushed: UInt64 = 0
      position.offset = UInt64(buffer.count)
      let reader = SegmentReader(file: source, end: scan.end.offset)
      var offset =
        header.firstCommit == scan.header.firstCommit
        ? UInt64(Format.Segment.byteCount) : scan.doubtful.offset
      while offset < scan.end.offset {
        let found = try reader.frame(at: offset, salt: scan.header.salt, wholly: false)
        guard case .success(let frame) = found else {
          throw .corruptLog("a frame changed while it was read", file: scan.path, offset: offset)
        }
        if let commit = frame.commit {
          let start = buffer.count
          try reader.forEachPiece(at: offset, count: frame.byteCount) { buffer.append($0) }
          let bytes = UnsafeMutableRawBufferPointer(
            start: buffer.base + start, count: frame.head.byteCount)
          position.checksum = FrameHead.seal(
            bytes, .commit, at: position, synced: UInt64(Format.Segment.byteCount))
          copied.append(commit.number, offset: position.offset, timestamp: commit.timestamp)
          position.offset += frame.byteCount
        }
        offset += frame.byteCount
        if buffer.count > 1 << 20 {
          try file.write(buffer.bytes, at: flushed)
          flushed += UInt64(buffer.count)
          buffer.reset()
        }
      }
      position.checksum = Mark.append(to: buffer, at: position)
      position.offset += UInt64(Format.Mark.byteCount)
      try file.write(buffer.bytes, at: flushed)
    }
    return ActiveSegment(file, header, copied, at: position, endsInMark: true)
  }

  // MARK: Mode `prefix`

  /// Ends the log before the first flaw and ignores the rest. An opening for writing renames the
  /// ignored files, so that salvage still finds them.
  mutating func cut(
    at scan: SegmentScan, _ candidate: Candidate, _ later: [SegmentName], _ error: TreeRingError
  ) throws(TreeRingError) -> RecoveredLog {
    try checkCut(at: scan, error)
    report.flaw = error
    report.notes.append("Stopped before the first flaw, after commit \(scan.directory.lastCommit).")
    report.ignoredFiles = later.map { "\(directory)/\($0.fileName)" }
    let isWhole = scan.flaw == nil && scan.end.offset == scan.fileSize
    guard mayWrite else { return readOnly(scan) }
    try fileSystem.syncNames(ofLog: directory)
    let first = scan.header.firstCommit
    let lower = try removeLeftovers(before: isWhole ? first + 1 : first)
    try cutSuperseded()
    for name in (lower + later).sorted().reversed() { try setAside(name) }
    if isWhole {
      try fileSystem.syncDirectory(directory)
      return try settle(scan, candidate)
    }
    var header = scan.header
    header.salt = options.random()
    header.generation += 1
    let active = try copy(scan, candidate.file, to: header)
    candidate.file.close()
    try setAside(candidate.name)
    try fileSystem.syncDirectory(directory)
    report.ignoredFiles.append(scan.path)
    return recovered(segments, active, scan)
  }

  private func setAside(_ name: SegmentName) throws(TreeRingError) {
    let path = "\(directory)/\(name.fileName)"
    try fileSystem.rename(path, to: SegmentName.path(path, with: Format.ignoredSuffix))
  }
}
