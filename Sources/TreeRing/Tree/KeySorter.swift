// Sorting many keys at once. Such keys mostly share their first bytes. The sorter skips those
// bytes, and first compares the next eight as one number.

/// Finds the order of keys.
enum KeySorter {
  private struct Item {
    var head: UInt64
    var index: Int
  }

  /// The indexes of the keys in key order; equal keys keep their order. O(n log n).
  static func order(of keys: [UnsafeRawBufferPointer]) -> [Int] {
    guard let first = keys.first else { return [] }
    var shared = first.count
    for key in keys {
      shared = min(
        shared, KeyOrder.commonPrefixLength(first.start, first.count, key.start, key.count))
      if shared == 0 { break }
    }
    var items: [Item] = []
    items.reserveCapacity(keys.count)
    for index in keys.indices {
      items.append(Item(head: head(keys[index], after: shared), index: index))
    }
    items.sort { a, b in
      if a.head != b.head { return a.head < b.head }
      let order = KeyOrder.compare(keys[a.index], keys[b.index])
      return order == 0 ? a.index < b.index : order < 0
    }
    return items.map(\.index)
  }

  /// Eight bytes of a key as a number, behind so many bytes; zeros behind the key's end.
  static func head(_ key: UnsafeRawBufferPointer, after shared: Int) -> UInt64 {
    let rest = key.count - shared
    if rest >= 8 {
      return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: shared, as: UInt64.self))
    }
    var head: UInt64 = 0
    for index in 0..<max(0, rest) {
      head |= UInt64(key[shared + index]) << (56 - 8 * UInt64(index))
    }
    return head
  }
}
