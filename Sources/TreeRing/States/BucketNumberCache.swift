// The numbers of bucket names that readers have looked up, so that a read of a row counts no
// references of the bucket table. All threads that read a store would change the same few counts,
// and wait for each other's cache lines.

internal import TreeRingPlatform

/// Remembers up to sixteen bucket names and their numbers. Any thread, without locks. A bucket
/// keeps its number, so an entry is never replaced, and stays valid when further buckets are added.
// Sendable: the slots are atomics, and an entry does not change once a slot names it.
final class BucketNumberCache: @unchecked Sendable {
  /// A power of two.
  private static let slotCount = 16
  private static let headerByteCount = 8

  /// The addresses of entries: the number, the name's length, and its bytes.
  private let slots: UnsafeMutablePointer<Atomic<UInt>>

  init() {
    slots = .allocate(capacity: Self.slotCount)
    for index in 0..<Self.slotCount { (slots + index).initialize(to: Atomic(0)) }
  }

  deinit {
    for index in 0..<Self.slotCount {
      UnsafeMutableRawPointer(bitPattern: slots[index].load(ordering: .acquiring))?.deallocate()
    }
    slots.deallocate()
  }

  /// The number of a bucket, compared byte by byte, if it is remembered. O(length of the name).
  @inline(__always)
  func number(of name: UnsafeBufferPointer<UInt8>) -> UInt32? {
    let address = slots[Self.slot(of: name)].load(ordering: .acquiring)
    guard let entry = UnsafeRawPointer(bitPattern: address) else { return nil }
    guard Int(entry.load(fromByteOffset: 4, as: UInt32.self)) == name.count else { return nil }
    if name.count > 0, let start = name.baseAddress {
      guard memcmp(entry + Self.headerByteCount, start, name.count) == 0 else { return nil }
    }
    return entry.load(as: UInt32.self)
  }

  /// Remembers a bucket, unless its slot is taken.
  func insert(_ number: UInt32, name: UnsafeBufferPointer<UInt8>) {
    let slot = Self.slot(of: name)
    guard name.count <= UInt32.max, slots[slot].load(ordering: .relaxed) == 0 else { return }
    let entry = UnsafeMutableRawPointer.allocate(
      byteCount: Self.headerByteCount + name.count, alignment: 8)
    entry.storeBytes(of: number, as: UInt32.self)
    entry.storeBytes(of: UInt32(name.count), toByteOffset: 4, as: UInt32.self)
    UnsafeMutableRawBufferPointer(
      start: entry + Self.headerByteCount, count: name.count
    ).copyBytes(from: name)
    let isInserted = slots[slot].compareExchange(
      expected: 0, desired: UInt(bitPattern: entry), ordering: .acquiringAndReleasing
    ).exchanged
    if !isInserted { entry.deallocate() }
  }

  /// The slot of a name, from its length and its last bytes.
  @inline(__always)
  private static func slot(of name: UnsafeBufferPointer<UInt8>) -> Int {
    guard let last = name.last else { return 0 }
    return (Int(last) &+ 5 &* name.count &+ 3 &* Int(name[name.count / 2])) & (slotCount - 1)
  }
}
