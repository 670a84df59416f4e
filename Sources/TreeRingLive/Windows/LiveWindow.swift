// One window of a session: an observer, the moment that the client wants, and the part of a whole
// window that is still to send. It holds no row and pins nothing between two messages.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

/// A window that a client shows.
struct LiveWindow: Sendable {
  let id: WindowID
  private let fields: [JSONPath]?
  private let givesTotals: Bool
  private let access: LiveAccess
  private let limits: LiveLimits
  private var observer: MappingObserver
  /// The groups that have had a range or a direction of their own.
  private var ranged: Set<GroupName>
  private var digest: RequestDigest
  /// Whether the client's position belongs to another request.
  private var refusesPosition = false
  /// The commit wanted; nil for the newest.
  private var target: CommitNumber?
  /// Range changes that wait for the next message.
  private var edits: [RangeChange] = []
  /// Whether the client waits for an answer, even for an empty one.
  private var awaitsAnswer = true
  /// The first row that a whole window has not sent yet; nil if it has sent all.
  private var rest: RowPath?
  /// The commit that the client shows; nil before the first message.
  private var sent: CommitNumber?

  init(
    _ request: WindowRequest, of store: Store, for access: LiveAccess, _ limits: LiveLimits
  ) throws(TreeRingError) {
    id = request.id
    fields = request.fields
    givesTotals = request.givesTotals
    self.access = access
    self.limits = limits
    let newest = try store.snapshot()
    try access.check(index: request.index, among: newest.indexes)
    // An unknown index is an error of the opening.
    _ = try newest.definition(ofIndex: request.index)
    target = try request.at?.commit(in: store)
    let mappings = request.mappings
    guard request.groups?.count ?? 0 <= limits.groups else { throw Self.tooManyGroups(limits) }
    observer = store.observer(of: mappings, limit: limits.operations)
    ranged = Set(request.ranges.map(\.group) + request.reversed)
    digest = RequestDigest(
      mappings, ranged: ranged, fields: request.fields, givesTotals: givesTotals)
    switch request.from {
    case nil: break
    case .position(let position) where position.digest != digest: refusesPosition = true
    case .position(let position):
      start(at: position.position(in: request.index), in: store, mappings)
    case .commit(let commit):
      let number = try Self.definition(of: request.index, at: commit, in: store)
      start(
        at: MappingPosition(index: request.index, commit: commit, definition: number), in: store,
        mappings)
    }
  }

  private mutating func start(
    at position: MappingPosition, in store: Store, _ mappings: Mappings
  ) {
    observer = store.observer(of: mappings, from: position, limit: limits.operations)
    sent = position.commit
  }

  /// The number of the definition by which an index was shown at a commit. If the commit cannot be
  /// read, any number does: the window then begins with a reset.
  private static func definition(
    of index: String, at commit: CommitNumber, in store: Store
  ) throws(TreeRingError) -> UInt32 {
    do throws(TreeRingError) {
      let past = try store.snapshot(at: .commit(commit))
      return try past.formerDefinition(ofIndex: index)?.number ?? 0
    } catch {
      guard [.beyondHorizon, .notFound, .snapshotExpired].contains(error.code) else { throw error }
      return 0
    }
  }

  static func tooManyGroups(_ limits: LiveLimits) -> TreeRingError {
    TreeRingError(
      .tooLarge,
      "The window shows more than \(limits.groups) groups. List the groups to show.")
  }

  // MARK: - Requests

  /// Moves to a commit; nil follows the newest one.
  mutating func seek(_ commit: CommitNumber?) {
    target = commit
    awaitsAnswer = true
  }

  /// Changes ranges with the next message.
  ///
  /// - Throws: `tooLarge` if too many changes wait already.
  mutating func change(_ changes: [RangeChange]) throws(TreeRingError) {
    let groups = ranged.union(changes.map(\.group))
    guard edits.count + changes.count <= limits.groups, groups.count <= limits.groups else {
      throw TreeRingError(
        .tooLarge,
        "There are too many changes of ranges. Read the answers, or open the window anew.")
    }
    edits += changes
    ranged = groups
    awaitsAnswer = true
  }

