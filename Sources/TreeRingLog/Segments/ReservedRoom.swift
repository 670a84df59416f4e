// Room that a segment's file has after its frames, so that syncs of frames need less work of the
// file system.
//
// - Reserved room spares it the change of the file's length.
// - The first write to a reserved block changes the file system's record of the file, which the
//   next sync waits for: about as long as for the bytes themselves, and often on a thread that must
//   wait for a processor. A write over zeros does not. Zeros double the bytes that the device
//   writes. So they are written only for batches that would begin a new block each, or nearly.
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

  /// The smallest batch, in bytes, for which zeros are written, and the largest.
  static let zeroedBatches = 1 << 10...256 << 10
  /// The largest number of zeros written at a time. Nor are there more than bytes of frames since
  /// the file was opened or begun, so that a log with one commit does not write many.
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
    guard Self.zeroedBatches.contains(batch.count), batch.upperBound > writtenEnd,
      batch.upperBound < end, file.overwritesInPlace
    else { return 0 }
    let count = min(
      UInt64(Self.zeros.count), batch.upperBound - start, end - batch.upperBound)
    try Self.zeros.withUnsafeBytes { (zeros) throws(TreeRingError) in
      let some = UnsafeRawBufferPointer(rebasing: zeros[..<Int(count)])
      try file.write(some, at: batch.upperBound)
    }
    writtenEnd = batch.upperBound + count
    return count
  }

  /// Frames have been written up to `offset`.
  mutating func written(upTo offset: UInt64) {
    end = max(end, offset)
    writtenEnd = max(writtenEnd, offset)
  }
}
