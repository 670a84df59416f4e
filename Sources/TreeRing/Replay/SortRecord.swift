// The form of a change in a sorter's memory and in its runs (ChangeSorter.swift).

internal import TreeRingLog

/// A change of a row, and the operation that made it.
struct StampedChange {
  var stamp: Stamp
  var change: RowChange<StoredValue>
}

/// A change in memory, by the address of its record.
struct SortRecord {
  /// The maximum length of a record. A row whose record is longer fits no page.
  static let maxByteCount = 2 * PageLayout.maxCellByteCount

  let bytes: UnsafeRawPointer

  /// Makes a record in an arena.
  /// - Parameters:
  ///   - kind: The kind of the change.
  ///   - fields: The fields of the change, as a payload has them.
  /// - Throws: `corruption` if no page could hold the row.
  static func make(
    _ key: UnsafeRawBufferPointer, in bucket: UInt32, _ kind: OperationKind,
    _ fields: UnsafeRawBufferPointer, at stamp: Stamp, in arena: ByteArena
  ) throws(TreeRingError) -> SortRecord {
    let keyByteCount = RowTreeKey.byteCount(of: key)
    let operation = UInt64(stamp.operation)
    let byteCount =
      4 + keyByteCount + 1 + LEB128.byteCount(of: stamp.commit) + LEB128.byteCount(of: operation)
      + fields.count
    guard byteCount <= maxByteCount else { throw ByteReader.damaged }
    let bytes = arena.take(byteCount)
    bytes.storeBytes(of: UInt16(byteCount).littleEndian, as: UInt16.self)
    bytes.storeBytes(of: UInt16(keyByteCount).littleEndian, toByteOffset: 2, as: UInt16.self)
    bytes.storeBytes(of: bucket.bigEndian, toByteOffset: 4, as: UInt32.self)
    UnsafeMutableRawBufferPointer(rebasing: bytes[8...]).copyMemory(from: key)
    var end = 4 + keyByteCount
    bytes[end] = kind.rawValue
    end += 1
    end = LEB128.write(stamp.commit, to: bytes, at: end)
    end = LEB128.write(operation, to: bytes, at: end)
    UnsafeMutableRawBufferPointer(rebasing: bytes[end...]).copyMemory(from: fields)
    return SortRecord(bytes: UnsafeRawBufferPointer(bytes).start)
  }

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

  /// Whether both records are of the same row.
  @inline(__always)
  func hasKey(of other: SortRecord) -> Bool { KeyOrder.compare(key, other.key) == 0 }

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
