// Watches a store through mappings: an observer to be pulled, and a stream that pulls one.
//
// An observer waits without a pin and without a backlog: it knows the commit it shows and its row
// counts. When it is asked, the engine merges what happened since, or compares two states if that is
// no longer at hand, and one minimal change comes out, however many commits lie in between.

public import TreeRing
public import TreeRingLog

extension Store {
  /// The changes of what mappings show: first a reset with the full state, then one minimal change
  /// after the other. A slow reader gets one merged change, never a backlog. Ends when the task is
  /// cancelled.
  ///
  ///     for try await change in store.changes(of: boards) { view.apply(change) }
  ///
  /// - Parameter limit: The most operations worth listing; a larger change is a reset.
  public func changes(of mappings: Mappings, limit: Int = 500) -> MappingChanges {
    MappingChanges(observer: observer(of: mappings, limit: limit))
  }

  /// An observer to be pulled; it shows nothing yet.
  ///
  /// - Parameter limit: The most operations worth listing; a larger change is a reset.
  public func observer(of mappings: Mappings, limit: Int = 500) -> MappingObserver {
    MappingObserver(store: self, mappings: mappings, limit: limit)
  }
}

/// What a list shows of a store, and the way to what it shows next. A value: copies go on by
/// themselves.
public struct MappingObserver: Sendable {
  /// The store observed.
  public let store: Store
  /// The most operations worth listing; a larger change is a reset.
  public var limit: Int
  private var cursor: MappingCursor
  /// The definition by which the index was built that is shown; nil before anything is.
  private var definition: UInt32?

  init(store: Store, mappings: Mappings, limit: Int) {
    self.store = store
    self.limit = limit
    cursor = MappingCursor(mappings)
  }

  /// How groups are shown.
  public var mappings: Mappings { cursor.mappings }
  /// The commit shown; nil before anything is.
  public var commit: CommitNumber? { definition == nil ? nil : cursor.commit }

  /// Goes on to the newest commit. The first change is a reset; later ones may be empty.
  ///
  /// O(k log n) for k rows touched since the commit shown.
  /// - Parameter mappings: Other mappings to go on with; nil if they stay. With another index the
  ///   change is a reset.
  /// - Throws: `notFound` if there is no such index; `closed` once the store is.
  public mutating func advance(mappings: Mappings? = nil) throws(TreeRingError) -> Change {
    try advance(to: try store.snapshot(), mappings: mappings)
  }

  /// Goes to any commit, forward or backward.
  ///
  /// - Parameters:
  ///   - snapshot: The commit to show, of the same store.
  ///   - mappings: Other mappings to go on with; nil if they stay.
  public mutating func advance(
    to snapshot: Snapshot, mappings: Mappings? = nil
  ) throws(TreeRingError) -> Change {
    let target = mappings ?? cursor.mappings
    let reader = try snapshot.index(target.index)
    let groups = StoreGroups(snapshot: snapshot, reader: reader, names: store.rowNames)
    guard definition == reader.definition, target.index == cursor.mappings.index else {
      let change = try cursor.reset(to: groups, at: snapshot.commit, mappings: target)
      definition = reader.definition
      return change
    }
    let touched = try store.touchedRows(
      ofIndex: target.index, from: cursor.commit, to: snapshot)
    return try cursor.advance(to: groups, by: touched, mappings: target, limit: limit)
  }
}

/// A stream of the changes of what mappings show. Each iteration starts with a reset.
public struct MappingChanges: AsyncSequence, Sendable {
  public typealias Element = Change
  let observer: MappingObserver

  public func makeAsyncIterator() -> Iterator { Iterator(observer: observer) }

  /// Where one reader stands.
  public struct Iterator: AsyncIteratorProtocol {
    var observer: MappingObserver

    /// The next change, as soon as a commit touches what is shown; nil once the task is cancelled.
    ///
    /// - Throws: `closed` once the store is closed; `notFound` if the index is removed.
    public mutating func next() async throws(TreeRingError) -> Change? {
      guard let shown = observer.commit else {
        return Task.isCancelled ? nil : try observer.advance()
      }
      var last = shown
      while !Task.isCancelled {
        do {
          try await observer.store.reached(last + 1)
        } catch {
          if error.code == .cancelled { return nil }
          throw error
        }
        let change = try observer.advance()
        if !change.isEmpty { return change }
        last = change.after.commit
      }
      return nil
    }
  }
}

/// An index of a store at one commit. Holds the snapshot, which keeps its pages.
package struct StoreGroups: OrderedGroups {
  let snapshot: Snapshot
  let reader: IndexReader
  let names: RowNames

  /// An index as a snapshot reads it.
  package init(snapshot: Snapshot, reader: IndexReader, names: RowNames) {
    self.snapshot = snapshot
    self.reader = reader
    self.names = names
  }

  package func groupNames() throws(TreeRingError) -> [GroupName] { try reader.groups() }
  package func stored(_ row: RowReference) throws(TreeRingError) -> StoredRow? {
    let id = try names.id(of: row)
    return try snapshot.row(id.key, in: id.bucket)
  }
  package func group(_ name: GroupName) throws(TreeRingError) -> GroupReader {
    try reader.group(name)
  }
  package func places(of row: RowReference) throws(TreeRingError) -> [RowPlace] {
    try reader.places(of: row)
  }
  package func id(of row: RowReference) throws(TreeRingError) -> RowID { try names.id(of: row) }
  package func reference(of id: RowID) -> RowReference? { names.reference(of: id) }
}

extension GroupReader: OrderedGroup {}
