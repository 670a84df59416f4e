// A number that many threads may count up.

internal import Synchronization

package final class Counter: Sendable {
  private let value = Atomic<Int>(0)
  package init() {}
  /// 0, then 1, …
  package func next() -> Int { value.add(1, ordering: .relaxed).oldValue }
  /// How often it has been counted up.
  package var count: Int { value.load(ordering: .relaxed) }
}
