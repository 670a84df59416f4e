// A walk over one segment file that damage does not stop. It yields the offsets of all commits
// whose header and payload are sound, and the damaged ranges.
//
// After a damaged range the walk continues at the next sound header: our skippable magic, a length
// that fits, a correct checksum over the whole header, the file's salt, and its own offset. The
// walk follows only the lengths of sound headers. If the content after such a header is damaged,
// the search resumes directly after the header. So a length alone never decides where the search
// continues.
//
// A sound header can still be forged. So a commit's number counts only if the segment can hold it:
// a compacted segment holds the numbers it covers; any other holds no more commits before an offset
// than the bytes before it have room for.

extension [UInt64: Int] {
  /// The number that occurs most often, by the numbers' counts; among several, the smallest.
  var mostFrequent: UInt64? { self.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key }
}

final class SegmentSurvey {
  /// A commit whose header and payload are sound.
  struct Commit {
    var number: CommitNumber
    var offset: UInt64
    var byteCount: UInt64
    var identity: UInt32
  }

  /// The kind of the end of the file.
  enum Ending {
    /// A mark: the log was closed there.
    case mark
    /// A directory: the segment was sealed.
    case directory
    /// A commit or zeros: no evidence that the log ended there.
    case open
    /// Bytes that are no frame.
    case damaged
  }

  let path: String
  /// The file's header; nil if it is not sound.
  private(set) var header: SegmentHeader?
  /// True if at least one header of the file is sound.
  var isReadable: Bool { salt != nil }
  private(set) var ending = Ending.open
  /// The newest commit that the file held according to a sound header, or to a damaged range
  /// between two frames; 0 if there is no such evidence.
  private(set) var reach: CommitNumber = 0
  /// True if an unknown number of commits after the last sound one is damaged.
  private(set) var hasUncountedCommits = false
  /// In order of offset and of number: a number that goes back counts as damage.
  private(set) var commits: [Commit] = []
  private(set) var damage: [DamagedRange] = []
  private let reader: SegmentReader
  private let decoder: Decoder
  private var salt: UInt64?
  /// The start of a damaged range that is not recorded yet.
  private var damagedFrom: UInt64?
  private var problem = ""
  private var isSealed = false
  /// The end of the last commit with damaged content, according to its sound header.
  private var damagedUntil: UInt64?
  private let name: SegmentName

  /// Walks over the file.
  ///
  /// - Parameters:
  ///   - name: the name according to the file name; used only until a sound header states it.
  ///   - decoder: free for other use after the return.
  init(file: any File, name: SegmentName, decoder: Decoder) throws(TreeRingError) {
    path = file.path
    self.name = name
    let zeroFilling = ZeroFillingFile(file)
    reader = SegmentReader(file: zeroFilling, end: try file.size())
    self.decoder = decoder
    salt = try findSalt()
    if salt == nil {
      note(from: 0, to: reader.end, "no part of it is readable")
    } else {
      try walk()
    }
    for range in zeroFilling.unreadable {
      note(from: range.lowerBound, to: range.upperBound, "the device cannot read it")
    }
  }

  /// True if no damage was found.
  var isSound: Bool { header != nil && damage.isEmpty }

  /// True if there is no damage and nothing can be missing, because the segment was sealed.
  var isWhole: Bool { isSound && ending == .directory }

  /// The commits that compaction may have removed according to the header, except those that a
  /// damaged range may have held.
  var removedCommits: RangeSet<CommitNumber> {
    guard let header, header.isCompacted, header.horizon > header.firstCommit else {
      return RangeSet()
    }
    let end = min(header.lastCommit + 1, header.horizon)
    var removed = RangeSet(header.firstCommit..<end)
    for damaged in damage.compactMap(\.commits) { removed.remove(contentsOf: Range(damaged)) }
    return removed
  }

  // MARK: Walking

