// The four kinds of header: encoding and decoding. Byte maps: Format.swift.
//
// A header is accepted after these checks, in this order: it begins with our magic numbers; its
// length fits its kind and the available bytes; its checksum holds; its version and flags are
// known; it has the segment's salt, and its own offset. The writer checks a header in the same way
// before it writes it.

/// The reason why bytes are not an acceptable header.
enum FrameFlaw: Error, Hashable {
  /// Too few bytes, or wrong magic numbers.
  case notAHeader
  /// Its lengths contradict each other or reach beyond the file.
  case badLength
  case badChecksum
  /// Sound, but of another segment or another offset.
  case misplaced
  /// Sound, but not a valid successor of the frame before it.
  case outOfOrder
  /// Sound, but of a later version of the format.
  case unsupported(version: UInt8, flags: UInt32)

  var problem: String {
    switch self {
    case .notAHeader: "no header begins here"
    case .badLength: "the header's lengths do not fit together"
    case .badChecksum: "the header's checksum is wrong"
    case .misplaced: "the header belongs to another segment or offset"
    case .outOfOrder: "the frame does not follow the one before it"
    case .unsupported(let version, let flags):
      "the header is of format version \(version) with flags \(flags)"
    }
  }
}

/// The 48 bytes at the beginning of every header.
struct FrameHead: Hashable {
  var kind: Format.Kind
  /// The bytes of the whole header.
  var byteCount: Int
  var checksum: UInt32
  var previousChecksum: UInt32
  var salt: UInt64
  var offset: UInt64
  var synced: UInt64

  /// The length of the header at the beginning of `bytes`. `bytes` holds its first
  /// `Format.Commit.values` bytes, or the rest of the file if that is shorter; `remaining` is the
  /// length of that rest. The result is not verified, but lies within the file. A length over 64
  /// KiB also agrees with the header's own counts.
  static func byteCount(
    _ bytes: UnsafeRawBufferPointer, remaining: UInt64
  ) throws(FrameFlaw) -> Int {
    guard bytes.count >= Format.Head.byteCount,
      bytes.number(UInt32.self, at: Format.Head.skippableMagic) == Format.skippableMagic,
      bytes.number(UInt16.self, at: Format.Head.magic) == Format.magic
    else { throw .notAHeader }
    let length = UInt64(bytes.number(UInt32.self, at: Format.Head.skippableLength)) + 8
    guard length >= UInt64(Format.Head.byteCount), length <= remaining else { throw .badLength }
    if length > 1 << 16 {
      guard let kind = Format.Kind(rawValue: bytes[Format.Head.kind]),
        fits(bytes, kind, byteCount: length)
      else { throw .badLength }
    }
    return Int(length)
  }

  /// Checks a whole header and returns its head.
  static func decode(_ bytes: UnsafeRawBufferPointer) throws(FrameFlaw) -> FrameHead {
    let checksum = bytes.number(UInt32.self, at: Format.Head.checksum)
    guard checksum == self.checksum(of: bytes) else { throw .badChecksum }
    let version = bytes[Format.Head.version]
    let flags = bytes.number(UInt32.self, at: Format.Head.flags)
    guard version == Format.version, flags == 0,
      let kind = Format.Kind(rawValue: bytes[Format.Head.kind])
    else { throw .unsupported(version: version, flags: flags) }
    guard fits(bytes, kind, byteCount: UInt64(bytes.count)) else { throw .badLength }
    return FrameHead(
      kind: kind, byteCount: bytes.count, checksum: checksum,
      previousChecksum: bytes.number(UInt32.self, at: Format.Head.previousChecksum),
      salt: bytes.number(UInt64.self, at: Format.Head.salt),
      offset: bytes.number(UInt64.self, at: Format.Head.offset),
      synced: bytes.number(UInt64.self, at: Format.Head.synced))
  }

  /// True if a header of this kind and with these counts has this length.
  private static func fits(
    _ bytes: UnsafeRawBufferPointer, _ kind: Format.Kind, byteCount: UInt64
  ) -> Bool {
    switch kind {
    case .segmentHeader: return byteCount == Format.Segment.byteCount
    case .mark: return byteCount == Format.Mark.byteCount
    case .commit:
      guard bytes.count >= Format.Commit.values else { return false }
      let values = UInt64(bytes.number(UInt32.self, at: Format.Commit.valueCount))
      return byteCount
        == UInt64(Format.Commit.values) + values * UInt64(Format.Value.byteCount)
    case .directory:
      guard bytes.count >= Format.Directory.entries else { return false }
      let entries = UInt64(bytes.number(UInt32.self, at: Format.Directory.entryCount))
      return byteCount
        == UInt64(Format.Directory.entries + Format.Directory.trailerByteCount)
        + entries * UInt64(Format.Directory.entryByteCount)
    }
  }

