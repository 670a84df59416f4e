// Finding a key in a page. The search compares the prefix once, then heads as integers in a plain
// branching binary search. At a million keys the speculative loads of a branching search overlap,
// which beats branch-free code. A cell is read only if its head equals the key's. The loops are
// written out, because `partitioningIndex` over a range checks overflow and bounds at every step.

internal import CTreeRing
internal import TreeRingPlatform

extension Page {
  /// Prefetches the part of a page that a search reads, all lines at once. In a tree far larger
  /// than the caches this makes a lookup a quarter faster, because its probes would miss one after
  /// another.
  @inline(__always)
  func prefetchSlots() {
    for line in 0..<14 { treering_prefetch(bytes + 64 &* line) }
  }

  /// Prefetches a leaf's header and one slot.
  @inline(__always)
  func prefetchSlot(at index: Int) {
    treering_prefetch(bytes)
    treering_prefetch(bytes + PageLayout.headerByteCount + PageLayout.slotByteCount &* (index &+ 1))
  }

  /// The index of the child that holds the entry at a position.
  /// - Parameters:
  ///   - position: Below the page's entry count; becomes the position in the child.
  ///   - total: The number of entries below the page; becomes that of the child.
  @inline(__always)
  func takeChildIndex(at position: inout UInt64, total: inout UInt64) -> Int {
    let counts = counts
    let last = cellCount &- 1
    var index = 0
    // From the nearer end, and four at a time: one sum of four hides the latency of dependent
    // subtractions.
    if position &* 2 <= total {
      while index &+ 4 <= last {
        let four = sum(ofFour: index)
        if position < four { break }
        position &-= four
        index &+= 4
      }
      while index < last, position >= counts[index] {
        position &-= counts[index]
        index &+= 1
      }
      total = counts[index]
      return index
    }
    // The number of entries from the position on.
    var rest = total &- position
    index = max(0, last)
    while index >= 4 {
      let four = sum(ofFour: index &- 3)
      if rest <= four { break }
      rest &-= four
      index &-= 4
    }
    while index > 0, rest > counts[index] {
      rest &-= counts[index]
      index &-= 1
    }
    total = counts[index]
    // Counts of a damaged file may add up to any number.
    position = min(position, total &- min(rest, total))
    return index
  }

  @inline(__always)
  private func sum(ofFour first: Int) -> UInt64 {
    (counts[first] &+ counts[first &+ 1]) &+ (counts[first &+ 2] &+ counts[first &+ 3])
  }

  /// The index of the first cell whose key is not below `key`, and whether its key equals `key`.
  /// - Parameters:
  ///   - first: The first cell to compare: 0 in a leaf, 1 in an inner page.
  ///   - isPresent: Whether the page certainly has the key. Then its cell need not be read if no
  ///     other has its head.
  @inline(__always)
  func lowerBound(
    _ key: UnsafeRawPointer, _ keyLength: Int, from first: Int, tailOffset: Int,
    isPresent: Bool = false
  ) -> (index: Int, isFound: Bool) {
    let prefixLength = prefixLength
    if prefixLength > 0 {
      let order = comparePrefix(key, keyLength, prefixLength)
      if order != 0 { return (order < 0 ? first : cellCount, false) }
    }
    let rest = key + prefixLength
    let restLength = keyLength - prefixLength
    let head = KeyOrder.head(rest, restLength)
    let slots = slots
    var low = first
    var high = cellCount
    while low < high {
      let middle = (low &+ high) &>> 1
      if slots[middle].head < head { low = middle &+ 1 } else { high = middle }
    }
    if low == cellCount || slots[low].head != head { return (low, false) }
    if isPresent, low &+ 1 == cellCount || slots[low &+ 1].head != head { return (low, true) }
    // Most keys that are there end here, without a call.
    if hasKey(rest, restLength, slots[low], tailOffset) { return (low, true) }
    return lowerBound(amongEqualHeadsFrom: low, rest, restLength, tailOffset)
  }

  /// Continues such a search among the cells whose head is the key's.
  /// - Parameter first: The first of those cells.
  @inline(never)
  private func lowerBound(
    amongEqualHeadsFrom first: Int, _ key: UnsafeRawPointer, _ keyLength: Int, _ tailOffset: Int
  ) -> (index: Int, isFound: Bool) {
    let slots = slots
    let head = slots[first].head
    // Usually there is only one such cell.
    let order = compareTail(key, keyLength, slots[first], tailOffset)
    if order <= 0 { return (first, order == 0) }
    var low = first &+ 1
    var high = cellCount
    while low < high {
      let middle = (low &+ high) &>> 1
      if slots[middle].head > head {
        high = middle
      } else {
        let order = compareTail(key, keyLength, slots[middle], tailOffset)
        if order == 0 { return (middle, true) }
        if order > 0 { low = middle &+ 1 } else { high = middle }
      }
    }
    return (low, false)
  }

  /// The index of the first cell of a leaf whose key is not below `key`, and whether it equals
  /// `key`.
  @inline(__always)
  func leafLowerBound(
    _ key: UnsafeRawPointer, _ keyLength: Int
  ) -> (index: Int, isFound: Bool) {
    lowerBound(key, keyLength, from: 0, tailOffset: 2)
  }

