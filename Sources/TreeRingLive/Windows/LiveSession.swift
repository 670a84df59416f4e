// The live windows of one connection, without any network. A client's message goes in; a message
// comes out whenever the connection can be written to.
//
// A session keeps one position for each window and no queue. `nextMessage` merges everything since
// that position. So a client that does not read costs a commit number, and gets one change when it
// reads again. Only answers to its own messages wait, a few of them; then the session takes no
// further message (`acceptsInput`).

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings
internal import TreeRingPlatform

/// A reader at a position: the live windows of a connection, or the tail of the log.
public protocol LiveReader: AnyObject, Sendable {
  /// The next message to send, with everything since the last one; nil if there is nothing new.
  /// Reads the store on the caller's thread.
  func nextMessage() -> [UInt8]?
  /// Whether a message could be due. Costs a comparison for each window.
  var mayBeDue: Bool { get }
  /// Whether a message is due even without a further commit.
  var hasMore: Bool { get }
}

/// The live windows of one connection. Any thread may use it.
public final class LiveSession: LiveReader {
  private struct State {
    var windows: [LiveWindow] = []
    /// The window to look at first, so that each has its turn.
    var next = 0
    /// The answers to messages that wait to be sent.
    var replies: [[UInt8]] = []
  }

  private let rounds: LiveRounds
  private let access: LiveAccess
  private let limits: LiveLimits
  private let state = Mutex(State())

  init(_ rounds: LiveRounds, access: LiveAccess, limits: LiveLimits) {
    self.rounds = rounds
    self.access = access
    self.limits = limits
  }

  /// The number of open windows.
  public var windowCount: Int { state.withLock { $0.windows.count } }

  /// Whether the session takes a further message. False while answers wait to be sent.
  public var acceptsInput: Bool { state.withLock { $0.replies.count < limits.replies } }

  public var mayBeDue: Bool {
    let newest = rounds.store.newestCommit
    return state.withLock { state in
      !state.replies.isEmpty || state.windows.contains { $0.mayBeDue(at: newest) }
    }
  }

  public var hasMore: Bool {
    state.withLock { state in
      !state.replies.isEmpty || state.windows.contains { $0.hasMore }
    }
  }

  /// Takes a message of the client. A mistake in it becomes an answer. Reads the store on the
  /// caller's thread, for a moment in history that it names.
  public func receive(_ message: [UInt8]) {
    state.withLock { state in
      do throws(TreeRingError) {
        let message = try ClientMessage(message)
        do throws(TreeRingError) {
          try handle(message, &state)
        } catch {
          state.replies.append(Self.reply(error, to: message.window))
        }
      } catch {
        state.replies.append(Self.reply(error, to: nil))
      }
    }
  }

  /// Opens a window by its message.
  ///
  /// - Throws: The mistake, which `receive` would answer.
  func open(_ message: [UInt8]) throws(TreeRingError) {
    try state.withLock { state throws(TreeRingError) in
      try handle(try ClientMessage(message), &state)
    }
  }

  public func nextMessage() -> [UInt8]? {
    state.withLock { state in
      if !state.replies.isEmpty { return state.replies.removeFirst() }
      let newest = rounds.store.newestCommit
      for _ in 0..<state.windows.count {
        if state.next >= state.windows.count { state.next = 0 }
        let index = state.next
        state.next += 1
        if !state.windows[index].mayBeDue(at: newest) { continue }
        if let message = message(of: index, &state) { return message }
      }
      return nil
    }
  }

  // MARK: - Steps

  private func message(of index: Int, _ state: inout State) -> [UInt8]? {
    let id = state.windows[index].id
    do throws(TreeRingError) {
      return try state.windows[index].nextMessage(in: rounds)
    } catch {
      // A request that cannot be answered is dropped. A window that cannot follow is closed.
      if !state.windows[index].outlivesError || [.tooLarge, .notAllowed].contains(error.code) {
        state.windows.remove(at: index)
        return Self.reply(error, to: id, closing: true)
      }
      state.windows[index].dropRequests()
      return Self.reply(error, to: id)
    }
  }

  private func handle(_ message: ClientMessage, _ state: inout State) throws(TreeRingError) {
    func place(of id: WindowID) throws(TreeRingError) -> Int {
      guard let place = state.windows.firstIndex(where: { $0.id == id }) else {
        throw TreeRingError(.notFound, "There is no window of this name.")
      }
      return place
    }
    switch message {
    case .open(let request):
      if state.windows.contains(where: { $0.id == request.id }) {
        throw TreeRingError(.alreadyExists, "There is a window of this name. Close it first.")
      }
      guard state.windows.count < limits.windows else {
        throw TreeRingError(
          .tooLarge, "A connection has at most \(limits.windows) windows. Close one first.")
      }
      state.windows.append(
        try LiveWindow(request, of: rounds.store, for: access, limits))
    case .seek(let id, let point):
      let place = try place(of: id)
      state.windows[place].seek(try point.commit(in: rounds.store))
    case .live(let id): state.windows[try place(of: id)].seek(nil)
    case .change(let id, let changes): try state.windows[try place(of: id)].change(changes)
    case .close(let id):
      state.windows.remove(at: try place(of: id))
      state.replies.append(Array("{\"id\":".utf8) + id.json + Array(",\"closed\":true}".utf8))
    case .ping(let value):
      var reply = Array("{\"pong\":".utf8)
      value.append(to: &reply)
      reply.append(contentsOf: ",\"commit\":\(rounds.store.newestCommit)}".utf8)
      state.replies.append(reply)
    }
  }

  private static func reply(
    _ error: TreeRingError, to id: WindowID?, closing: Bool = false
  ) -> [UInt8] {
    var reply = Array("{".utf8)
    if let id { reply += Array("\"id\":".utf8) + id.json + Array(",".utf8) }
    if closing { reply += Array("\"closed\":true,".utf8) }
    return reply + Array("\"error\":\(ErrorObject.value(error))}".utf8)
  }
}

extension ClientMessage {
  /// The window that the message concerns; nil if it concerns none.
  fileprivate var window: WindowID? {
    switch self {
    case .open(let request): request.id
    case .seek(let id, _), .live(let id), .change(let id, _), .close(let id): id
    case .ping: nil
    }
  }
}
