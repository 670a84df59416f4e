// Reads frames of one segment through a window over the file: few large reads for a scan, one small
// read for a lookup. Every length from the file is checked before use, so the window never exceeds
// the rest of the file.

/// A frame that passed its checks.
struct ScannedFrame {
  var head: FrameHead
  /// The length of the whole frame in bytes, with payload and values.
  var byteCount: UInt64
  /// The fields of a commit; nil for other frames.
  var commit: CommitFields?
}

/// Reads one file. For one user at a time; not Sendable.
///
/// It owns the bytes that it returns. Optimised code releases a reader after its last use, so
/// whoever has made one extends its lifetime until the bytes are read.
final class SegmentReader {
  let file: any File
  /// The end of the readable part of the file.
  let end: UInt64
  private let chunk: Int
  private let window: ByteBuffer
  private var windowOffset: UInt64 = 0

  /// - Parameters:
  ///   - end: the number of bytes of the file that may be read; at most its size.
  ///   - chunk: the number of bytes to read ahead at a time.
  init(file: any File, end: UInt64, chunk: Int = 1 << 20, window: ByteBuffer = ByteBuffer()) {
    self.file = file
    self.end = end
    self.chunk = chunk
    self.window = window
    window.count = 0
  }

  /// The `count` bytes at `offset`, valid until the next call or the end of the reader. All must
  /// lie before `end`.
  func bytes(at offset: UInt64, count: Int) throws(TreeRingError) -> UnsafeRawBufferPointer {
    if offset >= windowOffset, offset - windowOffset <= UInt64(window.count),
      window.count - Int(offset - windowOffset) >= count
    {
      return window.bytes.part(Int(offset - windowOffset), count)
    }
    precondition(UInt64(count) <= end - offset, "a read must end before the end of the segment")
    let wanted = Int(min(UInt64(max(count, chunk)), end - offset))
    window.count = 0
    let room = window.room(for: wanted)
    windowOffset = offset
    window.count = try file.read(into: room, at: offset)
    guard window.count >= count else {
      throw TreeRingError(
        .corruption,
        "The segment is shorter than when the store was opened. Commits are missing. Restore a "
          + "backup, or copy the readable commits to a new store with `treering salvage`.",
        file: file.path, offset: offset + UInt64(window.count))
    }
    return window.bytes.part(0, count)
  }

  /// CRC-32C of `count` bytes, read a chunk at a time.
  func checksum(at offset: UInt64, count: UInt64) throws(TreeRingError) -> UInt32 {
    var crc: UInt32 = 0
    try forEachPiece(at: offset, count: count) { crc = crc32c($0, seed: crc) }
    return crc
  }

  /// Calls `body` with `count` bytes, a chunk at a time, valid until it returns.
  func forEachPiece(
    at offset: UInt64, count: UInt64, _ body: (UnsafeRawBufferPointer) throws(TreeRingError) -> Void
  ) throws(TreeRingError) {
    var done: UInt64 = 0
    while done < count {
      let piece = Int(min(count - done, UInt64(chunk)))
      try body(try bytes(at: offset + done, count: piece))
      done += UInt64(piece)
    }
  }

  /// The header at `offset`, checked except for its salt, and its bytes, which are valid until the
  /// next read or the end of the reader.
  func header(
    at offset: UInt64
  ) throws(TreeRingError) -> Result<(FrameHead, UnsafeRawBufferPointer), FrameFlaw> {
    let remaining = end - offset
    guard remaining >= UInt64(Format.Head.byteCount) else { return .failure(.notAHeader) }
    let fixed = try bytes(at: offset, count: Int(min(remaining, UInt64(Format.Commit.values))))
    let count: Int
    do throws(FrameFlaw) {
      count = try FrameHead.byteCount(fixed, remaining: remaining)
    } catch { return .failure(error) }
    let all = try bytes(at: offset, count: count)
    do throws(FrameFlaw) {
      let head = try FrameHead.decode(all)
      guard head.offset == offset else { return .failure(.misplaced) }
      return .success((head, all))
    } catch { return .failure(error) }
  }

  /// The frame at `offset` if it belongs to this segment. If `wholly`, the checksums of payload and
  /// values are checked too.
  func frame(
    at offset: UInt64, salt: UInt64, wholly: Bool
  ) throws(TreeRingError) -> Result<ScannedFrame, FrameFlaw> {
    let head: FrameHead
    let bytes: UnsafeRawBufferPointer
    switch try header(at: offset) {
    case .failure(let flaw): return .failure(flaw)
    case .success(let found): (head, bytes) = found
    }
    guard head.salt == salt else { return .failure(.misplaced) }
    guard head.kind == .commit else {
      return .success(ScannedFrame(head: head, byteCount: UInt64(head.byteCount), commit: nil))
    }
    let fields = CommitFields(bytes)
    guard
      let whole = fields.frameByteCount(
        headerByteCount: head.byteCount, remaining: end - offset)
    else { return .failure(.badLength) }
    if wholly {
      let entries = ValueEntry.table(of: bytes)
      var at = offset + UInt64(head.byteCount)
      guard try checksum(at: at, count: fields.payloadStored) == fields.payloadChecksum else {
        return .failure(.badChecksum)
      }
      at += fields.payloadStored
      for entry in entries {
        guard try checksum(at: at, count: UInt64(entry.stored)) == entry.checksum else {
          return .failure(.badChecksum)
        }
        at += UInt64(entry.stored)
      }
    }
    return .success(ScannedFrame(head: head, byteCount: whole, commit: fields))
  }

  /// The frame at `offset`, with its payload and values unchecked.
  ///
  /// - Parameter commit: the commit that an error names.
  /// - Throws: `corruption` if no frame of this segment begins there; `io`.
  func nextFrame(
    at offset: UInt64, salt: UInt64, commit: CommitNumber? = nil
  ) throws(TreeRingError) -> ScannedFrame {
    guard offset < end else {
      throw .corruptLog(
        "the segment ends too early", file: file.path, offset: offset, commit: commit)
    }
    switch try frame(at: offset, salt: salt, wholly: false) {
    case .success(let frame): return frame
    case .failure(let flaw): throw .flaw(flaw, file: file.path, offset: offset, commit: commit)
    }
  }
}
