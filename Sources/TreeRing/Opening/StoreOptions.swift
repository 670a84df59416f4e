// The options of a store, chosen when it is opened.

public import Logging
public import TreeRingLog

/// The mode in which a store is opened.
public enum StoreMode: Hashable, Sendable {
  /// For reading and writing; creates the store if there is none. The default.
  case create
  /// For reading and writing; throws `notFound` if there is none.
  case readWrite
  /// For reading, even while another process writes. Needs no lock. Changes nothing except that, in
  /// a writable folder, a small file in `readers/` names for the writer the commit being read.
  /// Without a page file, as in a backup, the whole state is rebuilt from the log in memory,
  /// outside the budget.
  case readOnly
}

/// The options of a store.
public struct StoreOptions: Sendable {
  /// The mode in which the store is opened.
  public var mode: StoreMode
  /// The failures that a returned commit survives, unless a write says otherwise.
  public var durability: Durability
  /// The bytes of memory that the engine may use for cached and dirty pages, change records, recent
  /// states and buffers. Not counted: the payload of one commit; the rows of an index whose order a
  /// closure decides, while it is built; the pages of an earlier state rebuilt for a live snapshot;
  /// and mapped pages, which the system evicts by itself.
  public var memoryBudget: Int
  /// The amount of history kept. History beyond that may be dropped at any time. The store drops it
  /// by itself, from sealed segments only, whenever a segment is sealed; see ``segmentSize``.
  /// `compact` drops it at once.
  public var retention: Retention
  /// The limit up to which a snapshot may hold history; nil for none. A snapshot over the limit
  /// throws `snapshotExpired` at its next read.
  public var pinLimit: PinLimit?
  /// The size in bytes at which a log segment is sealed, 64 MiB by default. A store with a
  /// retention keeps all history until its log has filled the first segment; a smaller size makes
  /// it drop history sooner.
  public var segmentSize: UInt64
  /// Whether the store deletes expired rows by commits of its own, when nothing is written and
  /// before a write with a backlog; see ``Expiry``. If not, call `Store.sweep`. A store that is
  /// open for reading never does.
  public var sweeps = true
  /// Group indexes defined in code, each with a name of its own. A store opened for reading may be
  /// given several versions of an index, to read also commits from before or after a replacement.
  public var indexes: [GroupIndex]
  /// Buckets whose rows have a version. Opening throws `newerVersion` if the store has rows of a
  /// later one; otherwise it stores the version, in a commit if that is new.
  public var buckets: [any VersionedBucket]
  /// The handling of a log that does not end cleanly.
  public var recovery: RecoveryMode
  /// Receives reports of the engine's automatic work. Its handlers must not use the store: they are
  /// called while parts of it wait.
  ///
  /// The default has the label `treering`, and the handler that the app has given to
  /// `LoggingSystem`. Without one, swift-log prints to the standard error, from `info` on. The
  /// store's notices, such as that of a rebuilt page file, then appear there. To prevent that, set
  /// the logger's `logLevel` to `warning`.
  public var logger: Logger

  /// Creates options; every parameter has a default.
  public init(
    mode: StoreMode = .create, durability: Durability = .full, memoryBudget: Int = 64 << 20,
    retention: Retention = .everything, pinLimit: PinLimit? = nil, segmentSize: UInt64 = 64 << 20,
    indexes: [any IndexDeclaration] = [], buckets: [any VersionedBucket] = [],
    recovery: RecoveryMode = .tail,
    logger: Logger = Logger(label: "treering")
  ) {
    self.mode = mode
    self.durability = durability
    self.memoryBudget = memoryBudget
    self.retention = retention
    self.pinLimit = pinLimit
    self.segmentSize = segmentSize
    self.indexes = indexes.compactMap(\.groupIndex)
    self.buckets = buckets
    self.recovery = recovery
    self.logger = logger
  }

  /// The options of the log.
  /// - Parameter meta: The meta whose position recovery may begin at.
  func logOptions(trusting meta: Meta?) -> LogOptions {
    var log = LogOptions(
      access: mode.logAccess, segmentSize: segmentSize, recovery: recovery, logger: logger)
    log.trusted = meta?.position
    log.trustedStoreID = meta?.storeID
    log.sharing = sharing
    log.newStoreID = newStoreID
    log.frameCacheByteCount = MemoryBudget(byteCount: memoryBudget).framePlaces
    return log
  }

  /// Throws `invalidInput` if two indexes have one name. A store opened for reading may be given
  /// several versions of an index, since it reads commits of all of them.
  func checkIndexNames() throws(TreeRingError) {
    var versions: [StoreName: Set<UInt32>] = [:]
    for index in indexes {
      let version = mode == .readOnly ? index.version : 0
      guard !versions[StoreName(index.name), default: []].insert(version).inserted else { continue }
      throw TreeRingError(
        .invalidInput,
        "Two of the indexes given to the store are named \(index.name). Give each a name of its "
          + "own.")
    }
  }

  /// The sharing of commits with the store's other replicas, and the store's id if it is created.
  package var sharing: (any CommitSharing)?
  package var newStoreID: UInt64?
  /// For tests: returns the time of the wall clock.
  package var clock: @Sendable () -> Timestamp = { .now }
  /// For tests: the maximum number of cells in a page, so that few rows make deep trees.
  package var pageCellCapacity = Int.max
  /// Whether the folder is that of an unfinished copy, which only its maker may open.
  package var isUnfinishedCopy = false
  /// Whether a store opened for reading begins with the page file. If not, it reads the log alone.
  /// A comparison of both results checks the page file.
  package var readsPages = true
}