  /// CRC-32C of a header without its checksum field.
  static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
    let after = Format.Head.checksum + 4
    let first = crc32c(bytes.part(0, Format.Head.checksum))
    return crc32c(bytes.part(after, bytes.count - after), seed: first)
  }

  /// Completes a header whose other fields are set: writes its head and returns its checksum.
  static func seal(
    _ bytes: UnsafeMutableRawBufferPointer, _ kind: Format.Kind, at position: ChainPosition,
    synced: UInt64
  ) -> UInt32 {
    bytes.put(Format.skippableMagic, at: Format.Head.skippableMagic)
    bytes.put(UInt32(bytes.count - 8), at: Format.Head.skippableLength)
    bytes.put(Format.magic, at: Format.Head.magic)
    bytes[Format.Head.version] = Format.version
    bytes[Format.Head.kind] = kind.rawValue
    bytes.put(position.checksum, at: Format.Head.previousChecksum)
    bytes.put(UInt32(0), at: Format.Head.flags)
    bytes.put(position.salt, at: Format.Head.salt)
    bytes.put(position.offset, at: Format.Head.offset)
    bytes.put(synced, at: Format.Head.synced)
    let checksum = checksum(of: UnsafeRawBufferPointer(bytes))
    bytes.put(checksum, at: Format.Head.checksum)
    assert((try? decode(UnsafeRawBufferPointer(bytes))) != nil, "a header must pass its own check")
    return checksum
  }
}

/// The fields of a segment header beyond its head.
struct SegmentHeader: Hashable {
  var salt: UInt64
  var storeID: UInt64
  var firstCommit: CommitNumber
  var lastCommit: CommitNumber = 0
  var horizon: CommitNumber = 0
  var generation: UInt32
  var origin: Format.Origin

  /// True if compaction wrote the segment: commits below its horizon may be missing.
  var isCompacted: Bool { lastCommit != 0 }

  /// True if a commit of this number may follow commit `before`, or start the segment if `before`
  /// is `firstCommit - 1`. No commit that compaction must keep may be missing in between.
  func admits(_ number: CommitNumber, after before: CommitNumber) -> Bool {
    guard isCompacted else { return number == before + 1 }
    return number > before && number <= max(before + 1, horizon) && number <= lastCommit
  }

  /// True if a sealed segment may end after commit `last`.
  func admitsEnd(after last: CommitNumber) -> Bool {
    !isCompacted || last == lastCommit || lastCommit < horizon
  }

  /// Appends the header, which must be the first in its segment, and returns its checksum.
  func append(to buffer: ByteBuffer) -> UInt32 {
    let bytes = buffer.grow(by: Format.Segment.byteCount)
    bytes.put(storeID, at: Format.Segment.storeID)
    bytes.put(firstCommit, at: Format.Segment.firstCommit)
    bytes.put(lastCommit, at: Format.Segment.lastCommit)
    bytes.put(horizon, at: Format.Segment.horizon)
    bytes.put(generation, at: Format.Segment.generation)
    bytes.put(origin.rawValue, at: Format.Segment.origin)
    let position = ChainPosition(salt: salt, offset: 0, checksum: 0)
    return FrameHead.seal(bytes, .segmentHeader, at: position, synced: 0)
  }
}

extension SegmentHeader {
  /// The fields of a checked header; nil for an origin that this version does not know.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard
      let origin = Format.Origin(rawValue: bytes.number(UInt32.self, at: Format.Segment.origin))
    else { return nil }
    self.init(
      salt: bytes.number(UInt64.self, at: Format.Head.salt),
      storeID: bytes.number(UInt64.self, at: Format.Segment.storeID),
      firstCommit: bytes.number(UInt64.self, at: Format.Segment.firstCommit),
      lastCommit: bytes.number(UInt64.self, at: Format.Segment.lastCommit),
      horizon: bytes.number(UInt64.self, at: Format.Segment.horizon),
      generation: bytes.number(UInt32.self, at: Format.Segment.generation), origin: origin)
  }
}

/// A mark: everything before it is synced.
enum Mark {
  /// Appends the mark that belongs at `position` and returns its checksum.
  static func append(to buffer: ByteBuffer, at position: ChainPosition) -> UInt32 {
    let bytes = buffer.grow(by: Format.Mark.byteCount)
    bytes.put(Format.ending, at: Format.Mark.ending)
    return FrameHead.seal(bytes, .mark, at: position, synced: position.offset)
  }

