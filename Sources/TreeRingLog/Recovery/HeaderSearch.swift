// Searching for sound headers among arbitrary bytes: behind a damaged range and in a torn tail.
//
// Bytes that begin like a header are one only if the checksum over their stated length holds.
// Forged headers may overlap, each stating a length up to the end of the file. So the search first
// compares each candidate with the fields that a header of this segment at this offset must have.
// It also bounds the bytes read for all candidates by a multiple of the bytes searched: true
// headers at their own offsets hardly overlap.

/// Searches one segment. O(bytes searched) for all calls together.
struct HeaderSearch {
  private let reader: SegmentReader
  /// The segment's salt; nil if it is not known.
  var salt: UInt64?
  /// The number of header bytes that may still be read.
  private var rest: UInt64

  /// - Parameter start: the offset at which the search begins.
  init(_ reader: SegmentReader, salt: UInt64? = nil, from start: UInt64 = 0) {
    self.reader = reader
    self.salt = salt
    rest = (1 << 20) + 4 * (reader.end - min(start, reader.end))
  }

  /// Whether the search skipped candidates because its read limit was reached.
  private(set) var isCutShort = false

  /// The first sound header of the segment at or after `start`, at its own offset; nil if there is
  /// none.
  mutating func next(from start: UInt64) throws(TreeRingError) -> FrameHead? {
    var offset = start
    while let candidate = try Tail.nextCandidate(reader, from: offset) {
      if let head = try head(at: candidate) { return head }
      offset = candidate + 1
    }
    return nil
  }

  private mutating func head(at offset: UInt64) throws(TreeRingError) -> FrameHead? {
    guard reader.end - offset >= UInt64(Format.Head.byteCount) else { return nil }
    let fixed = try reader.bytes(
      at: offset, count: Int(min(reader.end - offset, UInt64(Format.Commit.values))))
    guard fixed.number(UInt64.self, at: Format.Head.offset) == offset,
      salt == nil || fixed.number(UInt64.self, at: Format.Head.salt) == salt
    else { return nil }
    let count = UInt64(fixed.number(UInt32.self, at: Format.Head.skippableLength)) + 8
    guard count <= reader.end - offset else { return nil }
    guard count <= rest else {
      isCutShort = true
      return nil
    }
    rest -= count
    guard case .success(let (head, _)) = try reader.header(at: offset) else { return nil }
    return head
  }
}