  /// The segment header's salt if that header is sound, otherwise the most frequent salt of sound
  /// headers.
  private func findSalt() throws(TreeRingError) -> UInt64? {
    var counts: [UInt64: Int] = [:]
    var from: UInt64 = 0
    while let candidate = try Tail.nextCandidate(reader, from: from) {
      from = candidate + 1
      guard case .success(let (head, bytes)) = try reader.header(at: candidate) else { continue }
      if candidate == 0, head.kind == .segmentHeader {
        header = SegmentHeader(bytes).flatMap { $0.isPlausible ? $0 : nil }
        if header != nil { return head.salt }
      }
      counts[head.salt, default: 0] += 1
      from = candidate + UInt64(head.byteCount)
    }
    return counts.mostFrequent
  }

  private func walk() throws(TreeRingError) {
    var offset: UInt64 = 0
    while offset < reader.end {
      switch try reader.header(at: offset) {
      case .success(let (head, bytes)) where head.salt == salt:
        offset = try process(head, bytes, at: offset)
      case .success:
        offset = try resume(after: offset, FrameFlaw.misplaced.problem)
      case .failure(let flaw):
        offset = try resume(after: offset, flaw.problem)
      }
    }
    let last = header.flatMap { $0.isCompacted ? $0.lastCommit + 1 : nil }
    if damagedFrom != nil { ending = .damaged }
    endDamage(at: reader.end, before: isSealed ? nil : last)
    if let header { reach = max(reach, header.firstCommit - 1, header.lastCommit) }
    if header?.isCompacted == true, !isSealed, damage.isEmpty {
      note(from: reader.end, to: reader.end, "a compacted segment has lost its end", before: last)
    }
  }

