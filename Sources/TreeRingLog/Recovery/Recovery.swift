// Opens a log: selects the current files, reads their commits and settles the end of the last one.
//
// With a position to trust, recovery reads only the summaries of the segments before it, and its
// own segment from there on (Recovery+Trusted.swift). For everything after it, or without a
// position:
//
// 1. Of files with the same first commit, the highest generation is current. Once it has been read
//    whole and holds every commit of the lower ones, they are removed (Recovery+Leftovers.swift).
// 2. Every segment is read whole. A segment before the last must hold every commit up to the next
//    one's first, and end in its directory. If an earlier recovery began the next one, this segment
//    has no directory; the bytes after those commits are superseded and cut off.
// 3. The bytes after the last sound frame of the last segment are judged (Tail.swift).
// 4. Commits of the last segment that no later frame vouches for are copied to a new segment before
//    they become visible (RecoveryCopy.swift). Nothing is appended after commits that may be lost.
//
// An opening for writing cuts, renames and removes nothing before it has judged the whole log. Then
// it first makes all names durable, because their creator may have been killed before it did. After
// a clean close every commit and name is durable already, except in a copy that nobody synced. So
// this and the sync of the last segment are left to the first write, or to the first caller who
// wants something durable: each of the three waits for the device to empty its cache. An opening
// for reading gives the same answer and changes nothing.

/// The result of opening a log.
struct RecoveredLog {
  var storeID: UInt64
  var segments: [Segment]
  var active: ActiveSegment?
  var lastCommit: CommitNumber
  var lastTimestamp: Timestamp
  var report: RecoveryReport
  /// The state from which a follower continues to read; nil for a new log.
  var end: ScanStart?
  /// True if the position to trust fits.
  var isTrusted = false
  /// True if the names and the active segment must be synced before the first write.
  var needsSync = false
}

