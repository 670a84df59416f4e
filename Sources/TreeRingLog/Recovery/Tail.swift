// Judges the bytes after the last sound frame of the last segment.
//
// Unsynced writes reach the disk in any order. So sound frames may follow a bad one, and bytes of
// lost frames may lie anywhere. Three questions, in this order, give the verdict:
//
// 1. Are the bytes zeros? Then they are reserved room: a clean end.
// 2. Does any sound header of this segment, at its own offset after the bad one, state that the
//    file was synced beyond the bad offset? Then bytes that were once on the disk are wrong:
//    corruption.
// 3. Do the bytes differ from the expected mark or directory in only a few bytes, as no torn write
//    leaves them? Then a cleanly closed file was damaged: corruption. (No later frame proves that a
//    mark was synced, but all of its bytes are known in advance.)
//
// Otherwise it is a torn tail: commits that never returned, or returned without a sync.

enum Tail {
  /// Nothing, or zeros to the end of the file.
  case clean
  /// Bytes of commits that were never synced.
  case torn
  /// Synced bytes are wrong.
  case corrupt(String)

  /// Judges the bytes from `scan.end` on. O(bytes of the tail).
  static func judge(_ scan: SegmentScan, _ file: any File) throws(TreeRingError) -> Tail {
    let reader = SegmentReader(file: file, end: scan.fileSize)
    let start = scan.end.offset
    if try isZero(reader, from: start) { return .clean }
    let reason = scan.flaw?.problem ?? "the frame is wrong"
    var search = HeaderSearch(reader, salt: scan.header.salt, from: start)
    var offset = start + 1
    while let head = try search.next(from: offset) {
      if head.synced > start {
        return .corrupt(
          "\(reason), and the frame at offset \(head.offset) was written after this offset had "
            + "been synced")
      }
      offset = head.offset + 1
    }
    if search.isCutShort {
      return .corrupt(
        "\(reason), and more bytes after it look like headers than a torn write can leave")
    }
    var expected = [Mark.bytes(at: scan.end)]
    if scan.fileSize - start == UInt64(scan.directory.byteCount) {
      expected.append(try scan.directory.whole(file).bytes(at: scan.end))
    }
    for bytes in expected where scan.fileSize - start == UInt64(bytes.count) {
      let found = try reader.bytes(at: start, count: bytes.count)
      if isDamaged(found, expected: bytes, at: start) {
        return .corrupt("the last frame of a closed segment is damaged")
      }
    }
    return .torn
  }

  /// True if all bytes from `offset` on are zero.
  static func isZero(
    _ reader: SegmentReader, from offset: UInt64
  ) throws(TreeRingError) -> Bool {
    var offset = offset
    while offset < reader.end {
      let count = Int(min(1 << 20, reader.end - offset))
      guard try reader.bytes(at: offset, count: count).isZero else { return false }
      offset += UInt64(count)
    }
    return true
  }

  /// The next offset at or after `offset` at which a header may begin: the next occurrence of the
  /// magic number of our skippable frames.
  static func nextCandidate(
    _ reader: SegmentReader, from offset: UInt64
  ) throws(TreeRingError) -> UInt64? {
    var offset = offset
    while offset + UInt64(Format.Head.byteCount) <= reader.end {
      let count = Int(min(1 << 16, reader.end - offset))
      let bytes = try reader.bytes(at: offset, count: count)
      var index = 0
      while index + 4 <= count {
        if bytes.number(UInt32.self, at: index) == Format.skippableMagic {
          return offset + UInt64(index)
        }
        index += 1
      }
      offset += UInt64(count - 3)
    }
    return nil
  }

  /// True if `found` differs from `expected` in one to three bytes and is not a result that a write
  /// of `expected` over zeros can leave after a power failure.
  private static func isDamaged(
    _ found: UnsafeRawBufferPointer, expected: [UInt8], at offset: UInt64
  ) -> Bool {
    let differing = expected.indices.count { found[$0] != expected[$0] }
    return differing > 0 && differing <= 3 && !isTorn(found, expected: expected, at: offset)
  }

  /// True if, in each sector, `found` equals `expected` up to some byte and is zero after it, or
  /// the reverse.
  private static func isTorn(
    _ found: UnsafeRawBufferPointer, expected: [UInt8], at offset: UInt64
  ) -> Bool {
    var start = 0
    while start < expected.count {
      let sector = 512 - Int((offset + UInt64(start)) % 512)
      let piece = start..<min(start + sector, expected.count)
      let wrong = piece.filter { found[$0] != expected[$0] }
      if let first = wrong.first, let last = wrong.last {
        let endIsZero = (first..<piece.upperBound).allSatisfy { found[$0] == 0 }
        let startIsZero = (piece.lowerBound...last).allSatisfy { found[$0] == 0 }
        guard endIsZero || startIsZero else { return false }
      }
      start = piece.upperBound
    }
    return true
  }
}
