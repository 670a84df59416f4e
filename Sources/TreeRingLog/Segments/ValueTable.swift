// An index of a commit's value table, to find one value among many. The checksum of the commit's
// header covers the table, so the table is used only after the whole header was checked. The index
// divides the table into blocks and keeps, for each block, its first entry's name, its first
// value's offset and its checksum. A lookup searches the index and reads one block, which it checks
// again. A very large table has larger blocks, so an index never exceeds about 100 KB.
//
// Entries are sorted by operation, the object before the metadata. In an unsorted table a lookup
// reads the blocks one after the other.

/// An index of a checked value table. Takes 24 bytes per 64 values.
struct ValueTable: Sendable {
  private struct Block: Sendable {
    /// The name of its first entry: the operation in the upper half, the part in the lower.
    var name: UInt64
    /// The offset of its first value's LZ4 frame, relative to the commit's frame.
    var valueOffset: UInt64
    var checksum: UInt32
  }

  /// A value's entry and the offset of its LZ4 frame, relative to the commit's frame.
  struct Found {
    var entry: ValueEntry
    var offset: UInt64
  }

  private let count: Int
  /// The number of entries in a block.
  private let blockEntryCount: Int
  private var blocks: [Block] = []
  private var isSorted = true

  /// Indexes the table of a checked header. O(values).
  init(_ header: UnsafeRawBufferPointer, _ fields: CommitFields) {
    count = fields.valueCount
    blockEntryCount = max(64, (count + 4095) / 4096)
    var offset = UInt64(header.count) + fields.payloadStored
    var previous: UInt64?
    for index in 0..<count {
      let entry = ValueEntry(header, index)
      let name = Self.name(entry.operation, entry.part)
      if index % blockEntryCount == 0 {
        let (at, byteCount) = range(ofBlock: index / blockEntryCount)
        blocks.append(
          Block(name: name, valueOffset: offset, checksum: crc32c(header.part(at, byteCount))))
      }
      if let previous, previous >= name { isSorted = false }
      previous = name
      offset += UInt64(entry.stored)
    }
  }

  /// The memory use in bytes.
  var byteCount: Int { MemoryLayout<Self>.size + blocks.count * MemoryLayout<Block>.stride }

  /// True if reading the table again costs more than reading one block.
  var isLarge: Bool { blocks.count > 1 }

  /// The entry of a value; nil if the commit has no value of that name. O(log n) if the table is
  /// sorted.
  ///
  /// - Parameter bytes: returns bytes of the commit's frame; offsets count from its start.
  /// - Returns: the entry or nil; a failure if a block has changed since the table was checked.
  func find(
    _ name: ValueName,
    _ bytes: (_ offset: UInt64, _ count: UInt64) throws(TreeRingError) -> UnsafeRawBufferPointer
  ) throws(TreeRingError) -> Result<Found?, FrameFlaw> {
    let name = Self.name(name.operation, name.part)
    for index in candidates(for: name) {
      let (at, byteCount) = range(ofBlock: index)
      let block = try bytes(UInt64(at), UInt64(byteCount))
      guard crc32c(block) == blocks[index].checksum else { return .failure(.badChecksum) }
      var offset = blocks[index].valueOffset
      for entryIndex in 0..<byteCount / Format.Value.byteCount {
        let entry = ValueEntry(block, at: entryIndex * Format.Value.byteCount)
        if Self.name(entry.operation, entry.part) == name {
          return .success(Found(entry: entry, offset: offset))
        }
        offset += UInt64(entry.stored)
      }
    }
    return .success(nil)
  }

  /// The blocks that may hold a value of that name.
  private func candidates(for name: UInt64) -> Range<Int> {
    guard isSorted else { return blocks.indices }
    let later = blocks.partitioningIndex { $0.name > name }
    return max(0, later - 1)..<later
  }

  private static func name(_ operation: UInt32, _ part: UInt32) -> UInt64 {
    UInt64(operation) << 32 | UInt64(part)
  }

  /// The position of a block's entries in the header.
  private func range(ofBlock index: Int) -> (offset: Int, byteCount: Int) {
    let first = index * blockEntryCount
    let entryCount = min(blockEntryCount, count - first)
    return (
      Format.Commit.values + first * Format.Value.byteCount,
      entryCount * Format.Value.byteCount
    )
  }
}
