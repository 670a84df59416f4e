// The sparse directory of a segment: where every 64th commit lies, with its timestamp. It grows in
// memory as commits are appended, is written when the segment is sealed, and is rebuilt by reading
// the segment where it is missing.
//
// In a compacted segment numbers may be missing, so there "every 64th" counts the commits there are,
// and what finds an entry is a search instead of a division.

/// Where some commits of one segment lie.
struct SegmentDirectory: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    var commit: CommitNumber
    var offset: UInt64
    var timestamp: Timestamp
  }

  let firstCommit: CommitNumber
  /// `firstCommit - 1` while there is none.
  private(set) var lastCommit: CommitNumber
  /// The timestamp of the last commit; 0 while there is none.
  private(set) var lastTimestamp = Timestamp(microseconds: 0)
  private(set) var entries: [Entry] = []
  /// True if commits may be missing between `firstCommit` and `lastCommit`.
  let isCompacted: Bool
  /// How many commits there are; counted only where numbers do not tell.
  private var count: UInt64 = 0

  init(firstCommit: CommitNumber) {
    self.firstCommit = firstCommit
    lastCommit = firstCommit - 1
    isCompacted = false
  }

  /// The empty directory of a segment with this header.
  init(of header: SegmentHeader) {
    firstCommit = header.firstCommit
    lastCommit = header.firstCommit - 1
    isCompacted = header.isCompacted
  }

  var isEmpty: Bool { lastCommit < firstCommit }

  /// Takes note of the commit after the last one.
  mutating func append(_ commit: CommitNumber, offset: UInt64, timestamp: Timestamp) {
    let index = isCompacted ? count : commit - firstCommit
    if isCompacted { count += 1 }
    if index % Format.directoryStride == 0 {
      entries.append(Entry(commit: commit, offset: offset, timestamp: timestamp))
    }
    lastCommit = commit
    lastTimestamp = timestamp
  }

  /// Forgets the commits after `commit`, whose timestamp is given.
  mutating func removeCommits(after commit: CommitNumber, timestamp: Timestamp) {
    while let last = entries.last, last.commit > commit { entries.removeLast() }
    lastCommit = commit
    lastTimestamp = timestamp
  }

  /// The nearest entry at or before a commit that the segment holds; nil if it certainly does not.
  /// O(1), and O(log n) in a compacted segment.
  func entry(atOrBefore commit: CommitNumber) -> Entry? {
    guard commit >= firstCommit, commit <= lastCommit else { return nil }
    if isCompacted {
      var (low, high) = (0, entries.count)
      while low < high {
        let middle = (low + high) / 2
        if entries[middle].commit <= commit { low = middle + 1 } else { high = middle }
      }
      return low == 0 ? nil : entries[low - 1]
    }
    let index = Int((commit - firstCommit) / Format.directoryStride)
    return index < entries.count ? entries[index] : nil
  }

  /// The last entry not after a moment; nil if all are. O(log n).
  func entry(atOrBefore timestamp: Timestamp) -> Entry? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].timestamp <= timestamp { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : entries[low - 1]
  }

  /// Appends the directory as the last frame of its segment and returns its checksum.
  func append(to buffer: ByteBuffer, at position: ChainPosition) -> UInt32 {
    let trailer = Format.Directory.entries + entries.count * Format.Directory.entryByteCount
    let bytes = buffer.room(for: trailer + Format.Directory.trailerByteCount)
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
    buffer.count += bytes.count
    return FrameHead.seal(
      bytes, .directory, previousChecksum: position.checksum, salt: position.salt,
      offset: position.offset, synced: position.offset)
  }

  /// Exactly the bytes that `append` writes at `position`, and nothing else.
  func bytes(at position: ChainPosition) -> [UInt8] {
    let buffer = ByteBuffer()
    _ = append(to: buffer, at: position)
    return [UInt8](buffer.bytes)
  }
}
