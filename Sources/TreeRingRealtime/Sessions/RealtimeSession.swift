// A connection of a Firebase SDK, without any network. Frames of text come in; frames go out
// whenever the connection can be written to.
//
// A session keeps a position for each listen and no queue of events. Answers to requests wait, a
// few of them; then it takes no further frame (`acceptsInput`). One message is cut into frames at a
// time.
//
// The order, on which the SDKs depend:
//
//   1. The data of a listen precedes the listen's answer.
//   2. All listens show a write before its answer goes out, also after a condition that failed.
//   3. A value that is read once is not older than what the listens show, and no event that follows
//      is older than it.

internal import Foundation
internal import TreeRing
internal import TreeRingFirebase
public import TreeRingLive
internal import TreeRingLog
internal import TreeRingPlatform

/// The connection of one SDK. Any thread may use it.
public final class RealtimeSession: LiveReader {
  /// The rights of the client.
  struct Login: Sendable {
    var credential: String?
    var override: JSONValue?
    var principal = Principal.user(.null)
  }

  /// The part that takes frames.
  struct Input {
    var joiner: FrameJoiner
    var disconnects: DisconnectWrites
    var isEnded = false
    var listenCount: UInt64 = 0
  }

  /// An answer that waits to be sent.
  enum Reply {
    /// A text, which goes out when all listens show a commit.
    case message([UInt8], after: CommitNumber)
    /// The text after which the session ends.
    case end([UInt8])
    case listen(UInt64, number: Int64)
    case get([FirebaseKey], ChildQuery?, number: Int64)
  }

  private struct Output {
    var login = Login()
    var listens: [SessionListen] = []
    /// The listen to look at first, so that each has its turn.
    var turn = 0
    var replies: [Reply] = []
    var cutter: FrameCutter?
    /// Whether the rights have changed since the listens were checked.
    var needsCheck = false
    /// Whether the first answer waits for a write that has not ended.
    var isBlocked = false
    var isOver = false
  }

  let service: RealtimeService
  let database: Database
  let input: Mutex<Input>
  private let output: Mutex<Output>
  // Copies of the state for threads that must not wait for a message that is being made.
  private let owes = Atomic(true)
  private let oldest = Atomic<CommitNumber>(.max)
  private let takesInput = Atomic(true)
  private let hasEnded = Atomic(false)
  private let wantsCheck = Atomic(false)
  /// The most answers that wait.
  private static let replyLimit = 16
  /// The most listens of a session.
  static let listenLimit = 1_000

