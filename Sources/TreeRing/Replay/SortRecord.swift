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

  /// Sets `bytes` to a record.
  /// - Throws: `corruption` if no page could hold the row.
  static func encode(
    _ key: UnsafeRawBufferPointer, in bucket: UInt32, _ change: RowChange<StoredValue>,
    at stamp: Stamp, into bytes: inout [UInt8]
  ) throws(TreeRingError) {
    bytes.removeAll(keepingCapacity: true)
    let keyByteCount = RowTreeKey.byteCount(of: key)
    bytes.append(fixed16: 0)
    bytes.append(fixed16: UInt16(truncatingIfNeeded: keyByteCount))
    bytes.append(ordered32: bucket)
    bytes.append(contentsOf: key)
    bytes.append(change.kind.rawValue)
    bytes.append(integer: stamp.commit)
    bytes.append(integer: UInt64(stamp.operation))
    change.encode(into: &bytes, at: stamp)
    guard bytes.count <= maxByteCount else { throw ByteReader.damaged }
    let count = UInt16(truncatingIfNeeded: bytes.count)
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: count.littleEndian, as: UInt16.self) }
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
