// Every constant of the log's on-disk format. docs/format.md shows the same byte maps, and a test
// compares the two. All numbers are little-endian and of fixed width.
//
// A segment is a sequence of LZ4 frames: a segment header, then commits and marks, and in a sealed
// segment a directory as the last frame. Our headers are *skippable* LZ4 frames; payloads and
// logged values are standard ones. So `lz4 -t` checks a segment and `lz4 -dc` yields its data.

enum Format {
  /// The only version that this code writes and reads.
  static let version: UInt8 = 1
  /// The magic number of our skippable LZ4 frames (LZ4 allows 0x184D2A50...5F).
  static let skippableMagic: UInt32 = 0x184D_2A57
  /// "TR".
  static let magic: UInt16 = 0x5254

  /// The last eight bytes of marks and directories.
  static let ending: UInt64 = 0x6B2E_9AC7_E59B_6D37

  /// The kinds of header.
  enum Kind: UInt8 {
    case segmentHeader = 1
    case commit = 2
    case mark = 3
    case directory = 4
  }

  /// The first 48 bytes of every header, in every version.
  enum Head {
    static let skippableMagic = 0  // u32
    static let skippableLength = 4  // u32, bytes after this field
    static let magic = 8  // u16
    static let version = 10  // u8
    static let kind = 11  // u8
    static let checksum = 12  // u32, CRC-32C of the header without this field
    static let previousChecksum = 16  // u32, `checksum` of the header before; 0 in the first
    static let flags = 20  // u32, reserved, 0
    static let salt = 24  // u64, random, the same in the whole segment
    static let offset = 32  // u64, the offset of this header in its file
    static let synced = 40  // u64, synced length of the file when this header was built
    static let byteCount = 48
  }

  /// A segment header: always at offset 0, and always synced before the file gets its name.
  enum Segment {
    static let storeID = 48  // u64
    static let firstCommit = 56  // u64, the first commit number this segment may hold
    static let lastCommit = 64  // u64, 0 unless compacted: the last number it covers
    static let horizon = 72  // u64, 0 unless compacted: the horizon it was compacted for
    static let generation = 80  // u32, of files with the same first commit the highest is current
    static let origin = 84  // u32, see Origin
    static let byteCount = 88
  }

  /// The reason why a segment was begun.
  enum Origin: UInt32 {
    /// The previous segment was sealed, or there is none.
    case sealed = 0
    /// Recovery copied the doubtful commits of the previous segment to this one. The commits of the
    /// previous segment from this one's first on are superseded.
    case recovery = 1
  }

  /// A commit's header; the LZ4 frames follow it.
  enum Commit {
    static let number = 48  // u64
    static let timestamp = 56  // i64, microseconds since 1970-01-01T00:00:00Z
    static let payloadStored = 64  // u64, bytes of the payload's LZ4 frame
    static let payloadPlain = 72  // u64, bytes of the payload
    static let payloadChecksum = 80  // u32, CRC-32C of the payload's LZ4 frame
    static let operationCount = 84  // u32
    static let valueCount = 88  // u32, entries in the value table
    static let values = 92
  }

  /// An entry of the value table, in the order of the LZ4 frames.
  enum Value {
    static let operation = 0  // u32
    static let part = 4  // u32, 0 object, 1 metadata
    static let stored = 8  // u32, bytes of the value's LZ4 frame
    static let plain = 12  // u32, bytes of the value
    static let checksum = 16  // u32, CRC-32C of the value's LZ4 frame
    static let byteCount = 20
  }

  /// A mark: the head, then a constant without zeros, which distinguishes its end from zeros.
  enum Mark {
    static let ending = 48  // u64, `Format.ending`
    static let byteCount = 56
  }

  /// A directory: its entries, then its own offset, so that a reader can find it from the file's
  /// end.
  enum Directory {
    static let firstCommit = 48  // u64
    static let lastCommit = 56  // u64, firstCommit - 1 if the segment holds none
    static let lastTimestamp = 64  // i64
    static let reserved = 72  // u64, 0
    static let entryCount = 80  // u32
    static let stride = 84  // u32, a commit gets an entry if it is the first or stride ones after
    static let entries = 88
    static let entryByteCount = 24
    static let entryCommit = 0  // u64
    static let entryOffset = 8  // u64
    static let entryTimestamp = 16  // i64
    /// After the entries: u64 own offset, u64 `Format.ending`.
    static let trailerByteCount = 16
  }

  /// The file LOCK, in which a store's writer publishes its newest durable commit to followers. It
  /// is never synced, and followers ignore it unless a writer holds the lock.
  enum SharedWord {
    static let magic = 0  // u64, `sharedMagic`
    static let incarnation = 8  // u64, random, another one for each opening for writing
    static let durable = 16  // u64, the newest durable commit + 1; 0 while the writer is opening
    static let checksum = 24  // u32, CRC-32C of incarnation and durable
    static let endOffset = 28
    static let byteCount = 4096
  }

  /// "TRSHARED".
  static let sharedMagic: UInt64 = 0x4445_5241_4853_5254

  /// The number of commits for each directory entry.
  static let directoryStride: UInt64 = 64

  /// The largest LZ4 block of a payload or value, in bytes.
  static let blockByteCount = 64 << 10
  /// The maximum number of plain bytes that LZ4 yields from one stored byte.
  static let largestRatio: UInt64 = 255

  /// The largest logged value and the largest payload, in bytes.
  static let largestValue: UInt64 = 1 << 30
  static let largestPayload: UInt64 = 1 << 40

  /// Suffixes of file names: a segment, an unfinished segment, a segment set aside by mode
  /// `prefix`.
  static let segmentSuffix = ".lz4"
  static let temporarySuffix = ".lz4.tmp"
  static let ignoredSuffix = ".lz4.ignored"
}
