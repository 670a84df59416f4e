// Opening a log: which files count, what they hold, what is kept of the last one.
//
// With a position to trust, the segments before it are only glanced at and the one that holds it is
// read from there on (Recovery+Trusted.swift). Then, and without one from the start:
//
// 1. Of files with the same first commit the highest generation counts; lower ones are leftovers.
// 2. Every segment is read wholly. A segment before the last must hold every commit up to the next
//    one's first and end in its directory; unless the next one was begun by recovery: then whatever
//    follows those commits is superseded and cut off.
// 3. What follows the last sound frame of the last segment is judged (Tail.swift).
// 4. Commits of the last segment that no later frame vouches for are copied to a new segment before
//    anybody sees them (RecoveryCopy.swift); nothing is ever appended behind a doubtful tail.
//
// Reading only: the same answer, nothing changed.

/// What opening a log found.
struct RecoveredLog {
  var storeID: UInt64
  var segments: [Segment]
  var active: ActiveSegment?
  var lastCommit: CommitNumber
  var lastTimestamp: Timestamp
  var report: RecoveryReport
  /// Where reading would go on; nil for a new log.
  var end: ScanStart?
  /// True if the position to trust fits.
  var isTrusted = false
}

struct Recovery {
  let directory: String
  let fileSystem: any FileSystem
  let options: LogOptions
  var report = RecoveryReport()
  /// Sound segments so far, oldest first.
  var segments: [Segment] = []
  /// The newest commit read so far.
  var last: LogPosition?
  /// True if the position to trust fits.
  var isTrusted = false
  var mayWrite: Bool { options.access != .readOnly }
  /// The last commit that is to be read.
  var through: CommitNumber {
    guard !mayWrite, let through = options.through else { return .max }
    return max(through, options.trusted?.commit ?? 0)
  }

  init(directory: String, fileSystem: any FileSystem, options: LogOptions) {
    self.directory = directory
    self.fileSystem = fileSystem
    self.options = options
  }

  /// A segment file whose header is sound.
  struct Candidate {
    var name: SegmentName
    /// Open while it is read.
    var file: any File
    var header: SegmentHeader
    var head: FrameHead
  }

  mutating func run() throws(TreeRingError) -> RecoveredLog {
    guard var files = try list() else {
      try checkTrusted(lastCommit: 0, file: directory, offset: 0)
      return try create()
    }
    // What a writer has begun since.
    while files.names.count > 1, let name = files.names.last, name.firstCommit > through {
      files.names.removeLast()
    }
    var candidates: [Candidate] = []
    var cut: (index: Int, error: TreeRingError)?
    for (index, name) in files.names.enumerated() {
      do throws(TreeRingError) {
        candidates.append(try open(name, after: candidates.last))
      } catch {
        guard options.recovery == .prefix, error.code == .corruption else { throw error }
        cut = (index, error)
        break
      }
    }
    try removeLeftovers(files.leftovers)
    let begin = cut == nil ? try beginning(candidates) : (index: 0, start: nil)
    for index in 0..<begin.index {
      segments.append(try glance(candidates[index], next: candidates[index + 1]))
    }
    for index in candidates.indices.dropFirst(begin.index) {
      var candidate = candidates[index]
      let next = index + 1 < candidates.count ? candidates[index + 1] : nil
      let isLast = index + 1 == files.names.count
      candidate.file = try reopened(candidate)
      let scan = try scan(candidate, next, from: index == begin.index ? begin.start : nil)
      last = scan.last ?? last
      do throws(TreeRingError) {
        if isLast { return try finish(scan, candidate) }
        if let cut, next == nil {
          try checkBeforeCut(scan)
          return try self.cut(at: scan, candidate, Array(files.names[cut.index...]), cut.error)
        }
        try take(scan, candidate, next)
      } catch {
        guard options.recovery == .prefix, error.code == .corruption else { throw error }
        return try self.cut(at: scan, candidate, Array(files.names[(index + 1)...]), error)
      }
    }
    // Only in mode `prefix`, if the first segment's header is damaged: there is no log before it.
    throw cut?.error ?? TreeRingError(.notFound, "There is no log in \(directory).")
  }

