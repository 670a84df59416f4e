// A lenient walk over one segment file, damaged or not: the places of all commits whose header and
// payload are sound, and the places where nothing is.
//
// Behind a damaged place the walk goes on at the next sound header: our skippable magic, a length
// that fits, the checksum over the whole header, the file's salt, and the offset it states. Only
// such a header's lengths are followed. If the content behind it is damaged, the search goes on
// right behind the header, so that a length is never what decides where to look next.

final class SegmentSurvey {
  /// A commit whose header and payload are sound.
  struct Commit {
    var number: CommitNumber
    var offset: UInt64
    var byteCount: UInt64
    var identity: UInt32
  }

  let path: String
  /// The file's header, if it is sound.
  private(set) var header: SegmentHeader?
  /// In order of offset, and of number: a number that goes back is damage.
  private(set) var commits: [Commit] = []
  private(set) var damage: [LostPart] = []
  private let reader: SegmentReader
  private let decoder: Decoder
  private var salt: UInt64?
  /// Where a damaged place begins that is not noted yet.
  private var damagedFrom: UInt64?
  private var problem = ""
  private var isSealed = false

  /// Walks over the file.
  ///
  /// - Parameter decoder: may be used again when this returns.
  init(file: any File, decoder: Decoder) throws(TreeRingError) {
    path = file.path
    let forgiving = ForgivingFile(file)
    reader = SegmentReader(file: forgiving, end: try file.size())
    self.decoder = decoder
    salt = try findSalt()
    if salt == nil {
      note(from: 0, to: reader.end, "no part of it is readable")
    } else {
      try walk()
    }
    for range in forgiving.unreadable {
      note(from: range.lowerBound, to: range.upperBound, "the device cannot read it")
    }
  }

