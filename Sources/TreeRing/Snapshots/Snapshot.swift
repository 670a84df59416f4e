// An immutable reading of a store at one commit. A snapshot is a value around one object that holds
// the version; the object's end is the end of the pin.

public import TreeRingLog

/// The store as it is at one commit. It never changes, however long it is kept.
public struct Snapshot: Readable, Sendable {
  let pin: SnapshotPin

  /// The commit read.
  public var commit: CommitNumber { pin.reader.roots.commit }
  /// When that commit was made.
  public var timestamp: Timestamp { pin.reader.roots.timestamp }

  public var _reader: StateReader {
    @inline(__always) get throws(TreeRingError) {
      try pin.store.checkOpen()
      try pin.life.check()
      return pin.reader
    }
  }

  public func index(_ name: String) throws(TreeRingError) -> IndexReader {
    try pin.store.checkOpen()
    return try index(by: try definition(ofIndex: name))
  }

  /// The indexes in force.
  public var indexes: [IndexInfo] { IndexInfo.all(in: pin.definitions) }

  /// The store this is a reading of.
  package var store: Store { pin.store }
  /// The version read; `snapshotExpired` once the pin has been dropped.
  package var version: Version { get throws(TreeRingError) { try pin.life.version() } }
}

/// Keeps one version readable. Its end only marks; the pages are given back later.
final class SnapshotPin: Sendable {
  let store: Store
  /// Holds the version, until it is dropped for being over the limit.
  let life: PinLife
  let reader: StateReader
  /// The definitions in force when the snapshot was taken: they answer at every commit.
  let definitions: Catalog
  private let registration: UInt64

  init(
    store: Store, version: Version, definitions: Catalog, registration: PinRegistry.Registration
  ) {
    self.store = store
    life = registration.life
    life.hold(version)
    self.definitions = definitions
    reader = StateReader(
      roots: version.roots, catalog: version.catalog, pages: version.pages,
      values: ValueSource(log: store.log), life: life)
    self.registration = registration.number
  }

  deinit { store.pinRegistry.remove(registration) }
}

/// A live snapshot, as `Store.pins` lists it.
public struct PinInfo: Hashable, Sendable {
  /// The commit it keeps readable.
  public let commit: CommitNumber
  /// How long ago it was made.
  public let age: Duration
  /// Where in the program it was made: file and line.
  public let creator: String
}

/// A point in history to read at.
public enum ReadPoint: Hashable, Sendable {
  /// That commit; 0 is the empty store before everything.
  case commit(CommitNumber)
  /// The last commit not later than this.
  case date(Timestamp)
  /// The commit of that name.
  case tag(String)
}
