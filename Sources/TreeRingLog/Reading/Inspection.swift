// Inspects segments without trusting or changing them: `treering frames` prints the frames of a
// file, `treering verify` the faults of a log. After a damaged range, reading continues at the next
// sound header of the same segment.

internal import Logging

/// Describes each piece of a segment file in order: sound frames, damaged ranges, zeros at the end.
/// Decodes every payload and value. Never stops at damage. O(bytes of the file).
///
/// - Throws: `io`, `notFound`, or the error of a failed read.
package func dumpSegment(
  file path: String, fileSystem: any FileSystem, _ body: (FrameDescription) -> Void
) throws(TreeRingError) {
  let file = try fileSystem.open(path, .readOnly)
  var dump = try SegmentDump(file)
  while let piece = try dump.next() { body(piece) }
}

/// Finds every fault of the log in a folder. A torn tail of the last segment is no fault. Modifies
/// nothing. O(bytes of the log).
///
/// - Parameters:
///   - through: the last commit to check in a log that is being written; nil for all.
///   - failed: called with an error that prevented the inspection but is no fault of the log: lack
///     of memory, descriptors or rights. If nil, such an error is reported as a finding.
///   - progress: called after each piece with the number of bytes inspected so far.
package func verifyLog(
  directory: String, fileSystem: any FileSystem, through: CommitNumber? = nil,
  failed: ((TreeRingError) -> Void)? = nil, progress: (UInt64) -> Void = { _ in }
) -> [StoreFinding] {
  var findings: [StoreFinding] = []
  var done: UInt64 = 0
  func note(_ error: TreeRingError, _ path: String) {
    if let failed, !error.isFinding { return failed(error) }
    let finding = StoreFinding(
      file: error.file ?? path, offset: error.offset ?? 0, commit: error.commit,
      problem: error.message)
    let isKnown = findings.contains {
      $0.file == finding.file && $0.offset == finding.offset
    }
    if !isKnown { findings.append(finding) }
  }
  do throws(TreeRingError) {
    var files = LogFiles(try fileSystem.list(directory))
    if let through { files.removeSegments(after: through) }
    for (index, name) in files.names.enumerated() {
      let next = index + 1 < files.names.count ? files.names[index + 1] : nil
      let before = done
      do throws(TreeRingError) {
        findings += try SegmentDump.findings(
          name, next: next, directory, fileSystem, through: through
        ) { end in
          done = before + end
          progress(done)
        }
      } catch { note(error, "\(directory)/\(name.fileName)") }
    }
    // Finds faults between segments: gaps, files of other stores.
    var options = LogOptions(access: .readOnly)
    options.logger.logLevel = .critical
    options.through = through
    var recovery = Recovery(directory: directory, fileSystem: fileSystem, options: options)
    _ = try recovery.run()
  } catch { note(error, directory) }
  return findings
}

/// A walk over one segment.
struct SegmentDump {
  private let reader: SegmentReader
  private let decoder: Decoder
  private var search: HeaderSearch
  private var offset: UInt64 = 0
  private var salt: UInt64?
  /// The checksum of the sound frame directly before; nil after damage.
  private var previous: UInt32?

  init(_ file: any File) throws(TreeRingError) {
    reader = SegmentReader(file: file, end: try file.size())
    decoder = try Decoder()
    search = HeaderSearch(reader)
    previous = 0
  }

  /// The next piece; nil at the end of the file.
  mutating func next() throws(TreeRingError) -> FrameDescription? {
    guard offset < reader.end else { return nil }
    let start = offset
    let flaw: String
    switch try reader.header(at: start) {
    case .failure(let found): flaw = found.problem
    case .success(let (head, _)):
      if let salt, head.salt != salt {
        flaw = FrameFlaw.misplaced.problem
      } else {
        return try describe(head)
      }
    }
    if try Tail.isZero(reader, from: start) {
      offset = reader.end
      return FrameDescription(offset: start, length: reader.end - start, state: .zeroTail)
    }
    search.salt = salt
    offset = try search.next(from: start + 1)?.offset ?? reader.end
    previous = nil
    return FrameDescription(
      offset: start, length: offset - start, state: .damaged, problem: flaw)
  }

