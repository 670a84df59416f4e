// One entry of a shared log. Byte map, little-endian:
//
//      0  4  magic number "TRSL"
//      4  1  version, 1
//      5  1  kind
//      6  2  zero
//      8  8  id of the store
//     16  8  id of the entry, random
//     24  8  id of the entry before; 0 for the first entry of a log
//     32  4  index of the part
//     36  4  number of parts
//     40  8  first commit: of the frames, or the one that comes next
//     48  8  last commit: of the frames, or the newest one
//     56  4  CRC-32C of the body
//     60  4  CRC-32C of the bytes before
//     64     body: frames of commits, or a part of them; the name of a leader; or nothing
//
// The ids chain the entries. Since each id is random, two logs that agree in one entry agree in all
// before it. A batch of commits larger than an entry takes several, its parts. Parts without the
// last one were left by a leader that lost the log meanwhile, and count for nothing.

internal import TreeRingLog

/// The meaning of an entry.
enum EntryKind: UInt8 {
  /// The first entry of a log: the store's id, and the commit after which the log begins.
  case beginning = 0
  /// Frames of commits that the leader has written.
  case commits = 1
  /// A replica has begun to lead.
  case leader = 2
}

/// The fields of an entry before its body.
struct EntryHeader: Hashable {
  var kind: EntryKind
  var storeID: UInt64
  var id: UInt64
  var previous: UInt64
  var part: UInt32 = 0
  var partCount: UInt32 = 1
  var first: CommitNumber
  var last: CommitNumber

  /// The newest commit after the entry: a part that is not the last of its batch adds none.
  var newest: CommitNumber { part + 1 == partCount ? last : first - 1 }

  static let byteCount = 64
  private static let magic: UInt32 = 0x4C53_5254
  private static let version: UInt8 = 1

  /// The entry of these fields with a body.
  func entry(_ body: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    bytes.reserveCapacity(Self.byteCount + body.count)
    bytes.withUnsafeMutableBytes { head in
      head.put(Self.magic, at: 0)
      head[4] = Self.version
      head[5] = kind.rawValue
      head.put(storeID, at: 8)
      head.put(id, at: 16)
      head.put(previous, at: 24)
      head.put(part, at: 32)
      head.put(partCount, at: 36)
      head.put(first, at: 40)
      head.put(last, at: 48)
      head.put(crc32c(body), at: 56)
      head.put(crc32c(UnsafeRawBufferPointer(head).part(0, 60)), at: 60)
    }
    bytes.append(contentsOf: body)
    return bytes
  }

  /// The fields of an entry, checked together with its body.
  /// - Parameter sequence: The entry's number, for errors.
  /// - Throws: `corruption`, `unsupportedFormat`.
  init(of entry: [UInt8], at sequence: UInt64) throws(TreeRingError) {
    guard let header = entry.withUnsafeBytes({ Self.decode($0) }) else {
      throw TreeRingError(
        .corruption,
        "Entry \(sequence) of the shared log is damaged, or not one of a store's log. Check the "
          + "log's name; begin a new log from a replica if its machines lost the entry.",
        offset: sequence)
    }
    guard let header else {
      throw TreeRingError(
        .unsupportedFormat,
        "Entry \(sequence) of the shared log was written by a newer version of TreeRing. Update it "
          + "here first.", offset: sequence)
    }
    self = header
  }

  init(
    kind: EntryKind, storeID: UInt64, id: UInt64, previous: UInt64, first: CommitNumber,
    last: CommitNumber
  ) {
    self.kind = kind
    self.storeID = storeID
    self.id = id
    self.previous = previous
    self.first = first
    self.last = last
  }

  /// Nil if the bytes are damaged; a nil header if they are of a later version.
  private static func decode(_ bytes: UnsafeRawBufferPointer) -> EntryHeader?? {
    guard bytes.count >= byteCount, bytes.number(UInt32.self, at: 0) == magic,
      bytes.number(UInt32.self, at: 60) == crc32c(bytes.part(0, 60)),
      bytes.number(UInt32.self, at: 56)
        == crc32c(bytes.part(byteCount, bytes.count - byteCount))
    else { return nil }
    guard bytes[4] == version, let kind = EntryKind(rawValue: bytes[5]) else { return .some(nil) }
    var header = EntryHeader(
      kind: kind, storeID: bytes.number(UInt64.self, at: 8), id: bytes.number(UInt64.self, at: 16),
      previous: bytes.number(UInt64.self, at: 24), first: bytes.number(UInt64.self, at: 40),
      last: bytes.number(UInt64.self, at: 48))
    header.part = bytes.number(UInt32.self, at: 32)
    header.partCount = bytes.number(UInt32.self, at: 36)
    guard header.first > 0, header.last >= header.first - 1, header.last < UInt64.max,
      header.part < header.partCount
    else { return nil }
    return header
  }
}

/// A place in a shared log: an entry, and its id.
struct LogPlace: Hashable {
  /// The number of the entry; 0 before the first.
  var sequence: UInt64
  /// Its id; nil if it is not known.
  var id: UInt64?
}
