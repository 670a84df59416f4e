// The stream of one client: the events of its location, and the reason why it ends.

internal import TreeRing
internal import TreeRingFirebase
public import TreeRingLive
internal import TreeRingLog
internal import TreeRingPlatform

/// The events of a location. Any thread may use it.
public final class EventReader: LiveReader {
  private struct State {
    var events: LocationEvents
    var hasBegun = false
    var isOver = false
  }

  private let service: RealtimeService
  private let context: RequestContext
  private let location: [FirebaseKey]
  private let isInfo: Bool
  private let state: Mutex<State>
  // Copies of the state for threads that must not wait for a message that is being made.
  private let position = Atomic<CommitNumber>(0)
  private let hasBegun = Atomic(false)
  private let hasEnded = Atomic(false)
  /// The request for an event even if nothing has changed.
  private let wantsLife = Atomic(false)

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
      (location, isInfo) = ([try FirebaseKey(names[0])], true)
    default: throw RealtimeError(400, "This location has no stream.")
    }
    let events = LocationEvents(
      service, context.database, location, query: context.parameters.query)
    state = Mutex(State(events: events))
    if isInfo { return }
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
        position.store(state.events.position, ordering: .releasing)
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
    if state.hasBegun, state.events.position >= service.store.newestCommit { return nil }
    let snapshot = try service.store.snapshot()
    let rules = try service.rules(of: context.database, in: snapshot)
    try service.checkRead(context, location, rules, at: snapshot)
    if state.hasBegun { try service.checkIndex(context.parameters.query, location, rules) }
    let event = try state.events.next(snapshot, rules)
    state.hasBegun = true
    return event?.bytes(isExport: context.parameters.isExport)
  }
}
