// Observes a store through mappings; its owner advances it.
//
// An observer waits without a pin and without a backlog: it keeps the commit shown, its row counts
// and its windows. When it advances, the engine merges the changes since that commit, or compares
// two states if the records are gone. The result is one minimal change, however many commits lie in
// between.

public import TreeRing
public import TreeRingLog

extension Store {
  /// An observer that its owner advances; it shows nothing yet.
  ///
  /// - Parameters:
  ///   - mappings: The groups to show.
  ///   - limit: The maximum number of operations to list; a larger change is a reset.
  public func observer(of mappings: Mappings, limit: Int = 500) -> MappingObserver {
    MappingObserver(store: self, mappings: mappings, limit: limit)
  }

  /// An observer that continues at another one's position, perhaps from before a restart. Its first
  /// change leads on from there. It is a reset in two cases only: that commit cannot be read any
  /// more, or the index was redefined and the definition that showed it cannot be evaluated any
  /// more.
  ///
  /// - Parameters:
  ///   - mappings: The mappings that were shown. Ranges with other options start with new windows.
  ///   - position: A value of ``MappingObserver/position``.
  ///   - limit: The maximum number of operations to list; a larger change is a reset.
  public func observer(
    of mappings: Mappings, from position: MappingPosition, limit: Int = 500
  ) -> MappingObserver {
    var observer = observer(of: mappings, limit: limit)
    if position.index.isSameName(as: mappings.index) { observer.start = position }
    return observer
  }
}

/// The state that a list shows of a store, and the way to its next one. A value: copies advance
/// independently.
public struct MappingObserver: Sendable {
  /// The store observed.
  public let store: Store
  /// The maximum number of operations to list; a larger change is a reset.
  public var limit: Int
  private var cursor: MappingCursor
  /// The definition of the index shown; nil before the first state.
  private var definition: IndexRecord?
  /// The position to continue from, before the first state.
  fileprivate var start: MappingPosition?

  init(store: Store, mappings: Mappings, limit: Int) {
    self.store = store
    self.limit = limit
    cursor = MappingCursor(mappings)
  }

  /// The mappings in force.
  public var mappings: Mappings { cursor.mappings }
  /// The commit shown; nil before the first state.
  public var commit: CommitNumber? { definition == nil ? nil : cursor.commit }

  /// The observer's position, to continue from later. An observer made from a position keeps that
  /// position until it advances, so it can be saved at any moment. Nil only if the observer has
  /// shown nothing and has no position to keep.
  public var position: MappingPosition? {
    guard let definition else { return start }
    return MappingPosition(
      index: cursor.mappings.index, commit: cursor.commit, definition: definition.number,
      windows: cursor.windows)
  }

  // MARK: - Advancing

  /// Advances to the newest commit. The first change is a reset, unless the observer continues from
  /// a position; later ones may be empty. ``Change/resetReason`` gives the reason for a reset.
  ///
  /// O(k log n) for k rows affected since the commit shown; O(groups) more if a section comes, goes
  /// or moves, while all groups are one section, and after a change of mappings.
  /// - Parameters:
  ///   - mappings: Other mappings from now on; nil keeps them. With another index the change is a
  ///     reset.
  ///   - changes: Manual range changes, in this order.
  /// - Throws: `notFound` if there is no such index; `closed` once the store is closed;
  ///   `invalidInput` if a range change names a group that has no range; `snapshotExpired` if the
  ///   store's `pinLimit` is too short for the read, so that each new snapshot expires during it.
  ///   After an error the observer keeps its position.
  public mutating func advance(
    mappings: Mappings? = nil, changing changes: [RangeChange] = []
  ) throws(TreeRingError) -> Change {
    let store = store
    return try typed {
      try store.readingNewest { try advance(to: $0, mappings: mappings, changing: changes) }
    }
  }

  /// Moves to any commit, forward or backward.
  ///
  /// - Parameters:
  ///   - snapshot: The commit to show, of the same store.
  ///   - mappings: Other mappings from now on; nil keeps them.
  ///   - changes: Manual range changes, in this order.
  /// - Throws: `snapshotExpired` if the snapshot was held longer than the store's `pinLimit`
  ///   allows, and the errors of ``advance(mappings:changing:)``. After an error the observer keeps
  ///   its position.
  public mutating func advance(
    to snapshot: Snapshot, mappings: Mappings? = nil, changing changes: [RangeChange] = []
  ) throws(TreeRingError) -> Change {
    var copy = self
    let change = try copy.show(snapshot, mappings: mappings, changing: changes)
    self = copy
    return change
  }

