// Searches for sound headers among arbitrary bytes: after a damaged range and in a torn tail.
//
// A candidate is a header only if the checksum over its stated length holds. Forged headers may
// overlap, each stating a length up to the end of the file, so that checking all of them would be
// quadratic. So the search first compares a candidate's salt and offset with those required. It
// also limits the bytes read for all candidates to a multiple of the bytes searched, which true
// headers do not reach.

/// Searches one segment. O(bytes searched) for all calls together.
struct HeaderSearch {
  private let reader: SegmentReader
  /// The segment's salt; nil if it is not known.
  var salt: UInt64?
  /// The number of header bytes that may still be read.
  private var remainingByteCount: UInt64

  /// - Parameter start: the offset at which the search begins.
  init(_ reader: SegmentReader, salt: UInt64? = nil, from start: UInt64 = 0) {
    self.reader = reader
    self.salt = salt
    remainingByteCount = (1 << 20) + 4 * (reader.end - min(start, reader.end))
  }

  /// True if the search reached its read limit and skipped candidates.
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
    guard count <= remainingByteCount else {
      isCutShort = true
      return nil
    }
    remainingByteCount -= count
    guard case .success(let (head, _)) = try reader.header(at: offset) else { return nil }
    return head
  }
}
