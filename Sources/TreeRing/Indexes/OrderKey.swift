// The keys of a group index's two trees.
//
//   order tree   group · sort key · bucket (4) · key → group length (2), sort key length (2), and
//                in an index with sums the summand (Sums/Summand.swift)
//   place tree   bucket (4) · key length (2) · key · group name → sort key
//
// Integers in keys are big-endian; the lengths in the value are little-endian. In the order tree
// the group is escaped (00 → 00 FF) and ends with 00 00. So groups are in name order
// and do not interleave.

internal import TreeRingLog

/// Builds keys of the order tree.
package enum OrderKey {
  /// The first key after all keys of a group: the encoded name with the last byte incremented.
  package static func end(ofGroup encoded: [UInt8]) -> [UInt8] {
    var bytes = encoded
    bytes[bytes.count - 1] = 1
    return bytes
  }

  /// Calls `body` with the key of a row's entry, built on the stack, and the length of its encoded
  /// group.
  @inline(__always)
  static func with<R>(
    _ place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer,
    _ body: (UnsafeRawBufferPointer, _ groupLength: Int) -> R
  ) -> R {
    let limit = 2 * place.group.bytes.count + 2 + place.sortKey.count + 4 + key.count
    return withUnsafeTemporaryAllocation(byteCount: limit, alignment: 8) { buffer in
      let groupLength = place.group.encode(into: buffer)
      var end = groupLength
      end += buffer.copy(place.sortKey, at: end)
      buffer.storeBytes(of: bucket.bigEndian, toByteOffset: end, as: UInt32.self)
      end += 4
      UnsafeMutableRawBufferPointer(rebasing: buffer[end...]).copyMemory(from: key)
      end += key.count
      return body(UnsafeRawBufferPointer(rebasing: buffer[..<end]), groupLength)
    }
  }

  /// The bytes of both lengths.
  static let lengthsByteCount = 4

  /// The value of an order-tree entry, or its beginning in an index with sums.
  package static func lengths(group: Int, sortKey: Int) -> [UInt8] {
    withUnsafeBytes(of: lengthsWord(group: group, sortKey: sortKey)) { Array($0) }
  }

  /// The same bytes, as they lie in memory.
  static func lengthsWord(group: Int, sortKey: Int) -> UInt32 {
    (UInt32(UInt16(truncatingIfNeeded: group))
      | UInt32(UInt16(truncatingIfNeeded: sortKey)) << 16).littleEndian
  }
}

/// The parts of an order-tree entry, in place.
package struct OrderEntry {
  /// The escaped group name with its end.
  package let group: UnsafeRawBufferPointer
  /// The place in the group's order: sort key, bucket and key.
  package let order: UnsafeRawBufferPointer
  package let bucket: UInt32
  package let key: UnsafeRawBufferPointer

  init(
    key entryKey: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  ) throws(TreeRingError) {
    guard value.count >= OrderKey.lengthsByteCount else { throw ByteReader.damaged }
    let groupLength = Int(value[0]) | Int(value[1]) << 8
    let sortKeyLength = Int(value[2]) | Int(value[3]) << 8
    let keyStart = groupLength + sortKeyLength + 4
    guard keyStart <= entryKey.count else { throw ByteReader.damaged }
    group = UnsafeRawBufferPointer(rebasing: entryKey[..<groupLength])
    order = UnsafeRawBufferPointer(rebasing: entryKey[groupLength...])
    bucket = UInt32(
      bigEndian: entryKey.loadUnaligned(
        fromByteOffset: groupLength + sortKeyLength, as: UInt32.self))
    key = UnsafeRawBufferPointer(rebasing: entryKey[keyStart...])
  }

  /// The group's name.
  var groupName: GroupName {
    get throws(TreeRingError) {
      guard let name = GroupName.decode(group)?.name else { throw ByteReader.damaged }
      return name
    }
  }

  /// The row of the entry.
  package var row: RowReference { RowReference(bucket: bucket, key: Array(key)) }
}

/// Keys of the place tree.
package enum PlaceKey {
  /// The common prefix of the keys of a row's places.
  package static func prefix(bucket: UInt32, key: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(key.count + 6 + 32)
    bytes.append(ordered32: bucket)
    bytes.append(UInt8(truncatingIfNeeded: key.count >> 8))
    bytes.append(UInt8(truncatingIfNeeded: key.count))
    bytes.append(contentsOf: key)
    return bytes
  }

  /// The key of a row's place in one group.
  static func of(bucket: UInt32, key: UnsafeRawBufferPointer, group: GroupName) -> [UInt8] {
    prefix(bucket: bucket, key: key) + group.bytes
  }

  /// Calls `body` with the key of a row's place in one group, built on the stack.
  /// - Parameter prefix: the common prefix of the row's places.
  @inline(__always)
  static func with<R>(
    prefix: [UInt8], group: GroupName, _ body: (UnsafeRawBufferPointer) -> R
  ) -> R {
    let byteCount = prefix.count + group.bytes.count
    return withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { buffer in
      let end = buffer.copy(prefix, at: 0)
      _ = buffer.copy(group.bytes, at: end)
      return body(UnsafeRawBufferPointer(buffer))
    }
  }

  /// Returns every place of a row, in group order.
  package static func places(in tree: Tree, prefix: [UInt8]) -> [EncodedPlace] {
    var places: [EncodedPlace] = []
    prefix.withUnsafeBytes { prefix in
      tree.forEach(startingWith: prefix) { group, sortKey in
        places.append(EncodedPlace(group: GroupName(bytes: group), sortKey: Array(sortKey)))
      }
    }
    return places
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Copies bytes to a position; returns their number.
  @inline(__always)
  fileprivate func copy(_ bytes: [UInt8], at offset: Int) -> Int {
    bytes.withUnsafeBytes {
      UnsafeMutableRawBufferPointer(rebasing: self[offset...]).copyMemory(from: $0)
    }
    return bytes.count
  }
}
