// Gives changed bytes of a log or a page file matching checksums, so that tests reach the code
// behind those checks. Byte maps: docs/format.md and docs/pages.md.

internal import TreeRing
internal import TreeRingLog

package enum ChecksumRepair {
  /// The fields that a repair sets in a log's headers.
  package enum Depth: Sendable {
    /// Checksums of headers, payloads and values.
    case checksums
    /// The checksums, and each header's salt, offset and previous checksum.
    case links
  }

  /// Repairs every header of a segment, and the checksums of its contents.
  package static func repairSegment(_ bytes: inout [UInt8], _ depth: Depth = .links) {
    guard bytes.count >= 88 else { return }
    let salt = number(8, at: 24, in: bytes)
    var (index, previous) = (0, UInt64(0))
    while let start = nextHeader(in: bytes, from: index) {
      let count = Int(number(4, at: start + 4, in: bytes)) + 8
      guard count >= 48, start + count <= bytes.count else {
        index = start + 1
        continue
      }
      if depth == .links {
        put(previous, 4, at: start + 16, in: &bytes)
        put(salt, 8, at: start + 24, in: &bytes)
        put(UInt64(start), 8, at: start + 32, in: &bytes)
      }
      if bytes[start + 11] == 2, count >= 92 { repairContents(start, count, in: &bytes) }
      let head = crc32c(Array(bytes[start..<start + 12]))
      previous = UInt64(crc32c(Array(bytes[start + 16..<start + count]), seed: head))
      put(previous, 4, at: start + 12, in: &bytes)
      index = start + count
    }
  }

  /// Sets the checksums of payload and values in a commit's header.
  private static func repairContents(_ start: Int, _ count: Int, in bytes: inout [UInt8]) {
    var content = start + count
    let stored = number(8, at: start + 64, in: bytes)
    guard stored <= UInt64(bytes.count - content) else { return }
    let payload = bytes[content..<content + Int(stored)]
    put(UInt64(crc32c(Array(payload))), 4, at: start + 80, in: &bytes)
    content += Int(stored)
    for entry in stride(from: start + 92, to: start + count - 19, by: 20) {
      let stored = Int(number(4, at: entry + 8, in: bytes))
      guard stored <= bytes.count - content else { return }
      put(
        UInt64(crc32c(Array(bytes[content..<content + stored]))), 4, at: entry + 16, in: &bytes)
      content += stored
    }
  }

  /// The index of the next bytes that begin like a header.
  package static func nextHeader(in bytes: [UInt8], from index: Int) -> Int? {
    var index = index
    while index + 48 <= bytes.count {
      if bytes[index] == 0x57, bytes[index + 1] == 0x2A, bytes[index + 2] == 0x4D,
        bytes[index + 3] == 0x18, bytes[index + 8] == 0x54, bytes[index + 9] == 0x52
      {
        return index
      }
      index += 1
    }
    return nil
  }

  /// Updates the positions in the metas of a page file to those that their commits now have in a
  /// segment. So a log with repaired checksums still matches its page file.
  package static func repairPositions(in pages: inout [UInt8], of segment: [UInt8]) {
    typealias Layout = PageFileLayout.Meta
    guard segment.count >= 88, nextHeader(in: segment, from: 0) == 0 else { return }
    for slot in 0..<min(2, pages.count / PageLayout.pageByteCount) {
      let meta = slot * PageLayout.pageByteCount
      let commit = number(8, at: meta + Layout.commitOffset, in: pages)
      guard number(8, at: meta, in: pages) == Layout.magic,
        let header = commitHeader(of: commit, in: segment)
      else { continue }
      let count = Int(number(4, at: header + 4, in: segment)) + 8
      let identity = crc32c(Array(segment[header + 48..<header + count]))
      put(number(8, at: 48, in: segment), 8, at: meta + Layout.storeIDOffset, in: &pages)
      put(number(8, at: 56, in: segment), 8, at: meta + Layout.segmentOffset, in: &pages)
      put(number(4, at: 80, in: segment), 4, at: meta + Layout.generationOffset, in: &pages)
      put(number(8, at: 24, in: segment), 8, at: meta + Layout.saltOffset, in: &pages)
      put(UInt64(header), 8, at: meta + Layout.logOffsetOffset, in: &pages)
      put(
        number(8, at: header + 56, in: segment), 8, at: meta + Layout.timestampOffset, in: &pages)
      put(number(4, at: header + 12, in: segment), 4, at: meta + Layout.chainOffset, in: &pages)
      put(UInt64(identity), 4, at: meta + Layout.identityOffset, in: &pages)
      repairSlot(slot, in: &pages)
    }
  }

  /// The index of a commit's header in a segment; nil unless the segment holds it whole.
  private static func commitHeader(of commit: UInt64, in segment: [UInt8]) -> Int? {
    var index = 0
    while let start = nextHeader(in: segment, from: index) {
      let count = Int(number(4, at: start + 4, in: segment)) + 8
      if segment[start + 11] == 2, count >= 92, start + count <= segment.count,
        number(8, at: start + 48, in: segment) == commit
      {
        return start
      }
      index = start + max(1, min(count, 48))
    }
    return nil
  }

  /// Repairs both metas and every page of a page file.
  package static func repairPages(_ bytes: inout [UInt8]) {
    for slot in 0..<bytes.count / PageLayout.pageByteCount { repairSlot(slot, in: &bytes) }
  }

  /// Repairs one slot of a page file: the checksum and the page's number.
  package static func repairSlot(_ slot: Int, in bytes: inout [UInt8]) {
    let start = slot * PageLayout.pageByteCount
    let end = start + PageLayout.pageByteCount
    guard end <= bytes.count, bytes[start..<end].contains(where: { $0 != 0 }) else { return }
    if slot < PageFileLayout.firstPageSlot {
      let place = start + PageFileLayout.Meta.checksumOffset
      let head = crc32c(Array(bytes[start..<place]))
      let sum = crc32c(Array(bytes[place + 4..<end]), seed: head)
      put(UInt64(sum), 4, at: place, in: &bytes)
    } else {
      put(UInt64(slot - 1), 4, at: start + PageLayout.numberOffset, in: &bytes)
      put(UInt64(crc32c(Array(bytes[start + 4..<end]))), 4, at: start, in: &bytes)
    }
  }

  package static func number(_ width: Int, at index: Int, in bytes: [UInt8]) -> UInt64 {
    (0..<width).reduce(0) { $0 | UInt64(bytes[index + $1]) << (8 * $1) }
  }

  package static func put(
    _ value: UInt64, _ width: Int, at index: Int, in bytes: inout [UInt8]
  ) {
    for byte in 0..<width { bytes[index + byte] = UInt8(truncatingIfNeeded: value >> (8 * byte)) }
  }
}