  private mutating func describe(_ head: FrameHead) throws(TreeRingError) -> FrameDescription {
    salt = head.salt
    var piece = FrameDescription(
      offset: offset, length: UInt64(head.byteCount), checksum: head.checksum,
      state: previous == head.previousChecksum ? .commit : .unlinked, synced: head.synced)
    let isLinked = piece.state != .unlinked
    if !isLinked { piece.problem = FrameFlaw.outOfOrder.problem }
    let bytes = try reader.bytes(at: offset, count: head.byteCount)
    switch head.kind {
    case .segmentHeader:
      if isLinked { piece.state = .segmentHeader }
      piece.commit = bytes.number(UInt64.self, at: Format.Segment.firstCommit)
    case .mark: if isLinked { piece.state = .mark }
    case .directory: if isLinked { piece.state = .directory }
    case .commit: try describe(CommitFields(bytes), head, &piece)
    }
    offset += piece.length
    previous = piece.state == .damaged ? nil : head.checksum
    return piece
  }

  private func describe(
    _ fields: CommitFields, _ head: FrameHead, _ piece: inout FrameDescription
  ) throws(TreeRingError) {
    piece.commit = fields.number
    piece.timestamp = fields.timestamp
    piece.operationCount = fields.operationCount
    piece.payloadByteCount = fields.payloadPlain
    piece.valueCount = UInt32(fields.valueCount)
    guard
      let whole = fields.frameByteCount(
        headerByteCount: head.byteCount, remaining: reader.end - offset)
    else {
      piece.state = .damaged
      piece.problem = "the frame is longer than the file"
      return
    }
    if let problem = try contentProblem(fields, head) {
      piece.state = .damaged
      piece.problem = problem
    }
    piece.length = whole
  }

  /// The fault in the payload or the values; nil if there is none.
  private func contentProblem(
    _ fields: CommitFields, _ head: FrameHead
  ) throws(TreeRingError) -> String? {
    let header = try reader.bytes(at: offset, count: head.byteCount)
    let entries = ValueEntry.table(of: header)
    var at = offset + UInt64(head.byteCount)
    let payload = try reader.bytes(at: at, count: Int(fields.payloadStored))
    guard crc32c(payload) == fields.payloadChecksum else {
      return "the payload's checksum is wrong"
    }
    guard decoder.decode(payload, byteCount: Int(fields.payloadPlain)) != nil else {
      return "the payload does not decode"
    }
    at += fields.payloadStored
    for entry in entries {
      let value = try reader.bytes(at: at, count: Int(entry.stored))
      guard crc32c(value) == entry.checksum else {
        return "the checksum of the value of operation \(entry.operation) is wrong"
      }
      guard decoder.decode(value, byteCount: Int(entry.plain)) != nil else {
        return "the value of operation \(entry.operation) does not decode"
      }
      at += UInt64(entry.stored)
    }
    return nil
  }

  /// The faults inside one segment; `next` is the segment after it.
  static func findings(
    _ name: SegmentName, next: SegmentName?, _ directory: String, _ fileSystem: any FileSystem,
    through: CommitNumber?, progress: (_ end: UInt64) -> Void
  ) throws(TreeRingError) -> [StoreFinding] {
    let path = "\(directory)/\(name.fileName)"
    var findings: [StoreFinding] = []
    try dumpSegment(file: path, fileSystem: fileSystem) { piece in
      progress(piece.offset + piece.length)
      if let problem = piece.problem {
        findings.append(
          StoreFinding(file: path, offset: piece.offset, commit: piece.commit, problem: problem))
      }
    }
    guard !findings.isEmpty else { return [] }
    // A tail that recovery drops, or that it has copied to another segment, is no fault.
    let file = try fileSystem.open(path, .readOnly)
    let (header, head) = try SegmentScan.header(of: file, name: name)
    let start = ScanStart(after: header, head)
    let scan: SegmentScan
    let isTail: Bool
    if let next {
      let nextFile = try fileSystem.open("\(directory)/\(next.fileName)", .readOnly)
      let (nextHeader, _) = try SegmentScan.header(of: nextFile, name: next)
      guard nextHeader.origin == .recovery else { return findings }
      scan = try SegmentScan.scan(file, header, from: start, limit: next.firstCommit)
      isTail = scan.directory.lastCommit + 1 == next.firstCommit
    } else if header.isCompacted {
      // A compacted segment has no torn tail.
      return findings
    } else {
      scan = try SegmentScan.scan(file, header, from: start, through: through ?? .max)
      if let through {
        isTail = scan.directory.lastCommit >= through
      } else if case .torn = try Tail.judge(scan, file) {
        isTail = true
      } else {
        isTail = false
      }
    }
    return isTail ? findings.filter { $0.offset < scan.end.offset } : findings
  }
}
