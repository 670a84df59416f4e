// The changes of a sorter in memory.

internal import TreeRingLog

/// Changes of rows, by the time of their addition. One thread at a time uses it.
final class ChangeBuffer {
  private let arena = ByteArena()
  @exclusivity(unchecked) private(set) var records: [SortRecord] = []

  static let blockHeaderByteCount = 8

  var isEmpty: Bool { records.isEmpty }

  /// The number of bytes of the changes and of what their sorting takes.
  var byteCount: Int { arena.byteCount + records.count * Self.sortByteCount }

  /// The number of bytes that sorting takes for a change, besides its record: its address twice,
  /// its key's place, and the sorter's item and index.
  private static let sortByteCount =
    2 * MemoryLayout<SortRecord>.stride + MemoryLayout<UnsafeRawBufferPointer>.stride + 24

  /// Adds a change, later than all others. O(size of the change).
  /// - Throws: `corruption` if no page could hold the row.
  func add(
    _ key: UnsafeRawBufferPointer, in bucket: UInt32, _ kind: OperationKind,
    _ fields: UnsafeRawBufferPointer, at stamp: Stamp
  ) throws(TreeRingError) {
    records.append(
      try SortRecord.make(key, in: bucket, kind, fields, at: stamp, in: arena))
  }

  /// Writes the changes as a run, sorted.
  /// - Throws: The error of the file. The changes stay in memory in any case.
  func writeRun(
    to file: any File, at start: UInt64, blockByteCount: Int
  ) throws(TreeRingError) -> ChangeSorter.Run {
    var end = start
    var longest = 0
    var block: [UInt8] = []
    block.reserveCapacity(blockByteCount + SortRecord.maxByteCount)
    func flush() throws(TreeRingError) {
      let body = block.count - Self.blockHeaderByteCount
      let checksum = block.withUnsafeBytes {
        crc32c(UnsafeRawBufferPointer(rebasing: $0[Self.blockHeaderByteCount...]))
      }
      block.withUnsafeMutableBytes { bytes in
        bytes.storeBytes(of: UInt32(body).littleEndian, as: UInt32.self)
        bytes.storeBytes(of: checksum.littleEndian, toByteOffset: 4, as: UInt32.self)
      }
      try file.write(block, at: end)
      end += UInt64(block.count)
      longest = max(longest, block.count)
      block.removeAll(keepingCapacity: true)
    }
    for record in Self.sorted(records) {
      if block.isEmpty { block.append(fixed64: 0) }
      block.append(contentsOf: record.all)
      if block.count >= blockByteCount { try flush() }
    }
    if !block.isEmpty { try flush() }
    return ChangeSorter.Run(range: start..<end, longestBlock: longest)
  }

  /// The records by row, those of a row in their order. O(n log n).
  static func sorted(_ records: [SortRecord]) -> [SortRecord] {
    KeySorter.order(of: records.map(\.key)).map { records[$0] }
  }

  /// Discards the changes. The memory is used again.
  func removeAll() {
    records.removeAll(keepingCapacity: true)
    arena.removeAll()
  }
}
