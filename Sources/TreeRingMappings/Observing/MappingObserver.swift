// Watches a store through mappings, pulled by its owner.
//
// An observer waits without a pin and without a backlog: it knows the commit it shows, its row counts
// and its windows. When it is asked, the engine merges what happened since, or compares two states if
// that is no longer at hand, and one minimal change comes out, however many commits lie in between.

public import TreeRing
public import TreeRingLog

extension Store {
  /// An observer to be pulled; it shows nothing yet.
  ///
  /// - Parameters:
  ///   - mappings: What is shown.
  ///   - limit: The most operations worth listing; a larger change is a reset.
  public func observer(of mappings: Mappings, limit: Int = 500) -> MappingObserver {
    MappingObserver(store: self, mappings: mappings, limit: limit)
  }

  /// An observer that goes on from where another one stood, perhaps before a restart. Its first change
  /// leads on from there; it is a reset only if that commit cannot be read any more, or the index was
  /// defined anew and the definition by which it was shown cannot be evaluated any more.
  ///
  /// - Parameters:
  ///   - mappings: The mappings that were shown. Windows of ranges that were set otherwise start anew.
  ///   - position: What ``MappingObserver/position`` said.
  ///   - limit: The most operations worth listing; a larger change is a reset.
  public func observer(
    of mappings: Mappings, from position: MappingPosition, limit: Int = 500
  ) -> MappingObserver {
    var observer = observer(of: mappings, limit: limit)
    if position.index == mappings.index { observer.start = position }
    return observer
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
  private var definition: IndexRecord?
  /// Where to go on from, before anything is shown.
  fileprivate var start: MappingPosition?

  init(store: Store, mappings: Mappings, limit: Int) {
    self.store = store
    self.limit = limit
    cursor = MappingCursor(mappings)
  }

  /// How groups are shown.
  public var mappings: Mappings { cursor.mappings }
  /// The commit shown; nil before anything is.
  public var commit: CommitNumber? { definition == nil ? nil : cursor.commit }

  /// Where it stands, to go on from later; nil before anything is shown.
  public var position: MappingPosition? {
    definition.map {
      MappingPosition(
        index: cursor.mappings.index, commit: cursor.commit, definition: $0.number,
        windows: cursor.windows)
    }
  }

  // MARK: - Going on

  /// Goes on to the newest commit. The first change is a reset; later ones may be empty.
  ///
  /// O(k log n) for k rows touched since the commit shown; O(groups) besides if a section comes, goes or
  /// moves, while all groups are one section, and after a change of mappings.
  /// - Parameters:
  ///   - mappings: Other mappings to go on with; nil if they stay. With another index the change is a
  ///     reset.
  ///   - changes: Ranges to change by hand, in this order.
  /// - Throws: `notFound` if there is no such index; `closed` once the store is; `invalidInput` if a
  ///   range is to change of a group that has none; `snapshotExpired` if the store's `pinLimit` is
  ///   too short for what is read: one new snapshot after the other has expired by then. Whatever is thrown,
  ///   the observer stands where it stood.
  public mutating func advance(
    mappings: Mappings? = nil, changing changes: [RangeChange] = []
  ) throws(TreeRingError) -> Change {
    let store = store
    return try typed {
      try store.readingNewest { try advance(to: $0, mappings: mappings, changing: changes) }
    }
  }

  /// Goes to any commit, forward or backward.
  ///
  /// - Parameters:
  ///   - snapshot: The commit to show, of the same store.
  ///   - mappings: Other mappings to go on with; nil if they stay.
  ///   - changes: Ranges to change by hand, in this order.
  /// - Throws: `snapshotExpired` if the snapshot was held longer than the store's `pinLimit` allows, and
  ///   what ``advance(mappings:changing:)`` throws. Whatever is thrown, the observer stands where it stood.
  public mutating func advance(
    to snapshot: Snapshot, mappings: Mappings? = nil, changing changes: [RangeChange] = []
  ) throws(TreeRingError) -> Change {
    if let start { try resume(from: start, to: snapshot) }
    let target = mappings ?? cursor.mappings
    let present = try snapshot.definition(ofIndex: target.index)
    let groups = try groups(by: present, at: snapshot)
    var change: Change
    if let definition, target.index == cursor.mappings.index,
      let touched = try touchedRows(since: definition, to: snapshot, by: present)
    {
      change = try cursor.advance(
        to: groups, by: touched, mappings: target, edits: changes,
        isDefinedAnew: definition.number != present.number, limit: limit)
    } else {
      change = try cursor.reset(
        to: groups, at: snapshot.commit, mappings: target, edits: changes)
    }
    definition = present
    return change
  }

  // MARK: - Changing ranges

  /// Goes on to the newest commit and shows this many rows more of a group, on the side away from the
  /// pin; fewer if negative.
  public mutating func extendRange(
    of group: GroupName, by rows: Int
  ) throws(TreeRingError) -> Change {
    try advance(changing: [RangeChange(.extend(by: rows), of: group)])
  }

  /// Goes on to the newest commit and moves a group's range this many rows away from the pin; towards
  /// it if negative.
  public mutating func shiftRange(
    of group: GroupName, by rows: Int
  ) throws(TreeRingError) -> Change {
    try advance(changing: [RangeChange(.shift(by: rows), of: group)])
  }

  /// Goes on to the newest commit and starts a group's range anew; nil shows the whole group.
  public mutating func setRange(
    _ range: RangeOptions?, of group: GroupName
  ) throws(TreeRingError) -> Change {
    try advance(changing: [RangeChange(.set(range), of: group)])
  }

  // MARK: - Reading

  private func groups(
    by definition: IndexRecord, at snapshot: Snapshot
  ) throws(TreeRingError) -> StoreGroups {
    StoreGroups(
      snapshot: snapshot, reader: try snapshot.index(by: definition), names: store.rowNames)
  }

  /// What happened since the commit shown by a definition; nil if that lies beyond the horizon, or the
  /// definition was replaced and it cannot be told what that changed.
  private func touchedRows(
    since definition: IndexRecord, to snapshot: Snapshot, by present: IndexRecord
  ) throws(TreeRingError) -> TouchedRows? {
    if definition.number != present.number {
      return try store.touchedRows(
        from: cursor.commit, shownBy: definition, to: snapshot, limit: limit)
    }
    do throws(TreeRingError) {
      return try store.touchedRows(ofIndex: present.name, from: cursor.commit, to: snapshot)
    } catch {
      guard error.code == .beyondHorizon || error.code == .snapshotExpired else { throw error }
      return nil
    }
  }

  /// Takes up what was shown at a position. If that commit cannot be read, or not by the same
  /// definition, only the windows are taken up, at the commit to be shown.
  private mutating func resume(
    from position: MappingPosition, to snapshot: Snapshot
  ) throws(TreeRingError) {
    var shown: (definition: IndexRecord, groups: StoreGroups)?
    do throws(TreeRingError) {
      let past = try store.snapshot(at: .commit(position.commit))
      if let known = try past.definition(ofIndex: position.index, number: position.definition) {
        shown = (known, try groups(by: known, at: past))
      }
    } catch {
      let isGone = [.beyondHorizon, .snapshotExpired, .notFound, .indexDefinedInCode]
        .contains(error.code)
      guard isGone else { throw error }
    }
    if let shown {
      _ = try cursor.resume(at: shown.groups, position.commit, windows: position.windows)
    } else {
      let present = try snapshot.definition(ofIndex: position.index)
      _ = try cursor.resume(
        at: try groups(by: present, at: snapshot), snapshot.commit, windows: position.windows)
    }
    definition = shown?.definition
    start = nil
  }
}
