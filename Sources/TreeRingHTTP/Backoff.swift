// The waits between attempts.

/// Waits that grow after each failure, with a random part, so that many clients do not return at
/// the same moment.
package struct Backoff: Hashable, Sendable {
  private let first: Duration
  private let longest: Duration

  /// - Parameters:
  ///   - first: The wait after the first failure; each further one doubles it.
  ///   - longest: The longest wait.
  package init(first: Duration, longest: Duration) {
    self.first = first
    self.longest = longest
  }

  /// The wait after some failures in a row. A part of up to half is subtracted.
  ///
  /// - Parameter jitter: A random number from 0 to 1.
  package func delay(afterFailures count: Int, jitter: Double) -> Duration {
    let doublings = min(max(count - 1, 0), 30)
    return min(first * (1 << doublings), longest) * (1 - jitter / 2)
  }
}
