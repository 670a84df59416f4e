// A counter for concurrent use.

internal import TreeRingPlatform

package final class Counter: Sendable {
  private let value = Atomic<Int>(0)
  package init() {}
  /// Returns 0, then 1, …
  package func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
  /// The number of calls of `next`.
  package var count: Int { value.load(ordering: .relaxed) }
}