  /// Exactly the bytes that `append` writes at `position`.
  static func bytes(at position: ChainPosition) -> [UInt8] {
    let buffer = ByteBuffer()
    defer { withExtendedLifetime(buffer) {} }
    _ = append(to: buffer, at: position)
    return [UInt8](buffer.bytes)
  }
}

/// The position of the next header in a segment, and the values that it must contain.
struct ChainPosition: Hashable {
  var salt: UInt64
  var offset: UInt64
  /// The checksum of the previous header.
  var checksum: UInt32
}

/// The fields of a commit's header beyond its head. `ValueEntry` reads the value table.
struct CommitFields: Hashable {
  var number: CommitNumber
  var timestamp: Timestamp
  var payloadStored: UInt64
  var payloadPlain: UInt64
  var payloadChecksum: UInt32
  var operationCount: UInt32
  var valueCount: Int
  /// The CRC-32C of the header from the commit number on; unchanged in every copy of the commit.
  var identity: UInt32
  /// The bytes of all values' LZ4 frames.
  var valuesStored: UInt64

  /// The fields of a checked header.
  init(_ bytes: UnsafeRawBufferPointer) {
    number = bytes.number(UInt64.self, at: Format.Commit.number)
    timestamp = Timestamp(
      microseconds: bytes.number(Int64.self, at: Format.Commit.timestamp))
    payloadStored = bytes.number(UInt64.self, at: Format.Commit.payloadStored)
    payloadPlain = bytes.number(UInt64.self, at: Format.Commit.payloadPlain)
    payloadChecksum = bytes.number(UInt32.self, at: Format.Commit.payloadChecksum)
    operationCount = bytes.number(UInt32.self, at: Format.Commit.operationCount)
    valueCount = Int(bytes.number(UInt32.self, at: Format.Commit.valueCount))
    identity = crc32c(bytes.part(Format.Commit.number, bytes.count - Format.Commit.number))
    valuesStored = 0
    for index in 0..<valueCount { valuesStored += UInt64(ValueEntry(bytes, index).stored) }
  }

  /// The bytes of the whole frame; nil if its lengths are out of bounds. `remaining` is the number
  /// of bytes from the frame's start to the end of the file.
  func frameByteCount(headerByteCount: Int, remaining: UInt64) -> UInt64? {
    let header = UInt64(headerByteCount)
    guard payloadStored <= remaining, payloadPlain <= Format.largestPayload,
      payloadPlain / Format.largestRatio <= payloadStored
    else { return nil }
    let whole = header + payloadStored + valuesStored
    return whole <= remaining ? whole : nil
  }
}

/// One entry of a commit's value table.
struct ValueEntry: Hashable {
  var operation: UInt32
  var part: UInt32
  var stored: UInt32
  var plain: UInt32
  var checksum: UInt32

  func write(to header: UnsafeMutableRawBufferPointer, _ index: Int) {
    let at = Format.Commit.values + index * Format.Value.byteCount
    header.put(operation, at: at + Format.Value.operation)
    header.put(part, at: at + Format.Value.part)
    header.put(stored, at: at + Format.Value.stored)
    header.put(plain, at: at + Format.Value.plain)
    header.put(checksum, at: at + Format.Value.checksum)
  }
}

extension ValueEntry {
  /// The whole table in a checked commit header.
  static func table(of header: UnsafeRawBufferPointer) -> [ValueEntry] {
    let count = Int(header.number(UInt32.self, at: Format.Commit.valueCount))
    return (0..<count).map { ValueEntry(header, $0) }
  }

  /// Entry `index` of the table in a checked commit header.
  init(_ header: UnsafeRawBufferPointer, _ index: Int) {
    self.init(header, at: Format.Commit.values + index * Format.Value.byteCount)
  }

  /// The entry at an offset in checked bytes.
  init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    self.init(
      operation: bytes.number(UInt32.self, at: offset + Format.Value.operation),
      part: bytes.number(UInt32.self, at: offset + Format.Value.part),
      stored: bytes.number(UInt32.self, at: offset + Format.Value.stored),
      plain: bytes.number(UInt32.self, at: offset + Format.Value.plain),
      checksum: bytes.number(UInt32.self, at: offset + Format.Value.checksum))
  }
}

extension CommitHeader {
  /// The description of a commit whose frame lies at an offset of a file.
  init(
    _ fields: CommitFields, _ storedByteCount: UInt64, _ path: String, _ offset: UInt64
  ) {
    self.init(
      number: fields.number, timestamp: fields.timestamp, operationCount: fields.operationCount,
      payloadByteCount: fields.payloadPlain, storedByteCount: storedByteCount,
      valueCount: fields.valueCount, file: path, offset: offset, checksum: fields.identity)
  }
}
