// Sorts many changes of rows by row, and those of one row by time, within bounded memory.
//
// The changes collect in memory. When they fill it, they are sorted and written to a file as a run.
// At the end all runs are merged with the rest in memory: each row's changes from all of them come
// together. So a replay edits the trees once, in key order, and makes each page once. A merge holds
// a block of every run, so the memory limits the number of runs too.
//
//   file   = run…
//   run    = block…, of records in order
//   block  = length u32 · CRC-32C u32 · record…
//   record = length u16 · key length u16 · key · kind 1 byte · commit · operation · change
//
// Commit and operation are LEB128, the other numbers little-endian; the change is that of a payload
// (RowChange+Coding.swift). The file has no name while it is in use, so a crash leaves nothing of
// it, and no other version ever reads it.

internal import TreeRingLog

/// A change of a row, and the operation that made it.
struct StampedChange {
  var stamp: Stamp
  var change: RowChange<StoredValue>
}

/// Collects changes of rows for `SortedChanges`. One thread at a time uses it.
final class ChangeSorter {
  /// Makes a file without a name, for runs.
  typealias MakeFile = () throws(TreeRingError) -> any File

  /// A run's place in the file.
  struct Run {
    var range: Range<UInt64>
    /// The length of its longest block, header included.
    var longestBlock: Int
  }

  /// The maximum number of bytes of changes in memory, and of the blocks of a merge.
  private let byteLimit: Int
  /// The number of record bytes from which on a block is written.
  private let blockByteCount: Int
  private let makeFile: MakeFile?
  private let arena = ByteArena()
  private var pending: [SortRecord] = []
  private var scratch: [UInt8] = []
  private(set) var file: (any File)?
  private(set) var runs: [Run] = []

  /// - Parameters:
  ///   - byteLimit: The maximum number of bytes of changes in memory. The blocks of a merge may
  ///     take as much again, and those of `minRunCount` runs in any case.
  ///   - makeFile: Makes the file for runs; nil if there can be none.
  init(byteLimit: Int, makeFile: MakeFile?) {
    self.byteLimit = byteLimit
    blockByteCount = min(max(4 << 10, byteLimit / 256), 64 << 10)
    self.makeFile = makeFile
  }

  /// Whether the changes in memory have reached the limit.
  var isFull: Bool { arena.byteCount + pending.count * Self.sortByteCount >= byteLimit }

  /// The number of bytes that sorting takes for a change, besides its record: its address twice,
  /// its key's place, and the sorter's item and index.
  private static let sortByteCount =
    2 * MemoryLayout<SortRecord>.stride + MemoryLayout<UnsafeRawBufferPointer>.stride + 24

  /// Whether a merge of one run more would stay within the limit.
  private var hasRoomForRun: Bool {
    let perRun = blockByteCount + SortRecord.maxByteCount + Self.blockHeaderByteCount
    return runs.count < max(Self.minRunCount, byteLimit / perRun)
  }

  /// The number of runs that are merged however low the limit is.
  static let minRunCount = 16

  /// Adds a change, later than all others. O(size of the change).
  /// - Throws: `corruption` if no page could hold the row.
  func add(
    _ key: UnsafeRawBufferPointer, in bucket: UInt32, _ change: RowChange<StoredValue>,
    at stamp: Stamp
  ) throws(TreeRingError) {
    scratch.removeAll(keepingCapacity: true)
    let keyByteCount = RowTreeKey.byteCount(of: key)
    scratch.append(fixed16: 0)
    scratch.append(fixed16: UInt16(truncatingIfNeeded: keyByteCount))
    scratch.append(ordered32: bucket)
    scratch.append(contentsOf: key)
    scratch.append(change.kind.rawValue)
    scratch.append(integer: stamp.commit)
    scratch.append(integer: UInt64(stamp.operation))
    change.encode(into: &scratch, at: stamp)
    guard scratch.count <= SortRecord.maxByteCount else { throw ByteReader.damaged }
    let count = UInt16(truncatingIfNeeded: scratch.count)
    let record = scratch.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: count.littleEndian, as: UInt16.self)
      return arena.copy(UnsafeRawBufferPointer(bytes))
    }
    pending.append(SortRecord(bytes: record.start))
  }

  /// Writes the changes in memory to the file as a run, so that there is room for others.
  /// - Returns: False if there can be no file or no further run; then nothing has changed.
  /// - Throws: The error of the file. The changes stay in memory then.
  func writeRun() throws(TreeRingError) -> Bool {
    guard let makeFile, hasRoomForRun else { return false }
    if pending.isEmpty { return true }
    let file = if let file { file } else { try makeFile() }
    self.file = file
    let start = runs.last?.range.upperBound ?? 0
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
    for record in sortedPending() {
      if block.isEmpty { block.append(fixed64: 0) }
      block.append(contentsOf: record.all)
      if block.count >= blockByteCount { try flush() }
    }
    if !block.isEmpty { try flush() }
    runs.append(Run(range: start..<end, longestBlock: longest))
    pending.removeAll(keepingCapacity: true)
    arena.removeAll()
    return true
  }

  static let blockHeaderByteCount = 8

  /// The changes in memory, sorted. O(n log n).
  func sortedPending() -> [SortRecord] {
    KeySorter.order(of: pending.map(\.key)).map { pending[$0] }
  }

  /// Discards all changes. The memory and the file are used again.
  func removeAll() {
    pending.removeAll(keepingCapacity: true)
    runs.removeAll()
    arena.removeAll()
  }
}

/// A change in memory, by the address of its record.
struct SortRecord {
  /// The maximum length of a record. A row whose record is longer fits no page.
  static let maxByteCount = 2 * PageLayout.maxCellByteCount

  let bytes: UnsafeRawPointer

  /// The length of the record.
  @inline(__always)
  var byteCount: Int { Int(UInt16(littleEndian: bytes.loadUnaligned(as: UInt16.self))) }

  /// The row's key in the row tree.
  @inline(__always)
  var key: UnsafeRawBufferPointer {
    let count = bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
    return UnsafeRawBufferPointer(start: bytes + 4, count: Int(UInt16(littleEndian: count)))
  }

  var all: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes, count: byteCount) }

  /// The change; its inline values point into the record.
  func change() throws(TreeRingError) -> StampedChange {
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: all[(4 + key.count)...]))
    guard let kind = OperationKind(rawValue: try reader.byte()) else { throw ByteReader.damaged }
    let stamp = Stamp(commit: try reader.integer(), operation: try reader.integer32())
    let change = try RowChange(kind, &reader, at: stamp)
    guard reader.isAtEnd else { throw ByteReader.damaged }
    return StampedChange(stamp: stamp, change: change)
  }
}