  init(_ service: RealtimeService, _ database: Database, host: String) {
    self.service = service
    self.database = database
    let limit = service.options.bodyByteCount
    input = Mutex(
      Input(
        joiner: FrameJoiner(limit: limit + 64 << 10),
        disconnects: DisconnectWrites(byteLimit: limit)))
    let name = (0..<2).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }
    let hello = SessionReply.hello(
      host: host, session: name.joined(), now: RequestContext.now)
    output = Mutex(Output(replies: [.message(hello, after: 0)]))
  }

  /// Whether the session has ended. Its last message said why.
  public var isOver: Bool { hasEnded.load(ordering: .acquiring) }

  /// Whether the session takes a further frame. False while answers wait to be sent.
  public var acceptsInput: Bool { takesInput.load(ordering: .acquiring) }

  public var mayBeDue: Bool {
    if isOver { return false }
    if owes.load(ordering: .acquiring) || wantsCheck.load(ordering: .acquiring) { return true }
    let oldest = oldest.load(ordering: .acquiring)
    return oldest < service.store.newestCommit && !service.recent.isPending(oldest + 1)
  }

  public var hasMore: Bool { mayBeDue }

  /// Makes the session check its token with the next message.
  public func requestCheck() { wantsCheck.store(true, ordering: .releasing) }

  /// The rights of the client; setting them makes the listens be checked.
  var login: Login {
    get { output.withLock { $0.login } }
    set {
      change { output in
        output.login = newValue
        output.needsCheck = true
      }
    }
  }

  private func change<Value: Sendable, Failure: Error>(
    _ body: (inout Output) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try output.withLock { (output) throws(Failure) in
      defer { publish(output) }
      return try body(&output)
    }
  }

  private func publish(_ output: Output) {
    let isCut = output.cutter?.isDone ?? true
    let waits = !output.replies.isEmpty && !output.isBlocked
    owes.store(!isCut || !output.isOver && (waits || output.needsCheck), ordering: .releasing)
    let positions = output.listens.lazy.filter(\.events.hasBegun).map(\.events.position)
    oldest.store(positions.min() ?? .max, ordering: .releasing)
    takesInput.store(
      !output.isOver && output.replies.count < Self.replyLimit, ordering: .releasing)
    hasEnded.store(output.isOver && isCut, ordering: .releasing)
  }

  /// Adds an answer.
  func reply(_ reply: Reply) {
    change { output in
      output.replies.append(reply)
      output.isBlocked = false
    }
  }

  /// Adds a listen in place of one with the same name.
  func add(_ listen: SessionListen, number: Int64) throws {
    try change { output in
      output.listens.removeAll { $0.isNamed(by: listen.path, tag: listen.tag) }
      guard output.listens.count < Self.listenLimit else {
        throw RealtimeError(400, "A connection has at most \(Self.listenLimit) listens.")
      }
      output.listens.append(listen)
      output.replies.append(.listen(listen.id, number: number))
      output.isBlocked = false
    }
  }

  func removeListen(at path: [FirebaseKey], tag: Int64?) {
    change { $0.listens.removeAll { $0.isNamed(by: path, tag: tag) } }
  }

  /// Ends all sending.
  func endOutput() {
    change { output in
      output.isOver = true
      output.cutter = nil
      output.listens = []
      output.replies = []
    }
  }

  // MARK: - Messages

  /// The next frame.
  public func nextMessage() -> [UInt8]? {
    change { output in
      if let frame = output.cutter?.next() { return frame }
      output.cutter = nil
      if output.isOver { return nil }
      do {
        guard let message = try next(&output) else { return nil }
        output.cutter = FrameCutter(message)
      } catch {
        // The store is closed or damaged: the client connects again later.
        output.isOver = true
        let text = JSONText.quoted(RealtimeError(error).text)
        output.cutter = FrameCutter(SessionReply.control("e", text))
      }
      return output.cutter?.next()
    }
  }

  private func next(_ output: inout Output) throws -> [UInt8]? {
    output.isBlocked = false
    wantsCheck.store(false, ordering: .releasing)
    if let message = revoked(&output) { return message }
    if output.needsCheck, let message = try checkListens(&output) { return message }
    guard let reply = output.replies.first else {
      let newest = service.store.newestCommit
      guard output.listens.contains(where: { $0.isBehind(newest) }) else { return nil }
      return try advance(&output, try service.store.snapshot(), to: newest)
    }
    switch reply {
    case .message(let text, let commit):
      if output.listens.contains(where: { $0.isBehind(commit) }) {
        if let event = try advance(&output, try service.store.snapshot(), to: commit) {
          return event
        }
        output.isBlocked = output.listens.contains { $0.isBehind(commit) }
        if output.isBlocked { return nil }
      }
      output.replies.removeFirst()
      return text
    case .end(let text):
      output.isOver = true
      return text
    case .listen(let id, let number):
      output.replies.removeFirst()
      return try begin(&output, id, number)
    case .get(let path, let query, let number):
      let snapshot = try service.store.snapshot()
      if let event = try advance(&output, snapshot, to: snapshot.commit) { return event }
      output.isBlocked = output.listens.contains { $0.isBehind(snapshot.commit) }
      if output.isBlocked { return nil }
      output.replies.removeFirst()
      return value(path, query, number, output.login.principal, at: snapshot)
    }
  }

  /// The message that the token is no longer valid, after which the session ends.
  private func revoked(_ output: inout Output) -> [UInt8]? {
    let result = Result {
      try service.authority.principal(
        output.login.credential, override: output.login.override, bucket: database.bucket,
        now: RequestContext.now)
    }
    switch result {
    case .success(let principal):
      output.login.principal = principal
      return nil
    case .failure(let error):
      output.isOver = true
      let failure = RealtimeError(error)
      var body = JSONObject()
      body.text("s", failure.sessionStatus)
      body.text("d", failure.text)
      return SessionReply.push("ac", body.finish())
    }
  }

  /// Ends one listen that the rights no longer allow.
  private func checkListens(_ output: inout Output) throws -> [UInt8]? {
    let snapshot = try service.store.snapshot()
    let rules = try service.rules(of: database, in: snapshot)
    let index = output.listens.firstIndex { listen in
      listen.events.hasBegun && !mayRead(listen, output.login.principal, rules, at: snapshot)
    }
    if let index { return output.listens.remove(at: index).revocation }
    output.needsCheck = false
    return nil
  }

  private func mayRead(
    _ listen: SessionListen, _ principal: Principal, _ rules: CompiledRules, at snapshot: Snapshot
  ) -> Bool {
    let check: Void? = try? service.checkRead(
      principal, database, listen.path, listen.query, rules, at: snapshot)
    return check != nil
  }

  /// The next event of a listen that lacks commits up to one, or the end of one that may no longer
  /// read.
  private func advance(
    _ output: inout Output, _ snapshot: Snapshot, to commit: CommitNumber
  ) throws -> [UInt8]? {
    let rules = try service.rules(of: database, in: snapshot)
    let count = output.listens.count
    for offset in 0..<count {
      let index = (output.turn + offset) % count
      let listen = output.listens[index]
      guard listen.isBehind(commit) else { continue }
      let result = Result { () throws -> StreamEvent? in
        try service.checkRead(
          output.login.principal, database, listen.path, listen.query, rules, at: snapshot)
        return try output.listens[index].events.next(snapshot, rules)
      }
      switch result {
      case .success(nil): continue
      case .success(let event?):
        output.turn = index + 1
        return event.push(at: listen.path, tag: listen.tag)
      case .failure: return output.listens.remove(at: index).revocation
      }
    }
    return nil
  }

  /// Begins a listen: with its data, unless the client's copy is equal, and then the answer.
  private func begin(_ output: inout Output, _ id: UInt64, _ number: Int64) throws -> [UInt8]? {
    guard let index = output.listens.firstIndex(where: { $0.id == id }) else {
      return SessionReply.answer(number, "ok", Array("{}".utf8))
    }
    let snapshot = try service.store.snapshot()
    let rules = try service.rules(of: database, in: snapshot)
    let listen = output.listens[index]
    let result = Result { () throws -> StreamEvent? in
      try service.checkRead(
        output.login.principal, database, listen.path, listen.query, rules, at: snapshot)
      return try output.listens[index].events.next(snapshot, rules)
    }
    switch result {
    case .failure(let error):
      output.listens.remove(at: index)
      return SessionReply.failure(number, RealtimeError(error))
    case .success(let event):
      let check: Void? = try? service.checkIndex(listen.query, listen.path, rules)
      let warning = check == nil ? #"{"w":["no_index"]}"# : "{}"
      let answer = SessionReply.answer(number, "ok", Array(warning.utf8))
      guard case .put(_, let node)? = event,
        listen.hash.isEmpty || node.hash != listen.hash
      else {
        return answer
      }
      output.replies.insert(.message(answer, after: 0), at: 0)
      return event?.push(at: listen.path, tag: listen.tag)
    }
  }

  private func value(
    _ path: [FirebaseKey], _ query: ChildQuery?, _ number: Int64, _ principal: Principal,
    at snapshot: Snapshot
  ) -> [UInt8] {
    let result = Result { () throws -> FirebaseNode in
      let rules = try service.rules(of: database, in: snapshot)
      try service.checkRead(principal, database, path, query, rules, at: snapshot)
      let index = service.index(for: query, database, rules, in: snapshot)
      return try AnswerMaker.node(
        FirebasePath(keys: path), query, TreeReader(source: snapshot, bucket: database.bucket),
        index: index, ReadBudget(byteLimit: service.options.responseByteCount))
    }
    switch result {
    case .success(let node): return SessionReply.answer(number, "ok", node.exportedJSON)
    case .failure(let error): return SessionReply.failure(number, RealtimeError(error))
    }
  }
}
