// The events of a location from a position in the log on. The state is that position, and for a
// query the keys that it shows with a digest of each child. So a client that does not read costs no
// queue: when it reads again, it gets the writes since then, or one event with all locations
// concerned.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLog

/// The events of a location.
struct LocationEvents {
  private let service: RealtimeService
  private let database: Database
  private let location: [FirebaseKey]
  private let query: ChildQuery?
  /// The commit whose state the client has.
  private(set) var position: CommitNumber = 0
  private(set) var hasBegun = false
  /// The children that a query shows, by digest.
  private var shown: [FirebaseKey: Int] = [:]
  /// The number of commits that a client may be behind to get each write by itself.
  private static let singleLimit: CommitNumber = 16
  /// The most locations of one event; with more it shows everything.
  private static let pathLimit = 1_000

  init(
    _ service: RealtimeService, _ database: Database, _ location: [FirebaseKey],
    query: ChildQuery?
  ) {
    self.service = service
    self.database = database
    self.location = location
    self.query = query
  }

  /// The next event: first the whole node, then changes. Nil if there is none, or if it belongs to
  /// a write that has not ended. Advances the position.
  mutating func next(_ snapshot: Snapshot, _ rules: CompiledRules) throws -> StreamEvent? {
    if !hasBegun {
      let event = try whole(snapshot, rules)
      hasBegun = true
      return event
    }
    return query?.isFiltering == true
      ? try windowChange(snapshot, rules) : try change(snapshot, rules)
  }

  private func tree(_ snapshot: Snapshot) -> TreeReader {
    TreeReader(source: snapshot, bucket: database.bucket)
  }

  /// The bound of one event.
  private var budget: ReadBudget { ReadBudget(byteLimit: service.options.responseByteCount) }

  private mutating func whole(_ snapshot: Snapshot, _ rules: CompiledRules) throws -> StreamEvent {
    let index = service.index(for: query, database, rules, in: snapshot)
    let node = try AnswerMaker.node(
      FirebasePath(keys: location), query, tree(snapshot), index: index, budget)
    position = snapshot.commit
    if query?.isFiltering == true { shown = Self.digests(node) }
    return .put(path: [], node)
  }

  /// The next write, or all of them at once. Advances the position.
  private mutating func change(
    _ snapshot: Snapshot, _ rules: CompiledRules
  ) throws -> StreamEvent? {
    if snapshot.commit - min(snapshot.commit, position) <= Self.singleLimit {
      while position < snapshot.commit {
        guard let effect = effect(of: position + 1) else { return nil }
        guard case .write(let write) = effect else { break }
        position += 1
        guard write.bucket == database.bucket else { continue }
        if let event = write.event(at: location) { return event }
      }
    }
    guard let paths = paths(to: snapshot.commit) else { return try whole(snapshot, rules) }
    return try StreamEvent.values(of: paths, at: location, in: tree(snapshot), budget)
  }

  /// The paths that the commits up to one concerned; nil if everything is to be sent. Advances the
  /// position, up to a write that has not ended at most.
  private mutating func paths(to newest: CommitNumber) -> [[FirebaseKey]]? {
    guard newest - min(newest, position) <= 4 * RecentWrites.countLimit else { return nil }
    var paths: [[FirebaseKey]] = []
    while position < newest {
      let next = position + 1
      guard let effect = effect(of: next) else { break }
      guard let some = effect.paths(bucket: database.bucket, at: location) else {
        return nil
      }
      paths += some
      position = next
      if paths.count > Self.pathLimit || paths.contains([]) { return nil }
    }
    return paths
  }

  /// The effect of a commit; nil while its write has not ended. Unknown if compaction has dropped
  /// the commit: then the client gets everything.
  private func effect(of commit: CommitNumber) -> CommitEffect? {
    let result = Result { () throws(TreeRingError) in
      try service.recent.effect(of: commit, in: service.store)
    }
    switch result {
    case .success(let effect): return effect
    case .failure: return .many
    }
  }

  // MARK: - Queries

  private static func digests(_ node: FirebaseNode) -> [FirebaseKey: Int] {
    Dictionary(node.unsortedChildren.map { ($0.key, $0.node.hashValue) }) { first, _ in first }
  }

  /// The change of the children that a query shows: all that differ, whole, and null for those that
  /// leave. The write itself if it concerns shown children only.
  private mutating func windowChange(
    _ snapshot: Snapshot, _ rules: CompiledRules
  ) throws -> StreamEvent? {
    let before = position
    if let paths = paths(to: snapshot.commit) {
      if paths.isEmpty { return nil }
      if position < snapshot.commit {
        // A write has not ended; its commit is shown with those before it.
        position = before
        return nil
      }
    }
    let former = shown
    let event = try whole(snapshot, rules)
    guard case .put(_, let node) = event else { return event }
    var nodes = former.keys.filter { shown[$0] == nil }.map {
      (path: [$0], node: FirebaseNode.null)
    }
    let isSameWindow = nodes.isEmpty && shown.count == former.count
    for child in node.unsortedChildren where former[child.key] != shown[child.key] {
      nodes.append(([child.key], child.node))
    }
    guard let first = nodes.first else { return nil }
    if isSameWindow, position == before + 1,
      case .write(let write)? = effect(of: position),
      let event = write.event(at: location), event.concernsOnly(shown.keys)
    {
      return event
    }
    return nodes.count == 1 ? .put(path: first.path, first.node) : .patch(base: [], nodes)
  }
}

extension StreamEvent {
  /// Whether all that the event replaces is in children of these keys.
  fileprivate func concernsOnly(_ keys: Dictionary<FirebaseKey, Int>.Keys) -> Bool {
    switch self {
    case .put(let path, _): path.first.map { keys.contains($0) } ?? false
    case .patch(let base, let nodes):
      nodes.allSatisfy { node in
        (base.first ?? node.path.first).map { keys.contains($0) } ?? false
      }
    case .cancel, .authRevoked: false
    }
  }
}
