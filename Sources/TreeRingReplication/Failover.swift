// The change of the leader without people: replicas compete for a lease, and its holder leads.

internal import Logging
internal import TreeRing
internal import TreeRingLog

/// The settings of replicas that take over from each other by themselves.
public struct Failover: Sendable {
  /// The lease that the replicas share.
  public var lease: any LeaderLease
  /// The time after which the lease of a replica that has failed ends. Replicas renew it three
  /// times as often.
  public var duration: Duration

  /// Creates settings.
  public init(lease: any LeaderLease, duration: Duration = .seconds(5)) {
    self.lease = lease
    self.duration = duration
  }
}

/// The competing of one replica, on a thread of its own until `end`.
final class Candidate: Sendable {
  private let failover: Failover
  private let holder: String
  private let ending = EndSignal()
  private let ended = EndSignal()
  /// The moment until which the replica leaves the lease to others, after it has stepped down.
  private let resting = Monitor(ContinuousClock.now)

  init(_ failover: Failover, name: String) {
    self.failover = failover
    holder = "\(name) \(UInt64.random(in: 1...UInt64.max))"
  }

  /// Begins to compete for a replica.
  func start(_ replica: Replica) throws(TreeRingError) {
    try WorkerThread.start { [weak replica, self] in
      repeat {
        guard let replica else { break }
        compete(for: replica)
      } while !ending.wait(atMost: failover.duration / 3)
      try? failover.lease.release(holder)
      ended.signal()
    }
  }

  /// Takes the lease for a replica that is to lead by hand.
  func take() {
    resting.withLock { $0 = .now }
    _ = try? failover.lease.hold(holder, for: failover.duration, forced: true)
  }

  /// Leaves the lease to other replicas.
  func rest() {
    resting.withLock { $0 = .now + failover.duration * 2 }
    try? failover.lease.release(holder)
  }

  func end() {
    ending.signal()
    ended.wait()
  }

  private func compete(for replica: Replica) {
    if resting.withLock({ $0 > .now }) { return }
    do {
      let current = try failover.lease.hold(holder, for: failover.duration, forced: false)
      if current == holder {
        if !replica.leadership.isLeading { try replica.beginToLead() }
      } else if replica.leadership.isLeading {
        replica.endLeadingNow()
      }
    } catch {
      replica.options.store.logger.warning("The lease of the leader was not renewed: \(error)")
    }
  }
}