  /// Moves to the commit of a round, whose work other observers share.
  ///
  /// - Returns: Nil if no affected row lies in a group of the mappings, so that the rows shown stay
  ///   the same. That costs one lookup for each affected or followed group.
  /// - Throws: The errors of ``advance(to:mappings:changing:)``, with the same effect.
  package mutating func advance(to round: ChangeRound) throws(TreeRingError) -> Change? {
    var affected: AffectedRows?
    if let definition, start == nil {
      let present = try round.snapshot.definition(ofIndex: cursor.mappings.index)
      affected = try affectedRows(since: definition, to: round.snapshot, by: present, in: round)
      if definition.number == present.number, cursor.mappings.groups != nil,
        affected?.rows.isEmpty == true
      {
        cursor.pass(to: round.snapshot.commit)
        return nil
      }
    }
    var copy = self
    let change = try copy.show(
      round.snapshot, mappings: nil, changing: [], in: round, affected: affected)
    self = copy
    return change
  }

  private mutating func show(
    _ snapshot: Snapshot, mappings: Mappings?, changing changes: [RangeChange],
    in round: ChangeRound? = nil, affected known: AffectedRows? = nil
  ) throws(TreeRingError) -> Change {
    var reason = ResetReason.firstState
    if let start { reason = try resume(from: start, to: snapshot) ?? reason }
    let target = mappings ?? cursor.mappings
    let present = try snapshot.definition(ofIndex: target.index)
    let groups =
      if let round { try round.groups(of: present) } else {
        try self.groups(by: present, at: snapshot)
      }
    defer { definition = present }
    if let definition {
      let isDefinedAnew = definition.number != present.number
      if !target.index.isSameName(as: cursor.mappings.index) {
        reason = .otherIndex
      } else {
        var affected = known
        if affected == nil {
          affected = try affectedRows(since: definition, to: snapshot, by: present, in: round)
        }
        if let affected {
          return try cursor.advance(
            to: groups, by: affected, mappings: target, edits: changes,
            isDefinedAnew: isDefinedAnew,
            hasSumsAnew: isDefinedAnew && (definition.decimals ?? present.decimals) != nil,
            limit: limit)
        }
        reason = isDefinedAnew ? .definedAnew : .beyondHorizon
      }
    }
    return try cursor.reset(
      to: groups, at: snapshot.commit, mappings: target, edits: changes, because: reason)
  }

  // MARK: - Changing ranges

  /// Advances to the newest commit and shows this many more rows of a group, on the side away from
  /// the pin; fewer if negative.
  public mutating func extendRange(
    of group: GroupName, by rows: Int
  ) throws(TreeRingError) -> Change {
    try advance(changing: [RangeChange(.extend(by: rows), of: group)])
  }

  /// Advances to the newest commit and moves a group's range this many rows away from the pin;
  /// towards it if negative.
  public mutating func shiftRange(
    of group: GroupName, by rows: Int
  ) throws(TreeRingError) -> Change {
    try advance(changing: [RangeChange(.shift(by: rows), of: group)])
  }

  /// Advances to the newest commit and restarts a group's range; nil shows the whole group.
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

  /// The rows affected since the commit shown by a definition. Nil if that commit lies beyond the
  /// horizon, or if the effect of a replaced definition cannot be determined.
  private func affectedRows(
    since definition: IndexRecord, to snapshot: Snapshot, by present: IndexRecord,
    in round: ChangeRound?
  ) throws(TreeRingError) -> AffectedRows? {
    if definition.number != present.number {
      return try store.affectedRows(
        from: cursor.commit, shownBy: definition, to: snapshot, limit: limit)
    }
    do throws(TreeRingError) {
      if let round { return cursor.own(try round.merged(present, from: cursor.commit)) }
      return try store.affectedRows(ofIndex: present.name, from: cursor.commit, to: snapshot)
    } catch {
      guard error.code == .beyondHorizon || error.code == .snapshotExpired else { throw error }
      return nil
    }
  }

  /// Resumes from a position. If its commit cannot be read, or not by the same definition, only the
  /// windows are restored, at the commit to be shown.
  /// - Returns: The reason why the next change is a reset; nil if it is not.
  private mutating func resume(
    from position: MappingPosition, to snapshot: Snapshot
  ) throws(TreeRingError) -> ResetReason? {
    var reason = ResetReason.definedAnew
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
      if [.beyondHorizon, .snapshotExpired].contains(error.code) { reason = .beyondHorizon }
    }
    if let shown {
      try cursor.resume(at: shown.groups, position.commit, windows: position.windows)
    } else {
      let present = try snapshot.definition(ofIndex: position.index)
      try cursor.resume(
        at: try groups(by: present, at: snapshot), snapshot.commit, windows: position.windows)
    }
    definition = shown?.definition
    start = nil
    return shown == nil ? reason : nil
  }
}