struct Recovery {
  let directory: String
  let fileSystem: any FileSystem
  let options: LogOptions
  var report = RecoveryReport()
  /// The files of the folder.
  var files = LogFiles([])
  /// The tails to cut off, because recovery has copied them.
  var cuts: [SupersededTail] = []
  /// Sound segments so far, oldest first.
  var segments: [Segment] = []
  /// The newest commit read so far.
  var last: LogPosition?
  /// True if the position to trust fits.
  var isTrusted = false
  var mayWrite: Bool { options.access != .readOnly }
  /// The last commit to read.
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
    /// Open only during the read.
    var file: any File
    var header: SegmentHeader
    var head: FrameHead
    /// The summary of its directory, unless it is the last segment; nil if there is none, or if
    /// no position is to be trusted.
    var summary: Result<SegmentDirectory.Summary?, TreeRingError>
  }

  mutating func run() throws(TreeRingError) -> RecoveredLog {
    guard try list() else {
      try checkTrusted(lastCommit: 0, file: directory, offset: 0)
      return try create()
    }
    // Drops segments that a writer has begun after `through`.
    files.removeSegments(after: through)
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
    let begin = cut == nil ? try beginning(candidates) : (index: 0, start: nil)
    for index in candidates.indices {
      var candidate = candidates[index]
      let next = index + 1 < candidates.count ? candidates[index + 1] : nil
      let isLast = index + 1 == files.names.count
      if let next, index < begin.index, !isReplacing(candidate.name) {
        segments.append(try readSummary(candidate, next: next))
        continue
      }
      candidate.file = try reopened(candidate)
      let isWhole = index != begin.index || isReplacing(candidate.name)
      let scan = try scan(candidate, next, from: isWhole ? nil : begin.start)
      last = scan.last ?? last
      do throws(TreeRingError) {
        try checkReplaced(by: scan, candidate.name)
        if isLast { return try finish(scan, candidate) }
        if let cut, next == nil {
          // The segment before the cut may have a flaw of its own.
          if let flaw = scan.flaw { throw scan.error(flaw) }
          return try self.cut(at: scan, candidate, Array(files.names[cut.index...]), cut.error)
        }
        try addSealed(scan, candidate, next)
      } catch {
        guard options.recovery == .prefix, error.code == .corruption else { throw error }
        return try self.cut(at: scan, candidate, Array(files.names[(index + 1)...]), error)
      }
    }
    // Reached only in mode `prefix` if the first segment's header is damaged: no log precedes it.
    throw cut?.error
      ?? TreeRingError(.notFound, "There is no log in \(directory).", file: directory)
  }

  private func scan(
    _ candidate: Candidate, _ next: Candidate?, from start: ScanStart?
  ) throws(TreeRingError) -> SegmentScan {
    try SegmentScan.scan(
      candidate.file, candidate.header,
      from: start ?? ScanStart(after: candidate.header, candidate.head),
      limit: next?.header.origin == .recovery ? next?.header.firstCommit : nil, through: through)
  }

  // MARK: Files

  /// Lists the files. Returns false if there is no segment among them.
  private mutating func list() throws(TreeRingError) -> Bool {
    let found: [String]
    do throws(TreeRingError) {
      found = try fileSystem.list(directory)
    } catch  where error.code == .notFound && options.access == .create { return false }
    files = LogFiles(found)
    guard files.names.isEmpty else { return true }
    guard options.access == .create else {
      throw TreeRingError(
        .notFound, "There is no commit log in \(directory). Check the path of the store.",
        file: directory)
    }
    return false
  }

  private func open(
    _ name: SegmentName, after previous: Candidate?
  ) throws(TreeRingError) -> Candidate {
    let path = "\(directory)/\(name.fileName)"
    let file = try fileSystem.open(path, mayWrite ? .readWrite : .readOnly)
    // Keeps one descriptor open at a time, regardless of the number of segments.
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
    let readsSummary = options.trusted != nil && name != files.names.last
    let summary = Result { () throws(TreeRingError) in
      readsSummary ? try SegmentDirectory.readSummary(file, of: header) : nil
    }
    return Candidate(name: name, file: file, header: header, head: head, summary: summary)
  }

  func reopened(_ candidate: Candidate) throws(TreeRingError) -> any File {
    try fileSystem.open(candidate.file.path, mayWrite ? .readWrite : .readOnly)
  }

  private mutating func create() throws(TreeRingError) -> RecoveredLog {
    try fileSystem.makeDirectory(directory)
    try fileSystem.syncFolder(above: directory)
    try removeLeftovers()
    let header = SegmentHeader(
      salt: options.random(), storeID: options.newStoreID ?? options.random(), firstCommit: 1,
      generation: 0, origin: .sealed)
    let active = try SegmentWriter.begin(header, in: directory, fileSystem: fileSystem)
    return RecoveredLog(
      storeID: header.storeID, segments: [], active: active, lastCommit: 0,
      lastTimestamp: Timestamp(microseconds: 0), report: report)
  }

  // MARK: Segments before the last

  private mutating func addSealed(
    _ scan: SegmentScan, _ candidate: Candidate, _ next: Candidate?
  ) throws(TreeRingError) {
    guard let next else { return }
    try checkCompacted(scan)
    let expected = next.header.firstCommit - 1
    guard scan.lastCommit == expected else {
      throw scan.error(scan.flaw ?? .outOfOrder, commit: scan.directory.lastCommit + 1)
    }
    if next.header.origin == .recovery {
      if mayWrite { try noteSuperseded(scan, candidate.file) }
    } else if let flaw = scan.flaw {
      throw scan.error(flaw)
    } else if scan.lastKind != .directory {
      throw scan.corrupt("a sealed segment has lost its directory")
    }
    candidate.file.close()
    segments.append(scan.segment)
  }

  // MARK: The last segment

  private mutating func finish(
    _ scan: SegmentScan, _ candidate: Candidate
  ) throws(TreeRingError) -> RecoveredLog {
    if case .unsupported? = scan.flaw, let flaw = scan.flaw { throw scan.error(flaw) }
    try checkCompacted(scan)
    if scan.isBounded { return readOnly(scan) }
    switch try Tail.judge(scan, candidate.file) {
    case .clean:
      report.wasClosedCleanly =
        scan.fileSize == scan.end.offset && [.mark, .directory].contains(scan.lastKind)
    case .corrupt(let what):
      throw scan.corrupt(what, commit: scan.directory.lastCommit + 1)
    case .torn:
      let byteCount = scan.fileSize - scan.end.offset
      if options.recovery == .exact {
        throw scan.corrupt(
          "it ends in \(byteCount) bytes of unfinished commits, and mode `exact` accepts no flaw",
          commit: scan.directory.lastCommit + 1)
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
    guard mayWrite else { return readOnly(scan) }
    try checkSuperseded(by: scan)
    // A replica that does not lead could not make up for it.
    let isKept = report.wasClosedCleanly && scan.lastKind == .mark && options.sharing == nil
    if isKept, files.leftovers.isEmpty, cuts.isEmpty {
      return try settle(scan, candidate, leavesSync: true)
    }
    try fileSystem.syncNames(ofLog: directory)
    try removeLeftovers()
    try cutSuperseded()
    return try settle(scan, candidate)
  }

  func readOnly(_ scan: SegmentScan) -> RecoveredLog {
    recovered(segments + [scan.segment], nil, scan)
  }

  func recovered(
    _ segments: [Segment], _ active: ActiveSegment?, _ scan: SegmentScan
  ) -> RecoveredLog {
    let timestamp =
      scan.directory.isEmpty
      ? self.segments.last?.directory.lastTimestamp : scan.directory.lastTimestamp
    var end = scan.next
    end.last = last ?? LogPosition(in: scan.header, chain: 0)
    return RecoveredLog(
      storeID: scan.header.storeID, segments: segments, active: active,
      lastCommit: scan.lastCommit,
      lastTimestamp: timestamp ?? Timestamp(microseconds: 0), report: report,
      end: end, isTrusted: isTrusted)
  }
}