  /// Forgets the requests that could not be answered.
  mutating func dropRequests() {
    edits = []
    awaitsAnswer = false
    target = target == nil ? nil : observer.commit
  }

  /// Whether the client waits for an answer, or for the rest of a whole window.
  var hasMore: Bool { awaitsAnswer || rest != nil }

  /// Whether a message could be due while this commit is the newest. Costs one comparison.
  func mayBeDue(at newest: CommitNumber) -> Bool {
    awaitsAnswer || rest != nil || (target == nil && observer.commit ?? 0 != newest)
  }

  /// Whether an error leaves the window as it was: it shows something, and only a request failed.
  var outlivesError: Bool { observer.commit != nil && (target != nil || awaitsAnswer) }

  // MARK: - Messages

  /// The next message; nil if nothing that the window shows has changed.
  ///
  /// - Throws: The errors of reading. The window then shows what it showed before.
  mutating func nextMessage(in rounds: LiveRounds) throws(TreeRingError) -> [UInt8]? {
    if let rest { return try continueWhole(from: rest, in: rounds) }
    let change: Change
    let snapshot: Snapshot
    var key: SharedRound.Key?
    // A round that is held may lie before a commit that the window has reached by itself.
    let shared = try rounds.newest(notBefore: observer.commit ?? 0)
    if target == nil, edits.isEmpty {
      snapshot = shared.round.snapshot
      try check(snapshot)
      if !awaitsAnswer, let sent, let position = observer.position {
        key = SharedRound.Key(
          mappings: observer.mappings, fields: fields, givesTotals: givesTotals,
          position: position, sent: sent)
      }
      if let key, let outcome = shared.outcome(key) {
        observer = outcome.observer
        sent = snapshot.commit
        return Array("{\"id\":".utf8) + id.json + outcome.message
      }
      if let found = try observer.advance(to: shared.round) {
        change = found
      } else if awaitsAnswer {
        change = try observer.advance(to: snapshot)
      } else {
        return nil
      }
    } else {
      snapshot =
        if let target { try rounds.store.snapshot(at: .commit(target)) } else {
          shared.round.snapshot
        }
      try check(snapshot)
      change = try observer.advance(to: snapshot, changing: edits)
    }
    if !edits.isEmpty {
      digest = RequestDigest(
        observer.mappings, ranged: ranged, fields: fields, givesTotals: givesTotals)
    }
    edits = []
    guard change.after.sections.endIndex <= limits.groups else {
      throw Self.tooManyGroups(limits)
    }
    let isAwaited = awaitsAnswer
    awaitsAnswer = false
    let totals = givesTotals ? try SectionTotals.changed(by: change) : []
    if change.isEmpty, totals.isEmpty, !isAwaited { return nil }
    if let from = sent, !change.isReset,
      let message = try encode(change, totals, from: from, snapshot)
    {
      sent = snapshot.commit
      if let key {
        let end = message[("{\"id\":".utf8.count + id.json.count)...]
        shared.keep(SharedRound.Outcome(observer: observer, message: end), for: key)
      }
      return message
    }
    return try whole(
      change.after, from: RowPath(section: 0, row: 0), snapshot,
      because: change.resetReason ?? (sent == nil ? .firstState : .overLimit))
  }

  /// Throws unless the client may see the index as it is defined where it is read: it may have been
  /// defined anew, over other buckets.
  private func check(_ snapshot: Snapshot) throws(TreeRingError) {
    try access.check(index: observer.mappings.index, among: snapshot.indexes)
  }

  /// Sends the next piece of a whole window. If its commit can no longer be read, the window begins
  /// anew.
  private mutating func continueWhole(
    from path: RowPath, in rounds: LiveRounds
  ) throws(TreeRingError) -> [UInt8]? {
    let store = rounds.store
    if let position = observer.position {
      do throws(TreeRingError) {
        let snapshot = try store.snapshot(at: .commit(position.commit))
        try check(snapshot)
        var copy = store.observer(of: observer.mappings, from: position, limit: limits.operations)
        let change = try copy.advance(to: snapshot)
        if !change.isReset { return try whole(change.after, from: path, snapshot, because: nil) }
      } catch {
        guard [.beyondHorizon, .snapshotExpired].contains(error.code) else { throw error }
      }
    }
    let mappings = observer.mappings
    observer = store.observer(of: mappings, limit: limits.operations)
    if target != nil { target = store.newestCommit }
    (rest, sent, awaitsAnswer) = (nil, nil, true)
    return try nextMessage(in: rounds)
  }

