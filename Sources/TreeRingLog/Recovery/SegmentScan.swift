// A scan of one segment from its start or from a known point. It checks every frame wholly and
// follows every link of the chain, up to the end of the file or the first flaw.

/// The state at which a scan continues.
struct ScanStart {
  /// The position of the next frame.
  var end: ChainPosition
  /// The directory of the frames before it.
  var directory: SegmentDirectory
  /// The kind of the last of these frames.
  var lastKind: Format.Kind
  /// The last commit among them; nil if there is none.
  var last: LogPosition?
}

extension ScanStart {
  /// The start after the header of a segment.
  init(after header: SegmentHeader, _ head: FrameHead) {
    end = ChainPosition(
      salt: header.salt, offset: UInt64(head.byteCount), checksum: head.checksum)
    directory = SegmentDirectory(of: header)
    lastKind = .segmentHeader
  }
}

/// The content of a segment up to its first flaw.
struct SegmentScan {
  var path: String
  var header: SegmentHeader
  /// The offsets of every 64th sound commit.
  var directory: SegmentDirectory
  /// The position of the first flaw, or the end of the file, with the chain that a frame there must
  /// continue.
  var end: ChainPosition
  var fileSize: UInt64
  /// The flaw at `end`; nil if the file ends there.
  var flaw: FrameFlaw?
  /// The length that sound frames prove to have been synced.
  var proven: UInt64
  /// The newest commit before `proven`, and its timestamp.
  var provenCommit: CommitNumber
  var provenTimestamp: Timestamp
  /// The start of the first commit at or after `proven`, and the chain there; equal to `end` if
  /// there is none.
  var doubtful: ChainPosition
  /// The kind of the last frame.
  var lastKind: Format.Kind
  /// The last commit in the segment; nil if it holds none.
  var last: LogPosition?
  /// True if the scan stopped at the commit it was asked to reach.
  var isBounded = false
  /// True if the scan stopped at a commit that the next segment holds.
  var isSuperseded = false

  var hasDoubtfulCommits: Bool { provenCommit < directory.lastCommit }
  /// The last commit number that the segment covers, whether present or removed by compaction.
  var lastCommit: CommitNumber { segment.lastCommit }

  /// The segment up to the end of the scan.
  var segment: Segment {
    Segment(path: path, header: header, directory: directory, end: end.offset)
  }

  /// The state at which another scan continues after this one.
  var next: ScanStart {
    ScanStart(end: end, directory: directory, lastKind: lastKind, last: last)
  }

  /// The error for wrong bytes at the end of the scan.
  func corrupt(_ what: String, commit: CommitNumber? = nil) -> TreeRingError {
    .corruptLog(what, file: path, offset: end.offset, commit: commit)
  }

  /// The error for a flaw at the end of the scan.
  func error(_ flaw: FrameFlaw, commit: CommitNumber? = nil) -> TreeRingError {
    .flaw(flaw, file: path, offset: end.offset, commit: commit)
  }
}

extension LogPosition {
  /// The position of a commit in a segment, or that before the segment's first commit.
  init(
    in segment: SegmentHeader, offset: UInt64 = 0, chain: UInt32, commit: CommitNumber = 0,
    timestamp: Timestamp = Timestamp(microseconds: 0), identity: UInt32 = 0
  ) {
    self.init(
      segment: segment.firstCommit, generation: segment.generation, salt: segment.salt,
      offset: offset, chain: chain, commit: commit, timestamp: timestamp, identity: identity)
  }
}

extension SegmentScan {
  /// Reads the header at the start of a segment file.
  static func header(
    of file: any File, name: SegmentName
  ) throws(TreeRingError) -> (SegmentHeader, FrameHead) {
    let size = try file.size()
    let reader = SegmentReader(file: file, end: size, chunk: Format.Segment.byteCount)
    defer { withExtendedLifetime(reader) {} }
    switch try reader.header(at: 0) {
    case .failure(let flaw): throw .flaw(flaw, file: file.path, offset: 0)
    case .success(let (head, bytes)):
      guard head.kind == .segmentHeader, head.previousChecksum == 0, head.synced == 0 else {
        throw .corruptLog("the segment does not begin with its header", file: file.path, offset: 0)
      }
      guard let header = SegmentHeader(bytes), header.isCompacted || header.horizon == 0 else {
        throw TreeRingError(
          .unsupportedFormat,
          "The segment is of a kind that this program does not know. Use a newer program.",
          file: file.path, offset: 0)
      }
      guard header.firstCommit == name.firstCommit, header.generation == name.generation,
        header.firstCommit > 0, !header.isCompacted || header.lastCommit >= header.firstCommit
      else {
        throw .corruptLog(
          "the segment's header and its name differ", file: file.path, offset: 0)
      }
      guard header.isPlausible else {
        throw .corruptLog(
          "the segment's header states commit numbers that no store has", file: file.path,
          offset: 0)
      }
      return (header, head)
    }
  }

  /// Reads a segment whole. O(bytes of the file).
  static func scan(
    _ file: any File, name: SegmentName
  ) throws(TreeRingError) -> SegmentScan {
    let (header, head) = try Self.header(of: file, name: name)
    return try scan(file, header, from: ScanStart(after: header, head))
  }