  /// The next sound header after `offset`, which begins a damaged range.
  private func resume(after offset: UInt64, _ what: String) throws(TreeRingError) -> UInt64 {
    if damagedFrom == nil {
      // Reserved room is no damage.
      if try Tail.isZero(reader, from: offset), header?.isCompacted != true {
        ending = .open
        return reader.end
      }
      beginDamage(at: offset, what)
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

  /// Processes the frame whose header stands at `offset`; returns the offset at which to continue.
  private func process(
    _ head: FrameHead, _ bytes: UnsafeRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> UInt64 {
    let behindHeader = offset + UInt64(head.byteCount)
    isSealed = head.kind == .directory
    switch head.kind {
    case .segmentHeader:
      if header == nil { beginDamage(at: offset, "the segment's header states impossible numbers") }
      return behindHeader
    case .mark:
      noteUncounted(before: offset)
      endDamage(at: offset, before: nil)
      ending = .mark
      return behindHeader
    case .directory:
      let last = lastCommit(bytes, at: offset)
      reach = max(reach, last ?? 0)
      if last != nil { hasUncountedCommits = false }
      endDamage(at: offset, before: last.map { $0 + 1 })
      ending = .directory
      return behindHeader
    case .commit: break
    }
    ending = .open
    let fields = CommitFields(bytes)
    let entries = ValueEntry.table(of: bytes)
    guard isPlausible(fields.number, at: offset) else {
      beginDamage(at: offset, "the segment cannot hold a commit of that number there")
      return behindHeader
    }
    reach = max(reach, fields.number)
    let byteCount = fields.frameByteCount(
      headerByteCount: head.byteCount, remaining: reader.end - offset)
    damagedUntil = byteCount.map { offset + $0 }
    guard let whole = byteCount,
      try reader.checksum(at: behindHeader, count: fields.payloadStored)
        == fields.payloadChecksum,
      decoder.decode(
        try reader.bytes(at: behindHeader, count: Int(fields.payloadStored)),
        byteCount: Int(fields.payloadPlain)) != nil,
      fields.number > commits.last?.number ?? 0
    else {
      beginDamage(at: offset, "a commit's payload is damaged")
      return behindHeader
    }
    hasUncountedCommits = false
    endDamage(at: offset, before: fields.number)
    commits.append(
      Commit(number: fields.number, offset: offset, byteCount: whole, identity: fields.identity))
    try noteDamagedValues(entries, of: fields, at: behindHeader + fields.payloadStored)
    return offset + whole
  }

  /// The last commit according to a directory, or the last one covered if the segment is compacted.
  /// Nil if the segment cannot hold it.
  private func lastCommit(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64
  ) -> CommitNumber? {
    if let header, header.isCompacted { return header.lastCommit }
    let last = bytes.number(UInt64.self, at: Format.Directory.lastCommit)
    return last == firstCommit - 1 || isPlausible(last, at: offset) ? last : nil
  }

  /// The first commit that the segment may hold.
  private var firstCommit: CommitNumber { header?.firstCommit ?? name.firstCommit }

  /// True if the segment can hold a commit of this number before or at an offset.
  private func isPlausible(_ number: CommitNumber, at offset: UInt64) -> Bool {
    guard number >= firstCommit, number <= SegmentHeader.largestCommit else { return false }
    if let header, header.isCompacted { return number <= header.lastCommit }
    // Without its header, a file of a later generation may be compacted.
    if header == nil, name.generation > 0 { return true }
    return number - firstCommit <= offset / UInt64(Format.Commit.values)
  }

  private func beginDamage(at offset: UInt64, _ what: String) {
    guard damagedFrom == nil else { return }
    damagedFrom = offset
    problem = what
  }

  /// Records that an unknown number of commits before a mark is damaged: no later commit number
  /// counts them. A range that is not a whole number of marks held at least one commit.
  private func noteUncounted(before mark: UInt64) {
    guard let start = damagedFrom, damagedUntil != mark,
      mark - start >= UInt64(Format.Commit.values)
    else { return }
    hasUncountedCommits = true
    if (mark - start) % UInt64(Format.Mark.byteCount) != 0 {
      reach = max(reach, (commits.last?.number ?? firstCommit - 1) + 1)
    }
  }

  private func noteDamagedValues(
    _ entries: [ValueEntry], of fields: CommitFields, at start: UInt64
  ) throws(TreeRingError) {
    var at = start
    for entry in entries {
      if try value(entry, at: at) == nil {
        damage.append(
          DamagedRange(
            file: path, offset: at, byteCount: UInt64(entry.stored),
            commits: fields.number...fields.number,
            problem: "the value of operation \(entry.operation) is damaged"))
      }
      at += UInt64(entry.stored)
    }
  }

  private func endDamage(at offset: UInt64, before number: CommitNumber?) {
    guard let start = damagedFrom else { return }
    damagedFrom = nil
    note(from: start, to: offset, problem, before: number)
  }

  private func note(
    from start: UInt64, to end: UInt64, _ problem: String, before number: CommitNumber? = nil
  ) {
    let first = (commits.last?.number ?? firstCommit - 1) + 1
    let range = number.flatMap { $0 > first ? first...($0 - 1) : nil }
    damage.append(
      DamagedRange(
        file: path, offset: start, byteCount: end - start, commits: range, problem: problem))
  }

  // MARK: Reading

  /// Reads a commit that the walk found.
  func read<R>(
    _ commit: Commit,
    _ body: (CommitHeader, UnsafeRawBufferPointer, [ValueEntry]) throws -> R
  ) throws -> R {
    guard case .success(let (head, bytes)) = try reader.header(at: commit.offset) else {
      throw changed(commit)
    }
    let fields = CommitFields(bytes)
    let entries = ValueEntry.table(of: bytes)
    let stored = try reader.bytes(
      at: commit.offset + UInt64(head.byteCount), count: Int(fields.payloadStored))
    guard fields.number == commit.number,
      let plain = decoder.decode(stored, byteCount: Int(fields.payloadPlain))
    else { throw changed(commit) }
    let header = CommitHeader(fields, commit.byteCount, path, commit.offset)
    // A copy, because `body` may decode values while it reads the payload.
    let payload = [UInt8](plain)
    return try payload.withUnsafeBytes { try body(header, $0, entries) }
  }

  /// A value, checked and decoded; nil if it is damaged.
  func value(_ entry: ValueEntry, at offset: UInt64) throws(TreeRingError) -> [UInt8]? {
    decoder.value(try reader.bytes(at: offset, count: Int(entry.stored)), entry)
  }

  private func changed(_ commit: Commit) -> TreeRingError {
    .corruptLog(
      "a frame changed while it was read", file: path, offset: commit.offset,
      commit: commit.number)
  }
}
