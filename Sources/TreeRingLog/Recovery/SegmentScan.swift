// One segment read from its start: every frame checked wholly, every link of the chain followed,
// until the end of the file or the first thing that is wrong.

/// What a segment holds up to its first flaw.
struct SegmentScan {
  var path: String
  var header: SegmentHeader
  /// Where every 64th sound commit lies.
  var directory: SegmentDirectory
  /// Where the first flaw is, or the end of the file; and what a frame there would refer to.
  var end: ChainPosition
  var fileSize: UInt64
  /// What is wrong at `end`; nil if the file ends there.
  var flaw: FrameFlaw?
  /// The end of the last frame that a sound frame or mark vouches for: it was synced.
  var proven: UInt64
  /// The newest commit before `proven`, its timestamp, and the chain behind it.
  var provenCommit: CommitNumber
  var provenTimestamp: Timestamp
  /// Where the first commit at or behind `proven` begins, and the chain there; equal to `end` if
  /// there is none.
  var doubtful: ChainPosition
  /// The kind of the last frame.
  var lastKind: Format.Kind
  /// True if scanning stopped at a commit that the next segment holds.
  var isSuperseded = false

  var hasDoubtfulCommits: Bool { provenCommit < directory.lastCommit }
  /// The last commit number the segment covers, there or compacted away.
  var lastCommit: CommitNumber {
    header.isCompacted ? header.lastCommit : directory.lastCommit
  }
}

extension SegmentScan {
  /// Reads the header that a file must begin with.
  static func header(
    of file: any File, name: SegmentName
  ) throws(TreeRingError) -> (SegmentHeader, FrameHead) {
    let size = try file.size()
    let reader = SegmentReader(file: file, end: size, chunk: Format.Segment.byteCount)
    switch try reader.header(at: 0) {
    case .failure(let flaw): throw .flaw(flaw, file: file.path, offset: 0)
    case .success(let (head, bytes)):
      guard head.kind == .segmentHeader, head.previousChecksum == 0, head.synced == 0 else {
        throw .corruptLog("the segment does not begin with its header", file: file.path, offset: 0)
      }
      guard let header = SegmentHeader(bytes), header.isCompacted || header.horizon == 0 else {
        throw TreeRingError(
          .unsupportedFormat, "The segment is of a kind this program does not know.",
          file: file.path, offset: 0)
      }
      guard header.firstCommit == name.firstCommit, header.generation == name.generation,
        header.firstCommit > 0, !header.isCompacted || header.lastCommit >= header.firstCommit
      else {
        throw .corruptLog(
          "the segment's header and its name differ", file: file.path, offset: 0)
      }
      return (header, head)
    }
  }

  /// Reads a segment whose header has been read. O(bytes of the file).
  ///
  /// - Parameter limit: the first commit that a later segment holds instead of this one.
  static func scan(
    _ file: any File, _ header: SegmentHeader, _ head: FrameHead, limit: CommitNumber?
  ) throws(TreeRingError) -> SegmentScan {
    let size = try file.size()
    let reader = SegmentReader(file: file, end: size)
    let start = ChainPosition(
      salt: header.salt, offset: UInt64(head.byteCount), checksum: head.checksum)
    var scan = SegmentScan(
      path: file.path, header: header,
      directory: SegmentDirectory(of: header), end: start, fileSize: size,
      proven: start.offset, provenCommit: header.firstCommit - 1,
      provenTimestamp: Timestamp(microseconds: 0), doubtful: start, lastKind: .segmentHeader)
    var tail = DoubtfulFrames()
    while scan.end.offset < size {
      let found = try reader.frame(at: scan.end.offset, salt: header.salt, wholly: true)
      do throws(FrameFlaw) {
        let frame = try found.get()
        if let limit, let commit = frame.commit, commit.number >= limit {
          scan.isSuperseded = true
          break
        }
        try scan.checkOrder(frame)
        if frame.head.kind == .directory { try scan.checkDirectory(reader, frame) }
        scan.take(frame, &tail)
      } catch {
        scan.flaw = error
        break
      }
    }
    tail.settle(&scan)
    return scan
  }

  /// Throws unless the frame is what must come next.
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

  /// Throws unless the directory on disk is the one that the commits before it give.
  private func checkDirectory(
    _ reader: SegmentReader, _ frame: ScannedFrame
  ) throws(FrameFlaw) {
    let expected = directory.bytes(at: end)
    guard expected.count == frame.head.byteCount, header.admitsEnd(after: directory.lastCommit),
      let bytes = try? reader.bytes(at: end.offset, count: expected.count),
      expected.withUnsafeBytes({ $0.elementsEqual(bytes) })
    else { throw .outOfOrder }
  }

  private mutating func take(_ frame: ScannedFrame, _ tail: inout DoubtfulFrames) {
    let next = ChainPosition(
      salt: end.salt, offset: end.offset + frame.byteCount, checksum: frame.head.checksum)
    if let commit = frame.commit {
      directory.append(commit.number, offset: end.offset, timestamp: commit.timestamp)
      tail.frames.append(
        .init(start: end, end: next, commit: commit.number, timestamp: commit.timestamp))
    }
    proven = max(proven, frame.head.synced)
    tail.settle(&self)
    lastKind = frame.head.kind
    end = next
  }
}

/// Commits read so far that no later frame vouches for yet.
private struct DoubtfulFrames {
  struct Frame {
    var start: ChainPosition
    var end: ChainPosition
    var commit: CommitNumber
    var timestamp: Timestamp
  }
  var frames: [Frame] = []
  private var index = 0

  /// Moves the commits before `proven` over to the proven ones.
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

  init() {}
}