  /// A piece of a whole window from a path on; the first one gives the reason.
  private mutating func whole(
    _ shown: ShownRows, from path: RowPath, _ snapshot: Snapshot, because reason: ResetReason?
  ) throws(TreeRingError) -> [UInt8] {
    var encoder = head(snapshot)
    if let reason {
      let name = refusesPosition ? "otherRequest" : reason.rawValue
      refusesPosition = false
      encoder.append(",\"reset\":\"\(name)\"")
      encoder.append(",\"count\":\(shown.rowCount)")
    }
    encoder.append(",\"sections\":[")
    var path = path
    let sections = shown.outline
    let first = path
    var isFull = false
    while path.section < sections.count, !isFull {
      let section = sections[path.section]
      encoder.append(encoder.output.last == UInt8(ascii: "[") ? "[" : ",[")
      encoder.append(key: section.group.bytes)
      encoder.append(",[")
      var isFirst = true
      while path.row < section.count, !isFull {
        guard let row = try shown.row(at: path) else { break }
        encoder.append(isFirst ? "[" : ",[")
        isFirst = false
        encoder.append(identity: row)
        encoder.append(",")
        try encoder.append(objectOf: row)
        encoder.append("]")
        path.row += 1
        isFull = encoder.output.count >= limits.pieceByteCount
      }
      encoder.append("]]")
      isFull = encoder.output.count >= limits.pieceByteCount
      if path.row >= section.count { path = RowPath(section: path.section + 1, row: 0) }
    }
    encoder.append("]")
    if givesTotals {
      // A section that continues has sent its total.
      let begun = first.row == 0 ? first.section : first.section + 1
      let end = path.row == 0 ? path.section : path.section + 1
      let names = sections[min(begun, end)..<end].map(\.group)
      var totals: [SectionTotals] = []
      for name in names {
        if let total = SectionTotals(of: name, in: shown) {
          totals.append(try total.withSum(in: shown))
        }
      }
      encoder.append(totals: totals)
    }
    rest = path.section < sections.count ? path : nil
    if rest != nil { encoder.append(",\"more\":true") }
    encoder.append("}")
    sent = snapshot.commit
    return encoder.output
  }

  /// The beginning of a message about a commit.
  private func head(_ snapshot: Snapshot, from: CommitNumber? = nil) -> RowEncoder {
    var encoder = RowEncoder(snapshot: snapshot, fields: fields, output: Array("{\"id\":".utf8))
    encoder.output.append(contentsOf: id.json)
    if let from { encoder.append(",\"from\":\(from)") }
    encoder.append(",\"commit\":\(snapshot.commit),\"at\":\"")
    ISO8601.append(snapshot.timestamp, to: &encoder.output)
    encoder.append("\"")
    if let position = observer.position {
      encoder.append(",\"position\":\"")
      WindowPosition.append(position, digest, to: &encoder.output)
      encoder.append("\"")
    }
    return encoder
  }
}

extension LiveWindow {
  /// A change as removals and placements; nil if it is so large that a whole window is better.
  private func encode(
    _ change: Change, _ totals: [SectionTotals], from: CommitNumber, _ snapshot: Snapshot
  ) throws(TreeRingError) -> [UInt8]? {
    let placements = try change.placements()
    var encoder = head(snapshot, from: from)
    let newRows = placements.placeSections.reduce(0) { count, section in
      section.isNew
        ? count + (change.after.section(of: section.group).flatMap(change.after.rowCount) ?? 0)
        : count
    }
    if newRows > limits.operations { return nil }
    if !change.sections.isEmpty { try encoder.append(sectionsOf: placements, change.after) }
    if !change.rows.isEmpty || !placements.place.isEmpty { try encoder.append(rowsOf: placements) }
    encoder.append(totals: totals)
    encoder.append("}")
    return encoder.output.count > limits.changeByteCount ? nil : encoder.output
  }
}
