// The contract of the lease by which replicas agree who should lead.

/// A lease that one replica holds at a time. It decides who tries to lead, and so how soon after a
/// failure another does. That no two replicas write does not depend on it: the shared log sees to
/// that, also if two believe to hold it.
public protocol LeaderLease: Sendable {
  /// Takes the lease, or renews it, if no other replica holds it.
  /// - Parameters:
  ///   - holder: The replica.
  ///   - duration: The time after which the lease ends unless it is renewed.
  ///   - isForced: Whether to take it from another holder.
  /// - Returns: The holder now.
  /// - Throws: `unavailable`, `refused`.
  func hold(
    _ holder: String, for duration: Duration, forced isForced: Bool
  ) throws(SharedLogError) -> String

  /// Ends the lease if this replica holds it.
  /// - Throws: `unavailable`, `refused`.
  func release(_ holder: String) throws(SharedLogError)
}
