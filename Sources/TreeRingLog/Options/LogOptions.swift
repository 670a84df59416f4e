// The options with which a log is opened.

package import Logging

/// The access with which a log is opened.
package enum LogAccess: Hashable, Sendable {
  /// Reading and writing; creates the log if there is none.
  case create
  /// Reading and writing; `notFound` if there is none.
  case readWrite
  /// Reading; changes nothing on disk.
  case readOnly
}

/// Options of a commit log.
package struct LogOptions: Sendable {
  package var access: LogAccess
  /// The size in bytes at which a segment is sealed. A segment's last commit may exceed it.
  package var segmentSize: UInt64
  package var recovery: RecoveryMode
  package var logger: Logger
  /// The source of store ids and salts. Tests fix it to get reproducible bytes.
  package var random: @Sendable () -> UInt64
  /// A position from a checkpoint, through which the log is synced. In mode `tail`, opening does
  /// not read the log before it. `CommitLog.trust` has the result of checking it.
  package var trusted: LogPosition?
  /// The store of `trusted`; a position of another store is refused. If nil, a log that ends before
  /// the position always throws `logBehindPages`.
  package var trustedStoreID: UInt64?
  /// For reading beside a writer only: the newest commit that the writer has declared durable.
  /// Opening reads no later commit, except those up to `trusted`.
  package var through: CommitNumber?
  /// The approximate memory limit for cached offsets of frames, in bytes.
  package var frameCacheByteCount = 1 << 20
  /// Called with the newest durable commit after each sync, in order, with the log's monitor held.
  /// It must be fast and must not call the log.
  package var durableChanged: (@Sendable (CommitNumber) -> Void)?
  /// Throws if this process may no longer write the log's folder. The log calls it with `always`
  /// false before it acknowledges commits, when the closure may skip some checks, and with `always`
  /// true before it creates or removes a file.
  package var folderCheck: (@Sendable (_ always: Bool) throws(TreeRingError) -> Void)?
  /// The id of the store if the log creates one; nil for a random one.
  package var newStoreID: UInt64?
  /// The sharing of commits with other replicas; nil if the log is this machine's alone. Shared
  /// commits count as durable, so none waits for a sync of this log.
  package var sharing: (any CommitSharing)?

  package init(
    access: LogAccess = .create, segmentSize: UInt64 = 64 << 20, recovery: RecoveryMode = .tail,
    logger: Logger = Logger(label: "treering.log")
  ) {
    self.access = access
    self.segmentSize = segmentSize
    self.recovery = recovery
    self.logger = logger
    random = { UInt64.random(in: 1...UInt64.max) }
  }
}