  /// Scans a segment from a point on. Everything before `start` counts as synced. O(bytes read).
  ///
  /// - Parameters:
  ///   - limit: the first commit that a later segment holds in place of this one.
  ///   - through: the last commit to read.
  ///   - chunk: the number of bytes per read.
  static func scan(
    _ file: any File, _ header: SegmentHeader, from start: ScanStart, limit: CommitNumber? = nil,
    through: CommitNumber = .max, chunk: Int = 1 << 20
  ) throws(TreeRingError) -> SegmentScan {
    var scan = SegmentScan(
      path: file.path, header: header, directory: start.directory, end: start.end,
      fileSize: try file.size(), proven: start.end.offset,
      provenCommit: start.directory.lastCommit, provenTimestamp: start.directory.lastTimestamp,
      doubtful: start.end, lastKind: start.lastKind, last: start.last)
    let reader = SegmentReader(file: file, end: scan.fileSize, chunk: chunk)
    try scan.run(reader, limit: limit, through: through)
    return scan
  }

  private mutating func run(
    _ reader: SegmentReader, limit: CommitNumber?, through: CommitNumber
  ) throws(TreeRingError) {
    var tail = DoubtfulFrames()
    while end.offset < fileSize {
      // A compacted segment was complete when it received its name.
      if directory.lastCommit >= through, !header.isCompacted {
        isBounded = true
        break
      }
      let found = try reader.frame(at: end.offset, salt: header.salt, wholly: true)
      do throws(FrameFlaw) {
        let frame = try found.get()
        if let limit, let commit = frame.commit, commit.number >= limit {
          isSuperseded = true
          break
        }
        try checkOrder(frame)
        if frame.head.kind == .directory { try checkDirectory(reader, frame) }
        record(frame, &tail)
      } catch {
        flaw = error
        break
      }
    }
    tail.settle(&self)
  }

  /// Throws unless the frame may follow the one before it.
  private func checkOrder(_ frame: ScannedFrame) throws(FrameFlaw) {
    let head = frame.head
    guard head.previousChecksum == end.checksum, head.synced <= head.offset,
      lastKind != .directory
    else { throw .outOfOrder }
    switch head.kind {
    case .segmentHeader: throw .outOfOrder
    case .commit:
      guard let commit = frame.commit,
        header.admits(commit.number, after: directory.lastCommit)
      else { throw .outOfOrder }
      guard directory.isEmpty || commit.timestamp >= directory.lastTimestamp else {
        throw .outOfOrder
      }
    case .mark, .directory:
      guard head.synced == head.offset else { throw .outOfOrder }
    }
  }

  /// Throws unless the directory on disk matches the commits before it. Entries of commits that
  /// were not read come from the directory itself, whose checksum holds.
  private mutating func checkDirectory(
    _ reader: SegmentReader, _ frame: ScannedFrame
  ) throws(FrameFlaw) {
    if let deferred = directory.deferred {
      guard directory.byteCount == frame.head.byteCount,
        let bytes = try? reader.bytes(at: end.offset, count: frame.head.byteCount),
        let entries = SegmentDirectory.entries(bytes, of: header, before: end.offset)
      else { throw .outOfOrder }
      directory.complete(with: Array(entries.prefix(deferred.count)))
    }
    let expected = directory.bytes(at: end)
    guard expected.count == frame.head.byteCount, header.admitsEnd(after: directory.lastCommit),
      let bytes = try? reader.bytes(at: end.offset, count: expected.count),
      expected.withUnsafeBytes({ $0.elementsEqual(bytes) })
    else { throw .outOfOrder }
  }

  private mutating func record(_ frame: ScannedFrame, _ tail: inout DoubtfulFrames) {
    let next = ChainPosition(
      salt: end.salt, offset: end.offset + frame.byteCount, checksum: frame.head.checksum)
    if let commit = frame.commit {
      directory.append(commit.number, offset: end.offset, timestamp: commit.timestamp)
      last = LogPosition(
        in: header, offset: end.offset, chain: frame.head.checksum, commit: commit.number,
        timestamp: commit.timestamp, identity: commit.identity)
      tail.frames.append(
        .init(start: end, end: next, commit: commit.number, timestamp: commit.timestamp))
    }
    proven = max(proven, frame.head.synced)
    tail.settle(&self)
    lastKind = frame.head.kind
    end = next
  }
}

/// The commits read so far that no later frame proves to have been synced.
private struct DoubtfulFrames {
  struct Frame {
    var start: ChainPosition
    var end: ChainPosition
    var commit: CommitNumber
    var timestamp: Timestamp
  }
  var frames: [Frame] = []
  private var index = 0

  init() {}

  /// Moves the commits before `proven` to the proven ones.
  mutating func settle(_ scan: inout SegmentScan) {
    while index < frames.count, frames[index].end.offset <= scan.proven {
      scan.provenCommit = frames[index].commit
      scan.provenTimestamp = frames[index].timestamp
      index += 1
    }
    scan.doubtful = index < frames.count ? frames[index].start : scan.end
    if index > 4096 || index == frames.count {
      frames.removeFirst(index)
      index = 0
    }
  }
}
