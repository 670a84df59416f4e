// The lease by which replicas over JetStream agree who should lead: a key that ends by itself.

internal import Foundation
public import TreeRingReplication

/// A lease in a key-value bucket of the servers of a `JetStreamLog`.
///
///     let failover = Failover(lease: JetStreamLease(options, duration: .seconds(5)))
///
/// The bucket is `NAME_lease`, where NAME is the log's stream; its key is `leader`.
public final class JetStreamLease: LeaderLease {
  private let bucket: KeyValueBucket
  private static let key = "leader"
  private static let limit = Duration.seconds(2)

  /// Creates a lease. It connects at its first call.
  /// - Parameters:
  ///   - options: The options of the log.
  ///   - duration: The duration of the lease, the same as that of `Failover`; at least a second.
  public init(_ options: JetStreamOptions, duration: Duration = .seconds(5)) {
    bucket = KeyValueBucket(
      "\(options.stream)_lease", lifetime: max(duration, .seconds(1)), options: options,
      link: Link(options))
  }

  public func hold(
    _ holder: String, for duration: Duration, forced isForced: Bool
  ) throws(SharedLogError) -> String {
    let current = try bucket.get(Self.key, within: Self.limit)
    let name = current.map { String(decoding: $0.value, as: UTF8.self) }
    if let name, !name.isEmpty, name != holder, !isForced { return name }
    let isSet = try bucket.put(
      Array(holder.utf8), for: Self.key, after: isForced ? nil : current?.revision ?? 0,
      within: Self.limit)
    if isSet { return holder }
    // Another was first.
    let found = try bucket.get(Self.key, within: Self.limit)
    return found.map { String(decoding: $0.value, as: UTF8.self) } ?? ""
  }

  public func release(_ holder: String) throws(SharedLogError) {
    guard let current = try bucket.get(Self.key, within: Self.limit),
      String(decoding: current.value, as: UTF8.self) == holder
    else { return }
    _ = try bucket.put([], for: Self.key, after: current.revision, within: Self.limit)
  }
}
