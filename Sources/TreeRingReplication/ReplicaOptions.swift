// The options and the status of a replica.

public import TreeRing

/// The options of a replica.
public struct ReplicaOptions: Sendable {
  /// The name of this replica in the shared log and in reports.
  public var name: String
  /// The options of its store. The durability of a write has no effect: the shared log makes each
  /// commit durable. The mode is always `create`.
  public var store: StoreOptions
  /// The time after which a write, or the opening, gives up waiting for the shared log.
  public var limit: Duration
  /// The settings by which replicas take over from each other by themselves; nil if people decide
  /// who leads.
  public var failover: Failover?
  /// Whether an empty shared log may begin with the commits of the folder, as the log of a store
  /// that was on one machine before. Without it an empty log counts as one that has lost its
  /// entries, and a folder that has commits is refused as `diverged`.
  public var mayBeginLog: Bool

  /// Creates options; all but the name have a default.
  public init(
    name: String, store: StoreOptions = StoreOptions(),
    limit: Duration = .seconds(30), failover: Failover? = nil, mayBeginLog: Bool = false
  ) {
    self.name = name
    self.store = store
    self.limit = limit
    self.failover = failover
    self.mayBeginLog = mayBeginLog
  }
}

/// The state of a replica at one moment.
public struct ReplicaStatus: Hashable, Sendable {
  /// Whether the replica leads, as far as it knows: the shared log may have another leader already.
  public var isLeading: Bool
  /// The name of the replica that leads, by the newest entry read; nil if none has led yet.
  public var leader: String?
  /// The number of the newest entry that the replica has taken.
  public var sequence: UInt64
  /// The number of entries by which the log was known to be ahead when it was last read.
  public var lag: UInt64
  /// The newest commit of the replica.
  public var commit: CommitNumber
  /// The reason why the shared log did not answer the last call; nil if it did.
  public var problem: String?
  /// The error that has ended the replica's following; nil while it follows.
  public var failure: TreeRingError?

  /// Describes a state.
  public init(
    isLeading: Bool, leader: String?, sequence: UInt64, lag: UInt64, commit: CommitNumber,
    problem: String?, failure: TreeRingError?
  ) {
    self.isLeading = isLeading
    self.leader = leader
    self.sequence = sequence
    self.lag = lag
    self.commit = commit
    self.problem = problem
    self.failure = failure
  }
}
