// An immutable view of a store at one commit. A snapshot is a value around one object that holds
// the version. When that object is destroyed, the pin ends.

public import TreeRingLog

/// The store as it is at one commit. It never changes, however long it is kept.
public struct Snapshot: Readable, Sendable {
  let pin: SnapshotPin

  /// The commit that the snapshot reads.
  public var commit: CommitNumber { pin.roots.commit }
  /// The date of that commit.
  public var timestamp: Timestamp { pin.roots.timestamp }

  public var readSource: ReadSource { ReadSource(state: pin) }

  /// The indexes in force when the snapshot was taken.
  public var indexes: [IndexInfo] { IndexInfo.all(in: pin.definitions) }

  /// The row that an index entry refers to.
  package func id(_ reference: RowReference) throws(TreeRingError) -> RowID {
    try reader.id(reference)
  }

  /// The store that the snapshot reads.
  package var store: Store { pin.store }
  /// The version that the snapshot reads. Throws `snapshotExpired` once the pin has been dropped.
  package var version: Version { get throws(TreeRingError) { try pin.version } }
}

/// Keeps one version readable, and reads it; `reader` checks first that store and pin are still
/// open. Its `deinit` only queues the release; the pages are freed later.
///
/// It is the reader itself, because programs take snapshots far more often than anything else
/// makes readers.
// Sendable: its properties are constants of Sendable types, as those of its superclass are. With a
// superclass, the compiler does not check that.
final class SnapshotPin: StateReader, ReadableState, @unchecked Sendable {
  let store: Store
  /// The definitions in force when the snapshot was taken; nil if they are those of its commit.
  private let newerDefinitions: Catalog?

  /// - Parameters:
  ///   - definitions: the definitions in force now; nil if they are the version's.
  ///   - life: keeps the version until the pin ends or passes the `pinLimit`.
  init(store: Store, version: Version, definitions: Catalog? = nil, life: PinLife) {
    self.store = store
    newerDefinitions = definitions
    super.init(
      roots: version.roots, catalog: version.catalog, pages: version.pages,
      values: ValueSource(log: store.log), life: life)
  }

  /// The definitions in force when the snapshot was taken, by which it reads indexes whatever its
  /// commit.
  var definitions: Catalog { newerDefinitions ?? catalog }

  /// Throws unless store and pin are still open.
  @inline(__always)
  func check() throws(TreeRingError) {
    try store.checkOpen()
    try life?.check()
  }

  var reader: StateReader {
    get throws(TreeRingError) {
      try check()
      return self
    }
  }

  func withObject(
    of key: Key, in bucket: String, _ body: (UnsafeRawBufferPointer, UInt32) throws -> Void
  ) throws {
    try check()
    try readObject(of: key, in: bucket, body)
  }

  /// The version that it reads. Throws `snapshotExpired` once the pin has been dropped.
  var version: Version {
    get throws(TreeRingError) {
      guard let life else { preconditionFailure("a snapshot without a pin") }
      return try life.version()
    }
  }

  func index(_ name: String) throws(TreeRingError) -> IndexReader {
    try store.checkOpen()
    let snapshot = Snapshot(pin: self)
    return try snapshot.index(by: snapshot.definition(ofIndex: name))
  }

  func text(_ name: String) throws(TreeRingError) -> TextReader {
    try store.checkOpen()
    let record = try Snapshot(pin: self).definition(ofIndex: name, for: .words)
    return TextReader(
      definition: try record.textDefinition(), state: try reader,
      roots: try store.trees(of: record, at: self), pin: self)
  }

  deinit { if let life { store.pinRegistry.remove(life) } }
}