  /// The index of a key that the leaf has.
  @inline(__always)
  func leafIndex(ofPresent key: UnsafeRawPointer, _ keyLength: Int) -> Int {
    lowerBound(key, keyLength, from: 0, tailOffset: 2, isPresent: true).index
  }

  /// The index of the child whose range holds a key: the last whose separator is not above it.
  @inline(__always)
  func childIndex(_ key: UnsafeRawPointer, _ keyLength: Int) -> Int {
    let place = lowerBound(key, keyLength, from: 1, tailOffset: 0)
    return place.isFound ? place.index : place.index &- 1
  }

  /// Zero if the key starts with the page's prefix; negative if it lies before the page, else
  /// positive.
  @inline(__always)
  private func comparePrefix(
    _ key: UnsafeRawPointer, _ keyLength: Int, _ prefixLength: Int
  ) -> Int {
    if prefixLength <= 8, keyLength >= 8 {
      // The prefix is padded to 8 bytes, so one word load can read each side.
      let difference =
        key.loadUnaligned(as: UInt64.self) ^ prefix.load(as: UInt64.self)
      if UInt64(littleEndian: difference) &<< UInt64(truncatingIfNeeded: 64 &- 8 &* prefixLength)
        == 0
      {
        return 0
      }
    } else if keyLength >= prefixLength, Self.areEqual(key, prefix, prefixLength) {
      return 0
    }
    return compareLongPrefix(key, keyLength, prefixLength)
  }

  @inline(never)
  private func compareLongPrefix(
    _ key: UnsafeRawPointer, _ keyLength: Int, _ prefixLength: Int
  ) -> Int {
    let order = Int(memcmp(key, prefix, min(keyLength, prefixLength)))
    if order != 0 { return order }
    return keyLength < prefixLength ? -1 : 0
  }

  /// Whether a cell of the same head has this key; both without the prefix.
  @inline(__always)
  private func hasKey(
    _ key: UnsafeRawPointer, _ keyLength: Int, _ slot: PageSlot, _ tailOffset: Int
  ) -> Bool {
    let headLength = PageLayout.headByteCount
    return keyLength == Int(slot.keyLength)
      && Self.areEqual(
        key + headLength, bytes + Int(slot.offset) + tailOffset, keyLength &- headLength)
  }

  /// Whether so many bytes are the same; true for none or fewer. Most prefixes and tails have 4 to
  /// 16 bytes, which two words hold, although these may overlap. A call would take longer.
  @inline(__always)
  private static func areEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Bool {
    if count >= 8, count <= 16 {
      let last = count &- 8
      return a.loadUnaligned(as: UInt64.self) == b.loadUnaligned(as: UInt64.self)
        && (a + last).loadUnaligned(as: UInt64.self) == (b + last).loadUnaligned(as: UInt64.self)
    }
    if count >= 4, count < 8 {
      let last = count &- 4
      return a.loadUnaligned(as: UInt32.self) == b.loadUnaligned(as: UInt32.self)
        && (a + last).loadUnaligned(as: UInt32.self) == (b + last).loadUnaligned(as: UInt32.self)
    }
    return count <= 0 || memcmp(a, b, count) == 0
  }

  /// Compares a key with a cell of the same head; both without the prefix.
  @inline(__always)
  private func compareTail(
    _ key: UnsafeRawPointer, _ keyLength: Int, _ slot: PageSlot, _ tailOffset: Int
  ) -> Int {
    let headLength = PageLayout.headByteCount
    let common = min(keyLength, Int(slot.keyLength)) - headLength
    if common > 0 {
      let order = memcmp(key + headLength, bytes + Int(slot.offset) + tailOffset, common)
      if order != 0 { return Int(order) }
    }
    return keyLength - Int(slot.keyLength)
  }
}

extension Page {
  /// The length of a cell's whole key.
  @inline(__always)
  func keyLength(at index: Int) -> Int { prefixLength + Int(slots[index].keyLength) }

  /// Copies a cell's whole key to a buffer with room for the key and four more bytes.
  @inline(__always)
  func copyKey(at index: Int, to buffer: UnsafeMutableRawPointer) {
    let prefixLength = prefixLength
    if prefixLength > 0 { memcpy(buffer, prefix, prefixLength) }
    copyKeyRest(at: index, to: buffer + prefixLength)
  }

  /// Copies a cell's key without the prefix to a buffer with room for four more bytes.
  @inline(__always)
  func copyKeyRest(at index: Int, to buffer: UnsafeMutableRawPointer) {
    let slot = slots[index]
    buffer.storeBytes(of: slot.head.bigEndian, as: UInt32.self)
    let tailLength = slot.tailLength
    if tailLength > 0 {
      let tailOffset = Int(slot.offset) + (level == 0 ? 2 : 0)
      memcpy(buffer + PageLayout.headByteCount, bytes + tailOffset, tailLength)
    }
  }

  /// A leaf cell's value, in place.
  @inline(__always)
  func value(at index: Int) -> UnsafeRawBufferPointer {
    let slot = slots[index]
    let cell = bytes + Int(slot.offset)
    let length = Int(cell.loadUnaligned(as: UInt16.self))
    return UnsafeRawBufferPointer(start: cell + 2 + slot.tailLength, count: length)
  }
}
