// The stream of one client. Its state is a position in the log, and for a query the keys that it
// shows with a digest of each child. So a client that does not read costs no queue: when it reads
// again, it gets the writes since then, or one event with all locations concerned.

internal import TreeRing
internal import TreeRingFirebase
public import TreeRingLive
internal import TreeRingLog
internal import TreeRingPlatform

/// The events of a location. Any thread may use it.
public final class EventReader: LiveReader {
  private struct State {
    var position: CommitNumber = 0
    var hasBegun = false
    var isOver = false
    /// The children that a query shows, by digest.
    var shown: [FirebaseKey: Int] = [:]
  }

  private let service: RealtimeService
  private let context: RequestContext
  private let location: [FirebaseKey]
  private let isInfo: Bool
  private let state = Mutex(State())
  // Copies of the state for threads that must not wait for a message that is being made.
  private let position = Atomic<CommitNumber>(0)
  private let hasBegun = Atomic(false)
  private let hasEnded = Atomic(false)
  /// The request for an event even if nothing has changed.
  private let wantsLife = Atomic(false)
  /// The number of commits that a client may be behind to get each write by itself.
  private static let singleLimit: CommitNumber = 16
  /// The most locations of one event; with more it shows everything.
  private static let pathLimit = 1_000

  init(_ service: RealtimeService, _ request: RealtimeRequest) throws {
    self.service = service
    context = try RequestContext(request, service.authority, now: RequestContext.now)
    let parameters = context.parameters
    guard context.method == "GET", parameters.at == nil, !parameters.isShallow,
      parameters.print != .silent, parameters.callback == nil
    else {
      throw RealtimeError(
        400, "The request does not support one of the query parameters for a stream.")
    }
    switch context.target {
    case .node(let path) where path.part == .node: (location, isInfo) = (path.keys, false)
    case .info(let names) where names.count == 1:
      location = [try FirebaseKey(names[0])]
      isInfo = true
      return
    default: throw RealtimeError(400, "This location has no stream.")
    }
    let snapshot = try service.store.snapshot()
    let rules = try service.rules(of: context.database, in: snapshot)
    try service.checkRead(context, location, rules, at: snapshot)
    try service.checkIndex(parameters.query, location, rules)
  }

  /// Whether the stream has ended. Its last message said why.
  public var isOver: Bool { hasEnded.load(ordering: .acquiring) }

  public var mayBeDue: Bool {
    if isOver { return false }
    if !hasBegun.load(ordering: .acquiring) || wantsLife.load(ordering: .acquiring) { return true }
    let position = position.load(ordering: .acquiring)
    return !isInfo && position < service.store.newestCommit
      && !service.recent.isPending(position + 1)
  }

  public var hasMore: Bool { mayBeDue }

  /// Makes an event due, so that the client sees that the connection lives.
  public func requestKeepAlive() { wantsLife.store(true, ordering: .releasing) }

  public func nextMessage() -> [UInt8]? {
    state.withLock { state in
      defer {
        position.store(state.position, ordering: .releasing)
        hasBegun.store(state.hasBegun, ordering: .releasing)
        hasEnded.store(state.isOver, ordering: .releasing)
      }
      if state.isOver { return nil }
      let message: [UInt8]?
      do {
        try checkCredential()
        message = isInfo ? try nextInfo(&state) : try next(&state)
      } catch {
        state.isOver = true
        let failure = RealtimeError(error)
        let isRevoked = failure == .badToken || failure == .expiredToken
        return (isRevoked ? StreamEvent.authRevoked : .cancel(failure.text)).bytes(isExport: false)
      }
      let wantsLife = wantsLife.exchange(false, ordering: .acquiringAndReleasing)
      return message ?? (wantsLife ? StreamEvent.keepAlive : nil)
    }
  }

  /// Throws if the token is no longer valid.
  private func checkCredential() throws {
    _ = try service.authority.principal(
      context.credential, override: context.parameters.authOverride,
      bucket: context.database.bucket, now: RequestContext.now)
  }

  private func nextInfo(_ state: inout State) throws -> [UInt8]? {
    if state.hasBegun { return nil }
    state.hasBegun = true
    let node = try FirebaseNode(json: try Info.value(location.map(\.text)))
    return StreamEvent.put(path: [], node).bytes(isExport: false)
  }

