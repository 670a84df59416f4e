// Numbers for concurrent use.

internal import TreeRingPlatform

package final class Counter: Sendable {
  private let value = Atomic<Int>(0)
  package init() {}
  /// Returns 0, then 1, …
  package func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
  /// The number of calls of `next`.
  package var count: Int { value.load(ordering: .relaxed) }
}

/// A number that only grows.
package final class SharedNumber: Sendable {
  private let number: Atomic<UInt64>
  package init(_ number: UInt64) { self.number = Atomic(number) }
  package var value: UInt64 { number.load(ordering: .acquiring) }
  package func raise(to other: UInt64) { number.max(other, ordering: .acquiringAndReleasing) }
}
