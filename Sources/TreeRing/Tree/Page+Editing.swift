// Editing one owned page in place: cells are inserted and removed without rewriting the layout. A
// false result means that a cell does not fit; the caller then rewrites the layout or splits the
// page (`CellList`).

internal import TreeRingPlatform

extension Page {
  /// Whether a key starts with the page's prefix, so that the page can hold it.
  func sharesPrefix(_ key: UnsafeRawPointer, _ keyLength: Int) -> Bool {
    let prefixLength = prefixLength
    return keyLength >= prefixLength && memcmp(key, prefix, prefixLength) == 0
  }

  /// Inserts a leaf cell whose key shares the prefix.
  /// - Returns: False, with nothing changed, if the gap is too small.
  @inline(__always)
  func insertLeafCell(
    at index: Int, key: UnsafeRawPointer, keyLength: Int, value: UnsafeRawPointer, valueLength: Int
  ) -> Bool {
    let prefixLength = prefixLength
    let restLength = keyLength &- prefixLength
    let tailLength = max(0, restLength &- PageLayout.headByteCount)
    let cellLength = 2 &+ tailLength &+ valueLength
    let count = cellCount
    let slotsStart = slotsStart
    let heapStart = heapStart
    let gap = heapStart &- slotsStart &- PageLayout.slotByteCount &* count
    if gap < cellLength &+ PageLayout.slotByteCount { return false }
    let offset = heapStart &- cellLength
    let cell = bytes + offset
    cell.storeBytes(of: UInt16(truncatingIfNeeded: valueLength), as: UInt16.self)
    if tailLength > 0 {
      memcpy(cell + 2, key + prefixLength + PageLayout.headByteCount, tailLength)
    }
    if valueLength > 0 { memcpy(cell + 2 + tailLength, value, valueLength) }
    let slots = (bytes + slotsStart).assumingMemoryBound(to: PageSlot.self)
    if index < count {
      memmove(slots + index + 1, slots + index, PageLayout.slotByteCount &* (count &- index))
    }
    slots[index] = PageSlot(
      head: KeyOrder.head(key + prefixLength, restLength),
      offset: UInt16(truncatingIfNeeded: offset),
      keyLength: UInt16(truncatingIfNeeded: restLength))
    cellCount = count &+ 1
    self.heapStart = offset
    return true
  }

  /// Removes a leaf cell; its bytes become zero.
  func removeLeafCell(at index: Int) {
    let slots = slots
    let count = cellCount
    let cellLength = 2 + slots[index].tailLength + value(at: index).count
    zeroHeap(offset: Int(slots[index].offset), byteCount: cellLength)
    memmove(
      slots + index, slots + index + 1, PageLayout.slotByteCount * (count - 1 - index))
    memset(slots + (count - 1), 0, PageLayout.slotByteCount)
    cellCount = count - 1
  }

  /// Replaces a leaf cell's value in place.
  func overwriteValue(at index: Int, with value: UnsafeRawBufferPointer) -> Bool {
    let old = self.value(at: index)
    if value.count > old.count { return false }
    let slot = slots[index]
    let start = Int(slot.offset) + 2 + slot.tailLength
    if value.count > 0 { memmove(bytes + start, value.start, value.count) }
    let surplus = old.count - value.count
    if surplus > 0 {
      bytes.storeBytes(
        of: UInt16(value.count), toByteOffset: Int(slot.offset), as: UInt16.self)
      memset(bytes + start + value.count, 0, surplus)
      deadByteCount += surplus
    }
    return true
  }

  /// Inserts an inner entry whose separator shares the prefix.
  /// - Returns: False, with nothing changed, if the gap is too small.
  func insertInnerCell(
    at index: Int, key: UnsafeRawPointer, keyLength: Int, child: ChildReference
  ) -> Bool {
    let restLength = keyLength - prefixLength
    let tailLength = max(0, restLength - PageLayout.headByteCount)
    if heapStart - gapStart < tailLength + PageLayout.innerEntryOverhead { return false }
    let offset = tailLength > 0 ? heapStart - tailLength : 0
    if tailLength > 0 {
      memcpy(bytes + offset, key + prefixLength + PageLayout.headByteCount, tailLength)
      heapStart = offset
    }
    let head = KeyOrder.head(key + prefixLength, restLength)
    let count = cellCount
    let old = (slots, counts, births, children)
    cellCount = count + 1
    let new = (slots, counts, births, children)
    let after = count - index
    // From the last array to the first, each in two halves, so that no move overwrites unread
    // bytes.
    memmove(new.3 + index + 1, old.3 + index, 4 * after)
    memmove(new.3, old.3, 4 * index)
    new.3[index] = child.page
    memmove(new.2 + index + 1, old.2 + index, 8 * after)
    memmove(new.2, old.2, 8 * index)
    new.2[index] = child.birth
    memmove(new.1 + index + 1, old.1 + index, 8 * after)
    memmove(new.1, old.1, 8 * index)
    new.1[index] = child.count
    memmove(new.0 + index + 1, old.0 + index, 8 * after)
    new.0[index] = PageSlot(
      head: head, offset: UInt16(offset), keyLength: UInt16(restLength))
    return true
  }

  /// Removes an inner entry. An entry that becomes the first loses its separator.
  func removeInnerCell(at index: Int) {
    clearSeparator(at: index)
    let count = cellCount
    let end = gapStart
    let old = (slots, counts, births, children)
    cellCount = count - 1
    let new = (slots, counts, births, children)
    let after = count - 1 - index
    memmove(new.0 + index, old.0 + index + 1, 8 * after)
    memmove(new.1, old.1, 8 * index)
    memmove(new.1 + index, old.1 + index + 1, 8 * after)
    memmove(new.2, old.2, 8 * index)
    memmove(new.2 + index, old.2 + index + 1, 8 * after)
    memmove(new.3, old.3, 4 * index)
    memmove(new.3 + index, old.3 + index + 1, 4 * after)
    memset(bytes + gapStart, 0, end - gapStart)
    if index == 0, count > 1 { clearSeparator(at: 0) }
  }

  /// Clears an entry's separator.
  private func clearSeparator(at index: Int) {
    let slot = slots[index]
    if slot.tailLength > 0 { zeroHeap(offset: Int(slot.offset), byteCount: slot.tailLength) }
    slots[index] = PageSlot(head: 0, offset: 0, keyLength: 0)
  }

  /// Zeroes heap bytes. Bytes at the heap's start return to the gap; others count as dead.
  private func zeroHeap(offset: Int, byteCount: Int) {
    memset(bytes + offset, 0, byteCount)
    if offset == heapStart {
      heapStart = offset + byteCount
    } else {
      deadByteCount += byteCount
    }
  }
}

extension Page {
  /// The child at an index of an inner page.
  @inline(__always)
  package func child(at index: Int) -> ChildReference {
    ChildReference(page: children[index], birth: births[index], count: counts[index])
  }

  /// Replaces the child at an index of an inner page.
  @inline(__always)
  func setChild(at index: Int, to child: ChildReference) {
    children[index] = child.page
    births[index] = child.birth
    counts[index] = child.count
  }
}
