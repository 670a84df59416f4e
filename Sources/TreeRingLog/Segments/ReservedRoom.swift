// Room that a segment's file has after its frames, so that syncs of frames need less work of the
// file system.
//
// - Reserved room spares it the change of the file's length.
// - The first write to a reserved block changes the file system's record of the file, which the
//   next sync waits for: about as long as for the bytes themselves, and often on a thread that must
//   wait for a processor. A write over zeros does not. So zeros are written ahead. Ahead of batches
//   that would begin a new block each, or nearly, all bytes are zeroed by one call, which is the
//   fastest. Ahead of smaller ones one byte of each block is: the file system fills the block, and
//   writes the whole of it with the next sync, as it does for each of the batches within it.
//
// docs/format.md, "Costs", has measurements.

/// The room after the frames of a file.
struct ReservedRoom {
  /// The end of the reserved room, and of the file.
  private(set) var end: UInt64
  /// The end of the file's frames when this began.
  private let start: UInt64
  /// The end of the frames, or of the zeros written after them.
  private var writtenEnd: UInt64
  /// False after the file system has refused to reserve room.
  private var isPossible = true

  /// No room after frames that end at `offset`, which is the file's end.
  init(after offset: UInt64) {
    end = offset
    start = offset
    writtenEnd = offset
  }

  /// The bytes of the largest batch that has zeros ahead, and of the smallest one that has all of
  /// them written.
  static let (largestBatch, smallestWholeBatch) = (256 << 10, 1 << 10)
  /// The usual size of a file system's block, in bytes. With smaller blocks some first writes would
  /// remain ahead of small batches.
  static let blockByteCount: UInt64 = 4096
  /// As many bytes as are zeroed at a time. Nor are there more than bytes of frames since the file
  /// was opened or begun, so that a log with one commit does not write many.
  private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

  /// Makes room for a batch that will be synced. If the device is full, there is less room.
  /// - Parameter segmentSize: the bytes of a whole segment, beyond which no room is reserved.
  /// - Returns: the number of zeros written.
  mutating func prepare(
    _ file: any File, for batch: Range<UInt64>, segmentSize: UInt64
  ) throws(TreeRingError) -> UInt64 {
    do throws(TreeRingError) {
      try reserve(file, upTo: batch.upperBound, segmentSize: segmentSize)
      return try writeZeros(file, after: batch)
    } catch  where error.code == .noSpace {
      // The frames themselves may still fit.
      end = try file.size()
      return 0
    }
  }

  private mutating func reserve(
    _ file: any File, upTo needed: UInt64, segmentSize: UInt64
  ) throws(TreeRingError) {
    guard isPossible, needed > end else { return }
    let wanted = min(max(segmentSize, needed), needed + min(max(needed, 1 << 20), 16 << 20))
    isPossible = try file.allocate(wanted - end, at: end)
    if isPossible { end = wanted }
  }

  private mutating func writeZeros(
    _ file: any File, after batch: Range<UInt64>
  ) throws(TreeRingError) -> UInt64 {
    guard batch.count <= Self.largestBatch, batch.upperBound > writtenEnd, batch.upperBound < end,
      file.overwritesInPlace
    else { return 0 }
    let ahead = min(UInt64(Self.zeros.count), batch.upperBound - start)
    let zeroEnd = min(batch.upperBound + ahead, end)
    if batch.count >= Self.smallestWholeBatch {
      let count = zeroEnd - batch.upperBound
      try Self.writeZeros(Int(count), to: file, at: batch.upperBound)
      writtenEnd = zeroEnd
      return count
    }
    // The batch itself writes the block in which it ends.
    var blockEnd = ((batch.upperBound - 1) / Self.blockByteCount + 1) * Self.blockByteCount
    var blockCount: UInt64 = 0
    while blockEnd < zeroEnd {
      try Self.writeZeros(1, to: file, at: blockEnd)
      blockEnd += Self.blockByteCount
      blockCount += 1
    }
    writtenEnd = min(blockEnd, end)
    return blockCount
  }

  private static func writeZeros(
    _ count: Int, to file: any File, at offset: UInt64
  ) throws(TreeRingError) {
    try zeros.withUnsafeBytes { (zeros) throws(TreeRingError) in
      try file.write(UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: offset)
    }
  }

  /// Frames have been written up to `offset`.
  mutating func written(upTo offset: UInt64) {
    end = max(end, offset)
    writtenEnd = max(writtenEnd, offset)
  }
}
