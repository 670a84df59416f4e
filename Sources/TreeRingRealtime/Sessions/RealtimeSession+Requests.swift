// The requests of a session. Writes are made at once, on the caller's thread; their answers wait
// until the listens show them.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLive
internal import TreeRingLog
internal import TreeRingPlatform

extension RealtimeService {
  /// Begins the session of an SDK.
  ///
  /// - Parameters:
  ///   - target: The target of its request: `/.ws?v=5&ns=NAME`.
  ///   - host: The name and port of the server, which the client uses from then on.
  /// - Throws: The answer that refuses the request.
  public func session(
    target: String, host: String
  ) throws(RealtimeRefusal) -> RealtimeSession {
    let result = Result {
      var (version, name) = ("", "")
      for item in target.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
        let pair = item.split(separator: "=", maxSplits: 1)
        let value = pair.count > 1 ? try RequestParameters.decode(pair[1]) : ""
        switch pair.first {
        case "v": version = value
        case "ns": name = try RequestParameters.namespace(value)
        default: break
        }
      }
      guard version == "5" else { throw RealtimeError(400, "The protocol's version must be 5.") }
      return RealtimeSession(self, Database(name: name), host: host)
    }
    switch result {
    case .success(let session): return session
    case .failure(let error):
      throw RealtimeRefusal(answer: RealtimeAnswer(RealtimeError(error)))
    }
  }
}

extension RealtimeSession {
  /// Takes a frame of the client. May block: writes wait until they are durable.
  public func receive(_ frame: [UInt8]) {
    input.withLock { input in
      if input.isEnded || isOver { return }
      do {
        guard let message = try input.joiner.take(frame) else { return }
        switch try SessionMessage(message) {
        case .ignored: return
        case .ping: reply(.message(SessionReply.control("o", "null"), after: 0))
        case .request(let number, let action, let body):
          do {
            try handle(number, action, body, &input)
          } catch {
            reply(.message(SessionReply.failure(number, RealtimeError(error)), after: 0))
          }
        }
      } catch {
        // No answer could name the request. The client must not send it again.
        input.isEnded = true
        makeDisconnectWrites(input.disconnects)
        let text = JSONText.quoted(RealtimeError(error).text)
        reply(.end(SessionReply.control("s", text)))
      }
    }
  }

  /// Ends the session: makes the writes that the client asked for in this case.
  public func end() {
    input.withLock { input in
      endOutput()
      if input.isEnded { return }
      input.isEnded = true
      makeDisconnectWrites(input.disconnects)
    }
  }

  private func handle(
    _ number: Int64, _ action: String, _ body: [UInt8], _ input: inout Input
  ) throws {
    let request = try RawObject(body, isChecked: true)
    switch action {
    case "q":
      input.listenCount += 1
      try add(SessionListen(input.listenCount, request, service, database), number: number)
      return
    case "n":
      removeListen(at: try request.path().keys, tag: try request.tag())
    case "g":
      let (path, query) = try request.query()
      return reply(.get(path, query, number: number))
    case "p": return try put(request, number)
    case "m":
      guard request["h"] == nil else { throw RealtimeError(400, "A merge takes no hash.") }
      let path = try request.path()
      let data = try request.data()
      let maker = maker("PATCH", path, data)
      _ = try maker.run(WriteBody.patch(data, at: path), base: path.keys, condition: nil)
    case "o", "om": try addDisconnectWrite(request, isMerge: action == "om", &input.disconnects)
    case "oc": input.disconnects.remove(at: try request.path())
    case "auth", "gauth": try logIn(request)
    case "unauth": login = Login()
    case "s": break
    default: throw RealtimeError(400, "The action “\(action)” is unknown.")
    }
    answer(number)
  }

  /// Answers once all listens show the state that there is now.
  private func answer(_ number: Int64, _ status: String = "ok", _ text: String = "") {
    let data = Array(JSONText.quoted(text).utf8)
    reply(
      .message(SessionReply.answer(number, status, data), after: service.store.newestCommit))
  }

  private func maker(
    _ method: String, _ path: FirebasePath, _ data: [UInt8], ifMatch: String? = nil
  ) -> AnswerMaker {
    AnswerMaker(
      service: service,
      context: RequestContext(
        method, path, body: data, in: database, login.principal, ifMatch: ifMatch))
  }

  private func put(_ request: RawObject, _ number: Int64) throws {
    let path = try request.path()
    let data = try request.data()
    // The SDKs hash nothing to the empty text.
    let tag = try request.text("h").map { $0.isEmpty ? FirebaseNode.null.entityTag : $0 }
    let maker = maker("PUT", path, data, ifMatch: tag)
    do {
      _ = try maker.run([WriteBody.node(data, at: path)], base: nil, condition: path)
      answer(number)
    } catch is ConditionFailed {
      answer(number, "datastale", "Transaction hash does not match")
    }
  }

  private func logIn(_ request: RawObject) throws {
    guard let credential = try request.text("cred") else { throw RealtimeError.badToken }
    var login = Login(credential: credential)
    login.override = try request.value("noauth") == .bool(true) ? .null : request.value("authvar")
    login.principal = try service.authority.principal(
      credential, override: login.override, bucket: database.bucket, now: RequestContext.now)
    self.login = login
  }

  // MARK: - Writes of the end

  private func addDisconnectWrite(
    _ request: RawObject, isMerge: Bool, _ disconnects: inout DisconnectWrites
  ) throws {
    let path = try request.path()
    let data = try request.data()
    let writes =
      isMerge ? try WriteBody.patch(data, at: path) : [try WriteBody.node(data, at: path)]
    // A write that the rules forbid now is refused now; they are asked again at the end.
    let maker = maker("PUT", path, data)
    try maker.checkWritable()
    if case .service(.read) = login.principal { throw RealtimeError.permissionDenied }
    let snapshot = try service.store.snapshot()
    let tree = TreeReader(source: snapshot, bucket: database.bucket)
    let resolved = try writes.map { try $0.resolved(in: tree, now: RequestContext.now) }
    try maker.checkWrites(resolved, tree, in: snapshot)
    let login = login
    try disconnects.add(
      DisconnectWrites.Entry(
        base: isMerge ? path.keys : nil, writes: writes, byteCount: data.count + 256,
        credential: login.credential, override: login.override))
  }

  /// Makes each write that its token and the rules still allow.
  private func makeDisconnectWrites(_ disconnects: DisconnectWrites) {
    for entry in disconnects.entries {
      guard let first = entry.writes.first,
        let principal = try? service.authority.principal(
          entry.credential, override: entry.override, bucket: database.bucket,
          now: RequestContext.now)
      else { continue }
      let context = RequestContext(
        entry.base == nil ? "PUT" : "PATCH", first.path, in: database, principal)
      _ = try? AnswerMaker(service: service, context: context)
        .run(entry.writes, base: entry.base, condition: nil)
    }
  }
}

extension RawObject {
  /// The data of a write.
  fileprivate func data() throws -> [UInt8] {
    guard let data = self["d"] else { throw RealtimeError(400, "Error: No data supplied.") }
    return data
  }
}