  private func scan(
    _ candidate: Candidate, _ next: Candidate?, from start: ScanStart?
  ) throws(TreeRingError) -> SegmentScan {
    let limit = next?.header.origin == .recovery ? next?.header.firstCommit : nil
    guard let start else {
      return try SegmentScan.scan(
        candidate.file, candidate.header, candidate.head, limit: limit, through: through)
    }
    return try SegmentScan.scan(
      candidate.file, candidate.header, from: start, limit: limit, through: through)
  }

  // MARK: Files

  /// The segments that count, oldest first, and files that do not; nil if there are none at all.
  private func list() throws(TreeRingError) -> (names: [SegmentName], leftovers: [String])? {
    let found: [String]
    do throws(TreeRingError) {
      found = try fileSystem.list(directory)
    } catch  where error.code == .notFound && options.access == .create { return nil }
    var newest: [CommitNumber: SegmentName] = [:]
    var leftovers = found.filter { $0.hasSuffix(Format.temporarySuffix) }
    for name in found.compactMap(SegmentName.init(fileName:)).sorted() {
      if let lower = newest.updateValue(name, forKey: name.firstCommit) {
        leftovers.append(lower.fileName)
      }
    }
    if newest.isEmpty {
      guard options.access == .create else {
        throw TreeRingError(.notFound, "There is no commit log in \(directory).", file: directory)
      }
      return nil
    }
    return (newest.values.sorted(), leftovers.sorted())
  }

  private func open(
    _ name: SegmentName, after previous: Candidate?
  ) throws(TreeRingError) -> Candidate {
    let path = "\(directory)/\(name.fileName)"
    let file = try fileSystem.open(path, mayWrite ? .readWrite : .readOnly)
    // One descriptor at a time, however many segments there are.
    defer { file.close() }
    let (header, head) = try SegmentScan.header(of: file, name: name)
    if let previous {
      guard header.storeID == previous.header.storeID else {
        throw .corruptLog("the segment belongs to another store", file: path, offset: 0)
      }
    } else if header.firstCommit != 1 {
      throw .corruptLog(
        "the log begins with commit \(header.firstCommit); the segments before it are missing",
        file: path, offset: 0, commit: 1)
    }
    return Candidate(name: name, file: file, header: header, head: head)
  }

  func reopened(_ candidate: Candidate) throws(TreeRingError) -> any File {
    try fileSystem.open(candidate.file.path, mayWrite ? .readWrite : .readOnly)
  }

  private mutating func removeLeftovers(_ names: [String]) throws(TreeRingError) {
    guard mayWrite, !names.isEmpty else { return }
    for name in names {
      let path = "\(directory)/\(name)"
      try fileSystem.unlink(path)
      report.removedFiles.append(path)
      report.notes.append("Removed \(path), a leftover of work that was interrupted.")
    }
    try fileSystem.syncDirectory(directory)
  }

  private func create() throws(TreeRingError) -> RecoveredLog {
    try fileSystem.makeDirectory(directory)
    try fileSystem.syncFolder(above: directory)
    let header = SegmentHeader(
      salt: options.random(), storeID: options.random(), firstCommit: 1, generation: 0,
      origin: .sealed)
    let active = try SegmentWriter.begin(header, in: directory, fileSystem: fileSystem)
    return RecoveredLog(
      storeID: header.storeID, segments: [], active: active, lastCommit: 0,
      lastTimestamp: Timestamp(microseconds: 0), report: report)
  }

  // MARK: Segments before the last

