// Answers to requests that write. Each write is one commit: the condition, the rules and the rows
// belong to one transaction.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLive
internal import TreeRingLog

/// A condition that does not hold, with the node that there is.
struct ConditionFailed: Error {
  let current: FirebaseNode
}

extension AnswerMaker {
  func put(_ path: FirebasePath) throws -> RealtimeAnswer {
    let write = try WriteBody.node(context.request.body, at: path)
    return try answering {
      try run([write], base: nil, condition: path)
    } with: { nodes in
      // The client gets what it sent; values of the server in their place.
      let json = isVerbatim([write]) ? trimmed(context.request.body) : shown(nodes[0], path)
      return finish(json, tag: tag(nodes))
    }
  }

  func patch(_ path: FirebasePath) throws -> RealtimeAnswer {
    let writes = try WriteBody.patch(context.request.body, at: path)
    let nodes = try run(writes, base: path.keys, condition: nil)
    if isVerbatim(writes) { return finish(trimmed(context.request.body)) }
    var object = JSONObject()
    for (write, node) in zip(writes, nodes) {
      var name = write.path.keys.dropFirst(path.keys.count).map(\.text)
      if write.path.part == .priority { name.append(".priority") }
      object.raw(
        name.joined(separator: "/"), String(decoding: shown(node, write.path), as: UTF8.self))
    }
    return finish(object.finish())
  }

  func post(_ path: FirebasePath) throws -> RealtimeAnswer {
    guard path.part == .node else { throw RealtimeError(400, "Invalid path: nothing is below it.") }
    let id = service.pushIDs.next(now: UInt64(max(0, context.now)))
    let key = try FirebaseKey(id)
    guard path.keys.count < FirebaseNode.largestDepth else {
      throw RealtimeError(400, "Invalid path: it leads too deep.")
    }
    let child = FirebasePath(keys: path.keys + [key])
    let nodes = try run(
      [try WriteBody.node(context.request.body, at: child)], base: nil, condition: nil)
    return finish(Array("{\"name\":\"\(id)\"}".utf8), tag: tag(nodes))
  }

  func delete(_ path: FirebasePath) throws -> RealtimeAnswer {
    let write = PendingWrite(path: path, node: .null, serverValues: [])
    return try answering {
      try run([write], base: nil, condition: path)
    } with: { nodes in
      finish(Array("null".utf8), tag: tag(nodes))
    }
  }

  /// Whether the answer is what the client sent. Otherwise it is written anew: with the server's
  /// values, or indented.
  private func isVerbatim(_ writes: [PendingWrite]) -> Bool {
    parameters.print != .pretty && writes.allSatisfy(\.serverValues.isEmpty)
  }

  private func tag(_ nodes: [FirebaseNode]) -> String? {
    context.wantsTag ? nodes.first?.entityTag : nil
  }

  private func shown(_ node: FirebaseNode, _ path: FirebasePath) -> [UInt8] {
    if path.part == .priority { return Array(node.priority.json.utf8) }
    return parameters.isExport ? node.exportedJSON : node.json
  }

  private func trimmed(_ body: [UInt8]) -> [UInt8] {
    let start = body.firstIndex { $0 > 0x20 } ?? 0
    let end = body.lastIndex { $0 > 0x20 } ?? -1
    return Array(body[start..<max(start, end + 1)])
  }

  /// Makes the answer to a write, or to its condition if that does not hold.
  private func answering(
    _ write: () throws -> [FirebaseNode], with answer: ([FirebaseNode]) -> RealtimeAnswer
  ) throws -> RealtimeAnswer {
    do {
      return answer(try write())
    } catch let failure as ConditionFailed {
      let json =
        parameters.isExport ? failure.current.exportedJSON : failure.current.json
      return RealtimeAnswer(status: 412, json, headers: [("ETag", failure.current.entityTag)])
    }
  }

  /// Writes nodes as one commit.
  ///
  /// - Parameters:
  ///   - base: The location of a patch; nil for a write of one node.
  ///   - condition: The location that the entity tag of the request belongs to.
  /// - Returns: The nodes as they were written.
  func run(
    _ pending: [PendingWrite], base: [FirebaseKey]?, condition: FirebasePath?
  ) throws -> [FirebaseNode] {
    if case .service(.read) = context.principal { throw RealtimeError.permissionDenied }
    guard context.request.body.count <= parameters.writeByteLimit else {
      throw RealtimeError.writeTooLarge
    }
    try checkWritable()
    let database = context.database
    var noted: CommitNumber?
    func end(isWritten: Bool) {
      if let noted { service.recent.end(noted, isWritten: isWritten) }
      if isWritten { service.noteWrite() }
    }
    do {
      let written = try service.store.write { transaction in
        let tree = TreeReader(source: transaction, bucket: database.bucket)
        if let condition, let tag = context.ifMatch {
          // The answer tells whether the tag is the node's, and else the node itself.
          let rules = try service.rules(of: database, in: transaction)
          try service.checkRead(
            context.principal, database, condition.keys, nil, rules, at: transaction)
          let budget = ReadBudget(byteLimit: service.options.responseByteCount)
          let current = try Self.node(condition, nil, tree, index: nil, budget)
          guard current.entityTag == tag else { throw ConditionFailed(current: current) }
        }
        let writes = try pending.map { try $0.resolved(in: tree, now: context.now) }
        try checkWrites(writes, tree, in: transaction)
        let writer = TreeWriter(transaction: transaction, bucket: database.bucket)
        var isChanged = false
        for write in writes where try writer.replace(write) { isChanged = true }
        if isChanged {
          transaction.note = note(base, writes)
          noted = transaction.commit
          service.recent.begin(
            WriteEffect(
              bucket: database.bucket, base: base, writes: writes,
              byteCount: context.request.body.count + 256), as: transaction.commit)
        }
        return writes.map(\.node)
      }
      end(isWritten: noted == written.commit)
      return written.value
    } catch {
      end(isWritten: false)
      throw error
    }
  }

  /// Throws unless the rules allow the writes.
  func checkWrites(
    _ writes: [NodeWrite], _ tree: TreeReader, in source: some Readable
  ) throws {
    guard case .user(let auth) = context.principal else { return }
    let rules = try service.rules(of: context.database, in: source)
    let access = RuleAccess(rules.rules, auth: auth, now: context.now, source: tree)
    guard try access.allowsWrites(writes) else { throw RealtimeError.permissionDenied }
  }

  /// The remark of the commit: the method and the location.
  private func note(_ base: [FirebaseKey]?, _ writes: [NodeWrite]) -> String {
    let path = (base ?? writes.first?.path ?? []).map(\.text).joined(separator: "/")
    let name = context.database.name.isEmpty ? "" : " in \(context.database.name)"
    return "\(context.method) /\(path)\(name)"
  }
}
