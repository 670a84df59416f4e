// A value that is set once and read often.

internal import TreeRingPlatform

/// A value that the first of several threads sets. Reading takes no lock.
///
/// `AtomicLazyReference` does the same for objects, but its code is not specialized for them.
struct Once<Value: Sendable>: ~Copyable, Sendable {
  /// The address of the value; 0 before it is set.
  private let address = Atomic<UInt>(0)

  private typealias Pointer = UnsafeMutablePointer<Value>

  deinit {
    guard let pointer = Pointer(bitPattern: address.load(ordering: .acquiring)) else { return }
    pointer.deinitialize(count: 1)
    pointer.deallocate()
  }

  /// The value; nil before it is set.
  @inline(__always)
  var value: Value? { Pointer(bitPattern: address.load(ordering: .acquiring))?.pointee }

  /// Sets the value, unless another thread has.
  func set(_ value: Value) {
    let pointer = Pointer.allocate(capacity: 1)
    pointer.initialize(to: value)
    let (isFirst, _) = address.compareExchange(
      expected: 0, desired: UInt(bitPattern: pointer), ordering: .acquiringAndReleasing)
    if isFirst { return }
    pointer.deinitialize(count: 1)
    pointer.deallocate()
  }
}
