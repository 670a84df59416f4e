// What the bytes behind the last sound frame of the last segment mean.
//
// Writes that were not synced reach the disk in any order, so a bad place may have sound frames
// behind it, and bytes of lost frames may lie anywhere. Three questions settle it:
//
// 1. Are they zeros? Then they are room reserved ahead: a clean end.
// 2. Is there, anywhere behind, a sound header of this segment at its own place that was built when
//    the bad place had been synced already? Then what was once on the disk is wrong now: corruption.
// 3. Are they the mark or directory that belongs here, but for a few bytes that no torn write can
//    have left? Then a cleanly closed file was damaged: corruption. (Nothing follows a mark that
//    could vouch for it; but all of its bytes are known beforehand.)
//
// Otherwise it is a torn tail: commits that never returned, or returned without being synced.

enum Tail {
  /// Nothing, or zeros to the end of the file.
  case clean
  /// Bytes of commits that were never synced.
  case torn
  /// Bytes that had been synced are wrong.
  case corrupt(String)

  /// Judges the bytes from `scan.end` on. O(bytes of the tail).
  static func judge(_ scan: SegmentScan, _ file: any File) throws(TreeRingError) -> Tail {
    let reader = SegmentReader(file: file, end: scan.fileSize)
    let start = scan.end.offset
    if try isZero(reader, from: start) { return .clean }
    if let offset = try proof(reader, scan) {
      return .corrupt(
        "\(scan.flaw?.problem ?? "the frame is wrong"), and the frame at offset \(offset) was "
          + "written after this place had been synced")
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

  /// The offset of a sound header of this segment that was built after `scan.end` had been synced.
  private static func proof(
    _ reader: SegmentReader, _ scan: SegmentScan
  ) throws(TreeRingError) -> UInt64? {
    var offset = scan.end.offset + 1
    while let candidate = try nextCandidate(reader, from: offset) {
      if case .success(let (head, _)) = try reader.header(at: candidate),
        head.salt == scan.header.salt, head.synced > scan.end.offset
      {
        return candidate
      }
      offset = candidate + 1
    }
    return nil
  }

  /// The next offset at or after `offset` where a header might begin: where the four bytes of our
  /// skippable frames stand.
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

  /// True if `found` is `expected` but for at most three bytes, and is not what a write of
  /// `expected` over zeros can leave behind when the power fails.
  private static func isDamaged(
    _ found: UnsafeRawBufferPointer, expected: [UInt8], at offset: UInt64
  ) -> Bool {
    let differing = expected.indices.count { found[$0] != expected[$0] }
    return differing > 0 && differing <= 3 && !isTorn(found, expected: expected, at: offset)
  }

  /// True if each sector's share of `found` is `expected` up to some byte and zeros from there on,
  /// or the other way round.
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
