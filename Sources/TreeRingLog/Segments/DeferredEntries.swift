// Directory entries that opening does not load because their commits precede a trusted position.
// The first lookup loads them:
//
// - for a sealed segment, from its directory, whose checksum covers every entry;
// - for a segment without a directory, by a walk over its headers. Each header is checked and must
//   follow the one before, and the walk must end at `lastCommit`.
//
// Opening reads only the summary of the directory: its fixed part, whose checksum it cannot check
// without the entries. The summary's last commit must precede the next segment's first.

internal import TreeRingPlatform

final class DeferredEntries: Hashable, Sendable {
  typealias Entry = SegmentDirectory.Entry

  enum Source: Hashable, Sendable {
    /// The segment's directory, which begins at this offset.
    case directory(offset: UInt64)
    /// The frames before this offset.
    case frames(end: UInt64)
  }

  let header: SegmentHeader
  let source: Source
  /// The last commit that the entries cover.
  let lastCommit: CommitNumber
  /// The number of entries.
  let count: Int
  private let loaded = Mutex<[Entry]?>(nil)

  init(
    of header: SegmentHeader, _ source: Source, through lastCommit: CommitNumber, count: Int
  ) {
    self.header = header
    self.source = source
    self.lastCommit = lastCommit
    self.count = count
  }

  /// The entries of the commits of a segment that is not compacted, up to `lastCommit`.
  convenience init(
    of header: SegmentHeader, framesBefore end: UInt64, through lastCommit: CommitNumber
  ) {
    let commits = lastCommit + 1 - header.firstCommit
    self.init(
      of: header, .frames(end: end), through: lastCommit,
      count: Int((commits + Format.directoryStride - 1) / Format.directoryStride))
  }

  /// The entries; the first call reads them from `file`, the segment's file.
  ///
  /// - Throws: `corruption` if they do not match the segment; `io`.
  func entries(_ file: any File) throws(TreeRingError) -> [Entry] {
    if let entries = loaded.withLock({ $0 }) { return entries }
    let entries: [Entry] =
      switch source {
      case .directory(let offset): try read(file, offset)
      case .frames(let end): try walk(file, end)
      }
    loaded.withLock { $0 = entries }
    return entries
  }

  static func == (a: DeferredEntries, b: DeferredEntries) -> Bool { a === b }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  private func read(_ file: any File, _ offset: UInt64) throws(TreeRingError) -> [Entry] {
    let reader = SegmentReader(file: file, end: try file.size(), chunk: 1)
    defer { withExtendedLifetime(reader) {} }
    guard offset < reader.end else {
      throw .corruptLog("a sealed segment has lost its directory", file: file.path, offset: offset)
    }
    switch try reader.header(at: offset) {
    case .failure(let flaw): throw .flaw(flaw, file: file.path, offset: offset)
    case .success(let (head, bytes)):
      guard head.kind == .directory, head.salt == header.salt,
        bytes.number(UInt64.self, at: Format.Directory.lastCommit) == lastCommit,
        let entries = SegmentDirectory.entries(bytes, of: header, before: offset),
        entries.count == count
      else {
        throw .corruptLog(
          "the directory does not match its summary", file: file.path, offset: offset)
      }
      return entries
    }
  }

  private func walk(_ file: any File, _ end: UInt64) throws(TreeRingError) -> [Entry] {
    let reader = SegmentReader(file: file, end: min(end, try file.size()))
    var directory = SegmentDirectory(of: header)
    var offset: UInt64 = 0
    var previous: UInt32 = 0
    while directory.lastCommit < lastCommit {
      // At the end of the file no header begins.
      let found = try reader.frame(at: offset, salt: header.salt, wholly: false)
      do throws(FrameFlaw) {
        let frame = try found.get()
        guard frame.head.previousChecksum == previous else { throw .outOfOrder }
        if let commit = frame.commit {
          guard header.admits(commit.number, after: directory.lastCommit) else { throw .outOfOrder }
          directory.append(commit.number, offset: offset, timestamp: commit.timestamp)
        }
        previous = frame.head.checksum
        offset += frame.byteCount
      } catch {
        throw .flaw(error, file: file.path, offset: offset, commit: directory.lastCommit + 1)
      }
    }
    return directory.entries
  }
}