  /// Of the commits that the header allows to be missing, those that compaction removed: all but
  /// the ones that may have been in a damaged place.
  var removedCommits: [ClosedRange<CommitNumber>] {
    guard let header, header.isCompacted, header.horizon > header.firstCommit else { return [] }
    var start = header.firstCommit
    let end = min(header.lastCommit, header.horizon - 1)
    var removed: [ClosedRange<CommitNumber>] = []
    for damaged in damage.compactMap(\.commits).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      guard start <= end, damaged.lowerBound <= end else { break }
      if damaged.lowerBound > start { removed.append(start...(damaged.lowerBound - 1)) }
      start = max(start, damaged.upperBound + 1)
    }
    if start <= end { removed.append(start...end) }
    return removed
  }

  // MARK: Walking

  /// The salt that most sound headers of the file agree on; the segment header's, if it is sound.
  private func findSalt() throws(TreeRingError) -> UInt64? {
    var counts: [UInt64: Int] = [:]
    var from: UInt64 = 0
    while let candidate = try Tail.nextCandidate(reader, from: from) {
      from = candidate + 1
      guard case .success(let (head, bytes)) = try reader.header(at: candidate) else { continue }
      if candidate == 0, head.kind == .segmentHeader {
        header = SegmentHeader(bytes)
        if header != nil { return head.salt }
      }
      counts[head.salt, default: 0] += 1
      from = candidate + UInt64(head.byteCount)
    }
    return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }

  private func walk() throws(TreeRingError) {
    var offset: UInt64 = 0
    while offset < reader.end {
      switch try reader.header(at: offset) {
      case .success(let (head, bytes)) where head.salt == salt:
        offset = try take(head, CommitFields(ifCommit: head, bytes), at: offset)
      case .success:
        offset = try resume(after: offset, FrameFlaw.misplaced.problem)
      case .failure(let flaw):
        offset = try resume(after: offset, flaw.problem)
      }
    }
    let last = header.flatMap { $0.isCompacted ? $0.lastCommit + 1 : nil }
    endDamage(at: reader.end, before: isSealed ? nil : last)
    if header?.isCompacted == true, !isSealed, damage.isEmpty {
      note(from: reader.end, to: reader.end, "a compacted segment has lost its end", before: last)
    }
  }

  /// Goes on at the next sound header behind `offset`, where there is none.
  private func resume(after offset: UInt64, _ what: String) throws(TreeRingError) -> UInt64 {
    if damagedFrom == nil {
      // Room reserved ahead is no damage.
      if try Tail.isZero(reader, from: offset), header?.isCompacted != true {
        return reader.end
      }
      damagedFrom = offset
      problem = what
    }
    var from = offset + 1
    while let candidate = try Tail.nextCandidate(reader, from: from) {
      if case .success(let (head, _)) = try reader.header(at: candidate), head.salt == salt {
        return candidate
      }
      from = candidate + 1
    }
    return reader.end
  }

  /// Takes the frame whose header stands at `offset`; returns where to go on.
  private func take(
    _ head: FrameHead, _ fields: CommitFields?, at offset: UInt64
  ) throws(TreeRingError) -> UInt64 {
    isSealed = head.kind == .directory
    guard head.kind == .commit else {
      endDamage(at: offset, before: isSealed ? try lastCommit(head, at: offset) + 1 : nil)
      return offset + UInt64(head.byteCount)
    }
    let behindHeader = offset + UInt64(head.byteCount)
    guard let fields,
      let whole = fields.frameByteCount(
        headerByteCount: head.byteCount, remaining: reader.end - offset),
      try reader.checksum(at: behindHeader, count: fields.payloadStored)
        == fields.payloadChecksum,
      decoder.decode(
        try reader.bytes(at: behindHeader, count: Int(fields.payloadStored)),
        byteCount: Int(fields.payloadPlain)) != nil,
      fields.number > commits.last?.number ?? 0
    else {
      if damagedFrom == nil {
        damagedFrom = offset
        problem = "a commit's payload is damaged"
      }
      return behindHeader
    }
    endDamage(at: offset, before: fields.number)
    commits.append(
      Commit(number: fields.number, offset: offset, byteCount: whole, identity: fields.identity))
    try noteDamagedValues(fields, head, at: offset)
    return offset + whole
  }

  /// The last commit that a directory names; in a compacted segment, that the segment covers.
  private func lastCommit(
    _ head: FrameHead, at offset: UInt64
  ) throws(TreeRingError) -> CommitNumber {
    if let header, header.isCompacted { return header.lastCommit }
    let bytes = try reader.bytes(at: offset, count: head.byteCount)
    return bytes.number(UInt64.self, at: Format.Directory.lastCommit)
  }

  private func noteDamagedValues(
    _ fields: CommitFields, _ head: FrameHead, at offset: UInt64
  ) throws(TreeRingError) {
    var at = offset + UInt64(head.byteCount) + fields.payloadStored
    for entry in try entries(head, fields, at: offset) {
      if try value(entry, at: at) == nil {
        damage.append(
          LostPart(
            file: path, offset: at, byteCount: UInt64(entry.stored),
            commits: fields.number...fields.number,
            problem: "the value of operation \(entry.operation) is damaged"))
      }
      at += UInt64(entry.stored)
    }
  }

  private func entries(
    _ head: FrameHead, _ fields: CommitFields, at offset: UInt64
  ) throws(TreeRingError) -> [ValueEntry] {
    let bytes = try reader.bytes(at: offset, count: head.byteCount)
    return (0..<fields.valueCount).map { ValueEntry(bytes, $0) }
  }

  private func endDamage(at offset: UInt64, before number: CommitNumber?) {
    guard let start = damagedFrom else { return }
    damagedFrom = nil
    note(from: start, to: offset, problem, before: number)
  }

  private func note(
    from start: UInt64, to end: UInt64, _ problem: String, before number: CommitNumber? = nil
  ) {
    let first = (commits.last?.number ?? (header?.firstCommit ?? 1) - 1) + 1
    var range: ClosedRange<CommitNumber>?
    if let number { if number > first { range = first...(number - 1) } }
    damage.append(
      LostPart(file: path, offset: start, byteCount: end - start, commits: range, problem: problem))
  }

  // MARK: Reading

  /// Reads a commit found before.
  func read<R>(
    _ commit: Commit,
    _ body: (CommitHeader, UnsafeRawBufferPointer, [ValueEntry]) throws -> R
  ) throws -> R {
    guard case .success(let (head, bytes)) = try reader.header(at: commit.offset) else {
      throw changed(commit)
    }
    let fields = CommitFields(bytes)
    let entries = (0..<fields.valueCount).map { ValueEntry(bytes, $0) }
    let stored = try reader.bytes(
      at: commit.offset + UInt64(head.byteCount), count: Int(fields.payloadStored))
    guard fields.number == commit.number,
      let plain = decoder.decode(stored, byteCount: Int(fields.payloadPlain))
    else { throw changed(commit) }
    let header = CommitLog.header(fields, commit.byteCount, path, commit.offset)
    // Values are decoded while the payload is looked at, so it needs memory of its own.
    let payload = [UInt8](plain)
    return try payload.withUnsafeBytes { try body(header, $0, entries) }
  }

  /// A value, checked and decoded; nil if it is damaged.
  func value(_ entry: ValueEntry, at offset: UInt64) throws(TreeRingError) -> [UInt8]? {
    let stored = try reader.bytes(at: offset, count: Int(entry.stored))
    guard crc32c(stored) == entry.checksum,
      let plain = decoder.decode(stored, byteCount: Int(entry.plain))
    else { return nil }
    return [UInt8](plain)
  }

  private func changed(_ commit: Commit) -> TreeRingError {
    .corruptLog(
      "a frame changed while it was read", file: path, offset: commit.offset,
      commit: commit.number)
  }
}

extension CommitFields {
  fileprivate init?(ifCommit head: FrameHead, _ bytes: UnsafeRawBufferPointer) {
    guard head.kind == .commit else { return nil }
    self.init(bytes)
  }
}
