// The sparse directory of a segment: offset and timestamp of every 64th commit. It grows in memory
// as commits are appended, is written when the segment is sealed, and is rebuilt from the segment
// if it is missing.
//
// Opening does not read the commits before a trusted position. The first lookup loads their
// entries (DeferredEntries.swift).
//
// In a compacted segment numbers may be missing. There "every 64th" counts the present commits, and
// a lookup is a search instead of a division.

/// The offsets of some commits of one segment.
struct SegmentDirectory: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    var commit: CommitNumber
    var offset: UInt64
    var timestamp: Timestamp
  }

  let firstCommit: CommitNumber
  /// The last commit; `firstCommit - 1` if there is none.
  private(set) var lastCommit: CommitNumber
  /// The timestamp of the last commit; 0 if there is none.
  private(set) var lastTimestamp = Timestamp(microseconds: 0)
  /// All entries, or those after `deferred`.
  private(set) var entries: [Entry] = []
  /// The earlier entries, not loaded yet.
  private(set) var deferred: DeferredEntries?
  /// An additional entry for the trusted commit after which reading began. Never written to disk.
  private var anchor: Entry?
  /// True if commits may be missing between `firstCommit` and `lastCommit`.
  let isCompacted: Bool
  /// The number of commits; maintained only if the commit numbers do not give it.
  private var count: UInt64 = 0

  /// The empty directory of a segment with this header.
  init(of header: SegmentHeader) {
    firstCommit = header.firstCommit
    lastCommit = header.firstCommit - 1
    isCompacted = header.isCompacted
  }

  /// The directory of a sealed segment whose other frames were not read.
  init(
    of header: SegmentHeader, through last: CommitNumber, at: Timestamp, deferred: DeferredEntries
  ) {
    self.init(of: header)
    lastCommit = last
    lastTimestamp = at
    self.deferred = deferred
  }

  /// The directory of a segment that is read only after a commit. Not for compacted segments.
  init(of header: SegmentHeader, after position: LogPosition, deferred: DeferredEntries) {
    self.init(
      of: header, through: position.commit, at: position.timestamp, deferred: deferred)
    anchor = Entry(
      commit: position.commit, offset: position.offset, timestamp: position.timestamp)
  }

  var isEmpty: Bool { lastCommit < firstCommit }

  /// The number of entries on disk.
  private var entryCount: Int { (deferred?.count ?? 0) + entries.count }

  /// The length of the directory on disk in bytes.
  var byteCount: Int {
    Format.Directory.entries + entryCount * Format.Directory.entryByteCount
      + Format.Directory.trailerByteCount
  }

  /// Adds the deferred entries, which have been loaded.
  mutating func complete(with deferred: [Entry]) {
    entries = deferred + entries
    self.deferred = nil
    anchor = nil
  }

  /// Checks the directory whose summary opening used. Before that not even the last commit of a
  /// compacted segment is reliable. The first call reads the whole directory from `file`, the
  /// segment's file.
  func check(_ file: any File) throws(TreeRingError) { _ = try deferred?.entries(file) }

  /// The directory with all entries loaded, if necessary from `file`, the segment's file.
  func whole(_ file: any File) throws(TreeRingError) -> SegmentDirectory {
    guard let deferred else { return self }
    var whole = self
    whole.complete(with: try deferred.entries(file))
    return whole
  }

  /// Adds the commit after the last one.
  mutating func append(_ commit: CommitNumber, offset: UInt64, timestamp: Timestamp) {
    let index = isCompacted ? count : commit - firstCommit
    if isCompacted { count += 1 }
    if index % Format.directoryStride == 0 {
      entries.append(Entry(commit: commit, offset: offset, timestamp: timestamp))
    }
    lastCommit = commit
    lastTimestamp = timestamp
  }

  /// Removes the commits after `commit`; `timestamp` is that of `commit`.
  mutating func removeCommits(after commit: CommitNumber, timestamp: Timestamp) {
    while let last = entries.last, last.commit > commit { entries.removeLast() }
    lastCommit = commit
    lastTimestamp = timestamp
  }

  /// The nearest entry at or before a commit that the segment holds; nil if it is not loaded.
  /// O(log n).
  func loadedEntry(atOrBefore commit: CommitNumber) -> Entry? {
    guard commit >= firstCommit, commit <= lastCommit else { return nil }
    return loadedEntry { $0.commit <= commit }
  }

  private func loadedEntry(_ isBefore: (Entry) -> Bool) -> Entry? {
    Self.last(of: entries, isBefore) ?? anchor.flatMap { isBefore($0) ? $0 : nil }
  }

  private func entry(
    _ file: any File, _ isBefore: (Entry) -> Bool
  ) throws(TreeRingError) -> Entry? {
    if let entry = loadedEntry(isBefore) { return entry }
    guard let deferred else { return nil }
    return Self.last(of: try deferred.entries(file), isBefore)
  }

  /// The last entry that satisfies a condition which all earlier entries satisfy too.
  private static func last(of entries: [Entry], _ isBefore: (Entry) -> Bool) -> Entry? {
    entries[..<entries.partitioningIndex { !isBefore($0) }].last
  }

  /// The nearest entry at or before a commit; nil if the segment certainly does not hold the
  /// commit. Loads missing entries from `file`, the segment's file.
  func entry(
    atOrBefore commit: CommitNumber, _ file: any File
  ) throws(TreeRingError) -> Entry? {
    guard commit >= firstCommit, commit <= lastCommit else { return nil }
    return try entry(file) { $0.commit <= commit }
  }

  /// The last entry not after `timestamp`; nil if all are later. Loads missing entries as above.
  func entry(
    atOrBefore timestamp: Timestamp, _ file: any File
  ) throws(TreeRingError) -> Entry? {
    try entry(file) { $0.timestamp <= timestamp }
  }

  /// The first entry; nil if the segment is empty. Loads missing entries as above.
  func firstEntry(_ file: any File) throws(TreeRingError) -> Entry? {
    if let deferred { return try deferred.entries(file).first }
    return entries.first
  }

  /// Appends the directory as the last frame of its segment and returns its checksum. All entries
  /// must be loaded.
  func append(to buffer: ByteBuffer, at position: ChainPosition) -> UInt32 {
    precondition(deferred == nil, "a directory must be whole to be written")
    let trailer = Format.Directory.entries + entries.count * Format.Directory.entryByteCount
    let bytes = buffer.grow(by: trailer + Format.Directory.trailerByteCount)
    bytes.put(firstCommit, at: Format.Directory.firstCommit)
    bytes.put(lastCommit, at: Format.Directory.lastCommit)
    bytes.put(lastTimestamp.microseconds, at: Format.Directory.lastTimestamp)
    bytes.put(UInt64(0), at: Format.Directory.reserved)
    bytes.put(UInt32(entries.count), at: Format.Directory.entryCount)
    bytes.put(UInt32(Format.directoryStride), at: Format.Directory.stride)
    for (index, entry) in entries.enumerated() {
      let at = Format.Directory.entries + index * Format.Directory.entryByteCount
      bytes.put(entry.commit, at: at + Format.Directory.entryCommit)
      bytes.put(entry.offset, at: at + Format.Directory.entryOffset)
      bytes.put(entry.timestamp.microseconds, at: at + Format.Directory.entryTimestamp)
    }
    bytes.put(position.offset, at: trailer)
    bytes.put(Format.ending, at: trailer + 8)
    return FrameHead.seal(bytes, .directory, at: position, synced: position.offset)
  }

  /// Exactly the bytes that `append` writes at `position`.
  func bytes(at position: ChainPosition) -> [UInt8] {
    let buffer = ByteBuffer()
    defer { withExtendedLifetime(buffer) {} }
    _ = append(to: buffer, at: position)
    return [UInt8](buffer.bytes)
  }
}
