// An immutable view of a store at one commit. A snapshot is a value around one object that holds
// the version. When that object is destroyed, the pin ends.

public import TreeRingLog

/// The store as it is at one commit. It never changes, however long it is kept.
public struct Snapshot: Readable, Sendable {
  let pin: SnapshotPin

  /// The commit that the snapshot reads.
  public var commit: CommitNumber { pin.reader.roots.commit }
  /// The date of that commit.
  public var timestamp: Timestamp { pin.reader.roots.timestamp }

  public var reader: StateReader {
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

  /// The indexes in force when the snapshot was taken.
  public var indexes: [IndexInfo] { IndexInfo.all(in: pin.definitions) }

  /// The store that the snapshot reads.
  package var store: Store { pin.store }
  /// The version that the snapshot reads. Throws `snapshotExpired` once the pin has been dropped.
  package var version: Version { get throws(TreeRingError) { try pin.life.version() } }
}

/// Keeps one version readable. Its `deinit` only queues the release; the pages are freed later.
final class SnapshotPin: Sendable {
  let store: Store
  /// Holds the version until the pin ends or passes the `pinLimit`.
  let life: PinLife
  let reader: StateReader
  /// The definitions in force when the snapshot was taken, by which it reads indexes whatever its
  /// commit.
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
