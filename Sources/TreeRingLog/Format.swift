// Every constant of the log's format on disk. docs/format.md shows the same byte maps and a test
// compares the two. All numbers are little-endian and of fixed width.
//
// A segment is a sequence of LZ4 frames: a segment header, then commits and marks, and in a sealed
// segment a directory as its last frame. Our own headers lie in *skippable* LZ4 frames; payloads
// and logged values in standard ones, so `lz4 -t` checks a segment and `lz4 -dc` yields its data.

enum Format {
  /// The version this code writes, and the only one it reads.
  static let version: UInt8 = 1
  /// Marks a skippable LZ4 frame (any of 0x184D2A50...5F is one; ours is this).
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
    static let offset = 32  // u64, where this header begins in its file
    static let synced = 40  // u64, how far the file was synced when this header was built
    static let byteCount = 48
  }

  /// A segment header: always at offset 0, always synced before the file gets its name.
  enum Segment {
    static let storeID = 48  // u64
    static let firstCommit = 56  // u64, the first commit number this segment may hold
    static let lastCommit = 64  // u64, 0 unless compacted: the last number it covers
    static let horizon = 72  // u64, 0 unless compacted: the horizon it was compacted for
    static let generation = 80  // u32, the higher of two files with the same first commit counts
    static let origin = 84  // u32, see Origin
    static let byteCount = 88
  }

  /// Why a segment was begun.
  enum Origin: UInt32 {
    /// The one before was sealed, or there is none.
    case sealed = 0
    /// Recovery copied commits here from behind a doubtful tail; what the segment before holds at
    /// or above this one's first commit is superseded.
    case recovery = 1
  }

  /// A commit's header; the value table and then the LZ4 frames follow.
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

  /// An entry of the value table. Entries are in the order of their LZ4 frames.
  enum Value {
    static let operation = 0  // u32
    static let part = 4  // u32, 0 object, 1 metadata
    static let stored = 8  // u32, bytes of the value's LZ4 frame
    static let plain = 12  // u32, bytes of the value
    static let checksum = 16  // u32, CRC-32C of the value's LZ4 frame
    static let byteCount = 20
  }

  /// A mark: the head, then a constant without zeros, so that its end is told from zeros.
  enum Mark {
    static let ending = 48  // u64, `Format.ending`
    static let byteCount = 56
  }

  /// A directory: its entries, then its own offset, so that it is found from the end of the file.
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

  /// The file LOCK: what a store's writer tells its followers, in memory that they share. Nothing
  /// of it is ever synced or believed after a restart.
  enum SharedWord {
    static let magic = 0  // u64, `sharedMagic`
    static let incarnation = 8  // u64, random, another one for each opening for writing
    static let durable = 16  // u64, the newest durable commit + 1; 0 while the writer is opening
    static let byteCount = 4096
  }

  /// "TRSHARED".
  static let sharedMagic: UInt64 = 0x4445_5241_4853_5254

  /// Every how many commits the directory has an entry.
  static let directoryStride: UInt64 = 64

  /// Payloads and values are cut into LZ4 blocks of at most this many bytes.
  static let blockByteCount = 64 << 10
  /// LZ4 yields at most this many plain bytes from one stored byte.
  static let largestRatio: UInt64 = 255

  /// The largest logged value and the largest payload, in bytes.
  static let largestValue: UInt64 = 1 << 30
  static let largestPayload: UInt64 = 1 << 40

  /// Endings of file names: a segment, one not finished yet, one that mode `prefix` set aside.
  static let segmentSuffix = ".lz4"
  static let temporarySuffix = ".lz4.tmp"
  static let ignoredSuffix = ".lz4.ignored"
}
