// The few things one can choose when a store is opened.

public import Logging
public import TreeRingLog

/// How a store is opened.
public enum StoreMode: Hashable, Sendable {
  /// For reading and writing; made if there is none. The default.
  case create
  /// For reading and writing; `notFound` if there is none.
  case readWrite
  /// For reading, also beside a process that writes. Needs no lock. Changes nothing but a small file in
  /// `readers/`, which tells the writer what is being read, where the folder can be written to. Without a
  /// page file, as in a backup, the whole state is rebuilt from the log in memory, beside the budget.
  case readOnly
}

/// Everything one can choose about a store.
public struct StoreOptions: Sendable {
  /// How the store is opened.
  public var mode: StoreMode
  /// What a returned commit has survived, unless a write says otherwise.
  public var durability: Durability
  /// How many bytes of memory the engine may use, for pages kept at hand or not in the page file yet,
  /// change records, recent states and buffers. Not counted: the payload of one commit, the rows of an
  /// index in an order that a closure decides while it is built, the pages of an earlier state that a live
  /// snapshot had rebuilt, and mapped pages, which the system takes back as it likes.
  public var memoryBudget: Int
  /// How much history is kept. What is more may be given up at any time.
  public var retention: Retention
  /// How long a snapshot may hold history; nil for ever. A snapshot over the limit throws
  /// `snapshotExpired` when it is next read.
  public var pinLimit: PinLimit?
  /// The size in bytes at which a log segment is sealed.
  public var segmentSize: UInt64
  /// Group indexes defined in code.
  public var indexes: [GroupIndex]
  /// What to do about a log that does not end cleanly.
  public var recovery: RecoveryMode
  /// Where the engine reports what it does on its own. Its handlers must not use the store: they are called
  /// while parts of it wait.
  public var logger: Logger

  /// The defaults, or what you choose instead.
  public init(
    mode: StoreMode = .create, durability: Durability = .full, memoryBudget: Int = 64 << 20,
    retention: Retention = .everything, pinLimit: PinLimit? = nil, segmentSize: UInt64 = 64 << 20,
    indexes: [GroupIndex] = [], recovery: RecoveryMode = .tail,
    logger: Logger = Logger(label: "treering")
  ) {
    self.mode = mode
    self.durability = durability
    self.memoryBudget = memoryBudget
    self.retention = retention
    self.pinLimit = pinLimit
    self.segmentSize = segmentSize
    self.indexes = indexes
    self.recovery = recovery
    self.logger = logger
  }

  /// For tests: how many cells a page may have at most, so that few rows make deep trees.
  package var pageCellCapacity = Int.max
  /// Whether a store opened for reading begins with the page file; if not, with the log alone, which is
  /// what the page file can be compared with.
  package var readsPages = true
}