  private func next(_ state: inout State) throws -> [UInt8]? {
    if state.hasBegun, state.position >= service.store.newestCommit { return nil }
    let snapshot = try service.store.snapshot()
    let rules = try service.rules(of: context.database, in: snapshot)
    try service.checkRead(context, location, rules, at: snapshot)
    let event: StreamEvent?
    if !state.hasBegun {
      event = try whole(snapshot, rules, &state)
      state.hasBegun = true
    } else if context.parameters.query?.isFiltering == true {
      try service.checkIndex(context.parameters.query, location, rules)
      event = try windowChange(snapshot, rules, &state)
    } else {
      event = try change(snapshot, rules, &state)
    }
    return event?.bytes(isExport: context.parameters.isExport)
  }

  private func tree(_ snapshot: Snapshot) -> TreeReader {
    TreeReader(source: snapshot, bucket: context.database.bucket)
  }

  private func whole(
    _ snapshot: Snapshot, _ rules: CompiledRules, _ state: inout State
  ) throws -> StreamEvent {
    let query = context.parameters.query
    let index = service.index(for: query, context.database, rules, in: snapshot)
    let budget = ReadBudget(byteLimit: service.options.responseByteCount)
    let node = try AnswerMaker.node(
      FirebasePath(keys: location), query, tree(snapshot), index: index, budget)
    state.position = snapshot.commit
    if query?.isFiltering == true { state.shown = Self.digests(node) }
    return .put(path: [], node)
  }

  /// The next write, or all of them at once. Advances the position.
  private func change(
    _ snapshot: Snapshot, _ rules: CompiledRules, _ state: inout State
  ) throws -> StreamEvent? {
    let isNear = snapshot.commit - state.position <= Self.singleLimit
    var position = state.position
    if isNear {
      while position < snapshot.commit {
        guard let effect = try service.recent.effect(of: position + 1, in: service.store) else {
          state.position = position
          return nil
        }
        guard case .write(let write) = effect else { break }
        position += 1
        state.position = position
        guard write.bucket == context.database.bucket else { continue }
        if let event = write.event(at: location) { return event }
      }
    }
    guard let paths = try paths(to: snapshot.commit, &state) else {
      return try whole(snapshot, rules, &state)
    }
    return try StreamEvent.values(of: paths, at: location, in: tree(snapshot))
  }

  /// The paths that the commits up to one concerned; nil if everything is to be sent. Advances the
  /// position, up to a write that has not ended at most.
  private func paths(
    to newest: CommitNumber, _ state: inout State
  ) throws -> [[FirebaseKey]]? {
    guard newest - min(newest, state.position) <= 4 * RecentWrites.countLimit else { return nil }
    var paths: [[FirebaseKey]] = []
    while state.position < newest {
      let next = state.position + 1
      let result = Result { () throws(TreeRingError) in
        try service.recent.effect(of: next, in: service.store)
      }
      // Compaction may have dropped the commit.
      guard case .success(let found) = result else { return nil }
      guard let effect = found else { break }
      guard let some = effect.paths(bucket: context.database.bucket, at: location) else {
        return nil
      }
      paths += some
      state.position = next
      if paths.count > Self.pathLimit || paths.contains([]) { return nil }
    }
    return paths
  }

  // MARK: - Queries

  private static func digests(_ node: FirebaseNode) -> [FirebaseKey: Int] {
    Dictionary(node.unsortedChildren.map { ($0.key, $0.node.hashValue) }) { first, _ in first }
  }

  /// The change of the children that a query shows: all that differ, whole, and null for those that
  /// leave. The write itself if it concerns shown children only.
  private func windowChange(
    _ snapshot: Snapshot, _ rules: CompiledRules, _ state: inout State
  ) throws -> StreamEvent? {
    let before = state.position
    if let paths = try paths(to: snapshot.commit, &state) {
      if paths.isEmpty { return nil }
      if state.position < snapshot.commit {
        // A write has not ended; its commit is shown with those before it.
        state.position = before
        return nil
      }
    }
    let shown = state.shown
    let event = try whole(snapshot, rules, &state)
    guard case .put(_, let node) = event else { return event }
    var nodes = shown.keys.filter { state.shown[$0] == nil }.map {
      (path: [$0], node: FirebaseNode.null)
    }
    let isSameWindow = nodes.isEmpty && state.shown.count == shown.count
    for child in node.unsortedChildren where shown[child.key] != state.shown[child.key] {
      nodes.append(([child.key], child.node))
    }
    guard let first = nodes.first else { return nil }
    if isSameWindow, state.position == before + 1,
      case .write(let write)? = try service.recent.effect(of: state.position, in: service.store),
      let event = write.event(at: location), event.concernsOnly(state.shown.keys)
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