extension SegmentDirectory {
  /// The fixed part of a sealed segment's directory; only its lengths and constants are checked.
  struct Summary {
    var offset: UInt64
    /// The end of the directory, and of the file.
    var end: UInt64
    var lastCommit: CommitNumber
    var lastTimestamp: Timestamp
    var entryCount: Int
  }

  /// Reads the summary of the directory at the end of a segment: two small reads. Nil if there is
  /// no directory.
  static func readSummary(
    _ file: any File, of header: SegmentHeader
  ) throws(TreeRingError) -> Summary? {
    let size = try file.size()
    let fixed = UInt64(Format.Directory.entries)
    let trailer = UInt64(Format.Directory.trailerByteCount)
    guard size >= UInt64(Format.Segment.byteCount) + fixed + trailer else { return nil }
    let reader = SegmentReader(file: file, end: size, chunk: 1)
    defer { withExtendedLifetime(reader) {} }
    let last = try reader.bytes(at: size - trailer, count: Int(trailer))
    let offset = last.number(UInt64.self, at: 0)
    guard last.number(UInt64.self, at: 8) == Format.ending, offset <= size - trailer - fixed,
      offset >= UInt64(Format.Segment.byteCount)
    else { return nil }
    let bytes = try reader.bytes(at: offset, count: Int(fixed))
    let count = bytes.number(UInt32.self, at: Format.Directory.entryCount)
    let whole = fixed + trailer + UInt64(count) * UInt64(Format.Directory.entryByteCount)
    guard bytes.number(UInt32.self, at: Format.Head.skippableMagic) == Format.skippableMagic,
      bytes.number(UInt16.self, at: Format.Head.magic) == Format.magic,
      bytes[Format.Head.version] == Format.version,
      bytes[Format.Head.kind] == Format.Kind.directory.rawValue,
      bytes.number(UInt64.self, at: Format.Head.salt) == header.salt,
      bytes.number(UInt64.self, at: Format.Head.offset) == offset,
      bytes.number(UInt64.self, at: Format.Head.synced) == offset,
      UInt64(bytes.number(UInt32.self, at: Format.Head.skippableLength)) + 8 == whole,
      whole == size - offset,
      bytes.number(UInt64.self, at: Format.Directory.firstCommit) == header.firstCommit
    else { return nil }
    return Summary(
      offset: offset, end: size,
      lastCommit: bytes.number(UInt64.self, at: Format.Directory.lastCommit),
      lastTimestamp: Timestamp(
        microseconds: bytes.number(Int64.self, at: Format.Directory.lastTimestamp)),
      entryCount: Int(count))
  }

  /// The entries of a checked directory that begins at `offset`; nil if they cannot be correct.
  static func entries(
    _ bytes: UnsafeRawBufferPointer, of header: SegmentHeader, before offset: UInt64
  ) -> [Entry]? {
    let last = bytes.number(UInt64.self, at: Format.Directory.lastCommit)
    var entries: [Entry] = []
    for index in 0..<Int(bytes.number(UInt32.self, at: Format.Directory.entryCount)) {
      let at = Format.Directory.entries + index * Format.Directory.entryByteCount
      let entry = Entry(
        commit: bytes.number(UInt64.self, at: at + Format.Directory.entryCommit),
        offset: bytes.number(UInt64.self, at: at + Format.Directory.entryOffset),
        timestamp: Timestamp(
          microseconds: bytes.number(Int64.self, at: at + Format.Directory.entryTimestamp)))
      let before = entries.last
      guard entry.commit >= header.firstCommit, entry.commit <= last, entry.offset < offset,
        // With dense numbers, the commit of each entry is known.
        header.isCompacted
          || entry.commit - header.firstCommit == UInt64(index) * Format.directoryStride,
        before.map({ $0.commit < entry.commit && $0.offset < entry.offset }) ?? true
      else { return nil }
      entries.append(entry)
    }
    return entries
  }
}