  private mutating func take(
    _ scan: SegmentScan, _ candidate: Candidate, _ next: Candidate?
  ) throws(TreeRingError) {
    guard let next else { return }
    try checkCompacted(scan)
    let expected = next.header.firstCommit - 1
    guard scan.lastCommit == expected else {
      throw .flaw(
        scan.flaw ?? .outOfOrder, file: scan.path, offset: scan.end.offset,
        commit: scan.directory.lastCommit + 1)
    }
    if next.header.origin == .recovery {
      if scan.fileSize > scan.end.offset, mayWrite {
        try candidate.file.truncate(to: scan.end.offset)
        try candidate.file.sync(.full)
        report.notes.append(
          "Cut \(scan.path) at offset \(scan.end.offset); what followed had been copied to the "
            + "next segment.")
      }
    } else if let flaw = scan.flaw {
      throw .flaw(flaw, file: scan.path, offset: scan.end.offset)
    } else if scan.lastKind != .directory {
      throw .corruptLog(
        "a sealed segment has lost its directory", file: scan.path, offset: scan.end.offset)
    }
    candidate.file.close()
    segments.append(
      Segment(
        path: scan.path, header: scan.header, directory: scan.directory, end: scan.end.offset))
  }

  // MARK: The last segment

  private mutating func finish(
    _ scan: SegmentScan, _ candidate: Candidate
  ) throws(TreeRingError) -> RecoveredLog {
    if case .unsupported? = scan.flaw, let flaw = scan.flaw {
      throw .flaw(flaw, file: scan.path, offset: scan.end.offset)
    }
    try checkCompacted(scan)
    if scan.isBounded { return readOnly(scan) }
    switch try Tail.judge(scan, candidate.file) {
    case .clean:
      report.wasClosedCleanly =
        scan.fileSize == scan.end.offset && [.mark, .directory].contains(scan.lastKind)
    case .corrupt(let what):
      throw .corruptLog(
        what, file: scan.path, offset: scan.end.offset, commit: scan.directory.lastCommit + 1)
    case .torn:
      let byteCount = scan.fileSize - scan.end.offset
      if options.recovery == .exact {
        throw .corruptLog(
          "it ends in \(byteCount) bytes of unfinished commits, and mode `exact` accepts no flaw",
          file: scan.path, offset: scan.end.offset, commit: scan.directory.lastCommit + 1)
      }
      report.droppedByteCount = byteCount
      report.droppedFile = scan.path
      report.droppedOffset = scan.end.offset
      report.notes.append(
        "Dropped \(byteCount) bytes of unfinished commits at offset \(scan.end.offset) of "
          + "\(scan.path).")
    }
    try checkHorizon(scan)
    if isSameStore(scan.header.storeID) {
      try checkTrusted(lastCommit: scan.lastCommit, file: scan.path, offset: scan.end.offset)
    }
    return try mayWrite ? settle(scan, candidate) : readOnly(scan)
  }

  private func readOnly(_ scan: SegmentScan) -> RecoveredLog {
    let last = Segment(
      path: scan.path, header: scan.header, directory: scan.directory, end: scan.end.offset)
    return recovered(segments + [last], nil, scan)
  }

  func recovered(
    _ segments: [Segment], _ active: ActiveSegment?, _ scan: SegmentScan
  ) -> RecoveredLog {
    let timestamp =
      scan.directory.isEmpty
      ? self.segments.last?.directory.lastTimestamp : scan.directory.lastTimestamp
    let beginning = LogPosition(
      segment: scan.header.firstCommit, generation: scan.header.generation, salt: scan.header.salt,
      offset: 0, chain: 0, commit: 0, timestamp: Timestamp(microseconds: 0), identity: 0)
    return RecoveredLog(
      storeID: scan.header.storeID, segments: segments, active: active,
      lastCommit: scan.lastCommit,
      lastTimestamp: timestamp ?? Timestamp(microseconds: 0), report: report,
      end: ScanStart(
        end: scan.end, directory: scan.directory, lastKind: scan.lastKind,
        last: last ?? beginning),
      isTrusted: isTrusted)
  }
}
