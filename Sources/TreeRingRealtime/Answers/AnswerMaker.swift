// Answers to requests that read: values, rules and `.info`.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLive
internal import TreeRingLog

/// Makes the answer to one request.
struct AnswerMaker {
  let service: RealtimeService
  let context: RequestContext

  var parameters: RequestParameters { context.parameters }

  func answer() throws -> RealtimeAnswer {
    try checkConditions()
    switch (context.target, context.method) {
    case (.rules, "GET"): return try rules()
    case (.rules, "PUT"): return try putRules()
    case (.info(let names), "GET"): return try finish(Info.value(names))
    case (.info, "PUT"), (.info, "POST"), (.info, "PATCH"), (.info, "DELETE"):
      throw RealtimeError.permissionDenied
    case (.node(let path), "GET"): return try get(path)
    case (.node(let path), "PUT"): return try put(path)
    case (.node(let path), "PATCH"): return try patch(path)
    case (.node(let path), "POST"): return try post(path)
    case (.node(let path), "DELETE"): return try delete(path)
    default: throw RealtimeError(405, "The method \(context.method) is not supported here.")
    }
  }

  private func checkConditions() throws {
    let method = context.method
    if context.ifMatch != nil {
      guard method == "PUT" || method == "DELETE" else {
        throw RealtimeError(400, "if-match is not supported for \(method).")
      }
      if parameters.print == .silent {
        throw RealtimeError(400, "if-match and print=silent cannot be mixed.")
      }
    }
    if context.wantsTag, method == "PATCH" {
      throw RealtimeError(400, "X-Firebase-ETag is not supported for PATCH.")
    }
    guard method != "GET" else { return }
    if parameters.callback != nil { throw RealtimeError(400, "callback needs the method GET.") }
    if parameters.at != nil { throw RealtimeError(400, "at needs the method GET.") }
    if parameters.query != nil || parameters.isShallow {
      throw RealtimeError(
        400, "The request does not support one of the query parameters: orderBy or shallow")
    }
  }

  // MARK: - Reading

  private func get(_ path: FirebasePath) throws -> RealtimeAnswer {
    let snapshot = try service.store.snapshot(at: parameters.at)
    let rules = try checkRead(path.keys, at: snapshot)
    // A past state would have to build the index first.
    let index =
      parameters.at != nil
      ? nil : service.index(for: parameters.query, context.database, rules, in: snapshot)
    let tree = TreeReader(source: snapshot, bucket: context.database.bucket)
    let budget = ReadBudget(
      seconds: parameters.timeout, byteLimit: service.options.responseByteCount)
    if parameters.isShallow, path.part == .node {
      return try finish(shallow(path.keys, tree, budget))
    }
    let node = try Self.node(path, parameters.query, tree, index: index, budget)
    let tag = context.wantsTag || context.ifNoneMatch != nil ? node.entityTag : nil
    if let tag, tag == context.ifNoneMatch {
      return RealtimeAnswer(status: 304, [], headers: [("ETag", tag)])
    }
    let json = parameters.isExport ? node.exportedJSON : node.json
    return finish(json, tag: context.wantsTag ? tag : nil)
  }

  /// The node that a request shows.
  static func node(
    _ path: FirebasePath, _ query: ChildQuery?, _ tree: TreeReader, index: IndexReader?,
    _ budget: ReadBudget
  ) throws -> FirebaseNode {
    switch path.part {
    case .priority: return FirebaseNode(.scalar(try tree.priority(at: path.keys)))
    case .value: return FirebaseNode(try tree.node(at: path.keys, budget).value)
    case .node:
      return try query?.result(at: path.keys, in: tree, index: index, budget)
        ?? tree.node(at: path.keys, budget)
    }
  }

  private func shallow(
    _ path: [FirebaseKey], _ tree: TreeReader, _ budget: ReadBudget
  ) throws -> [UInt8] {
    if let scalar = try tree.scalar(at: path) { return Array(scalar.json.utf8) }
    let keys = try tree.childKeys(at: path, budget)
    if keys.isEmpty { return Array("null".utf8) }
    var object = JSONObject()
    for key in keys { object.bool(key.text, true) }
    return object.finish()
  }

  /// Throws unless the client may read the node by the query. A past state must be readable by its
  /// own data too.
  private func checkRead(
    _ path: [FirebaseKey], at snapshot: Snapshot
  ) throws -> CompiledRules {
    let newest = parameters.at == nil ? snapshot : try service.store.snapshot()
    let rules = try service.rules(of: context.database, in: newest)
    try service.checkRead(context, path, rules, at: newest)
    if parameters.at != nil { try service.checkRead(context, path, rules, at: snapshot) }
    try service.checkIndex(parameters.query, path, rules)
    return rules
  }

  private func rules() throws -> RealtimeAnswer {
    guard context.principal.isAdministrator else { throw RealtimeError.permissionDenied }
    let snapshot = try service.store.snapshot(at: parameters.at)
    let row = try snapshot.row(Key(context.database.rulesKey), in: Database.rulesBucket)
    let usual =
      "{\"rules\":{\".read\":\(service.options.isEmulator),"
      + "\".write\":\(service.options.isEmulator)}}"
    let text = row?.object ?? Array(usual.utf8)
    // Only the strict format promises JSON; otherwise comments stay.
    return RealtimeAnswer(parameters.isStrict ? Ruleset.withoutComments(text) : text)
  }

  private func putRules() throws -> RealtimeAnswer {
    guard context.principal.isAdministrator else { throw RealtimeError.permissionDenied }
    try checkWritable()
    let text = context.request.body
    _ = try Ruleset(text)
    let database = context.database
    try service.store.write { transaction in
      let key = Key(database.rulesKey)
      if try transaction.row(key, in: Database.rulesBucket)?.object == text { return }
      try transaction.put(text, for: key, in: .bytes(Database.rulesBucket))
      transaction.note = "PUT /.settings/rules.json"
    }
    service.defineIndex(of: database)
    service.noteWrite()
    return RealtimeAnswer(Array("{\"status\":\"ok\"}".utf8))
  }

  func checkWritable() throws {
    guard service.isWritable else {
      throw RealtimeError(403, "This server does not take writes.")
    }
  }

  // MARK: - Answers

  /// The answer with a value, in the form that the parameters ask for.
  func finish(_ json: [UInt8], tag: String? = nil) -> RealtimeAnswer {
    if parameters.print == .silent { return RealtimeAnswer(status: 204, []) }
    var answer = RealtimeAnswer(json)
    if parameters.print == .pretty { answer.body = IndentedJSON.text(json) }
    if let callback = parameters.callback {
      answer.contentType = "application/javascript; charset=utf-8"
      answer.body = Array("/**/\(callback)(".utf8) + answer.body + Array(");".utf8)
    }
    if let tag { answer.headers.append(("ETag", tag)) }
    if let download = parameters.download {
      let name = download.unicodeScalars.map {
        $0.isASCII && ($0.properties.isAlphabetic || ("-"..."9").contains($0) && $0 != "/")
          ? Character($0) : "_"
      }
      answer.headers.append(("Content-Disposition", "attachment; filename=\"\(String(name))\""))
    }
    return answer
  }
}

/// The server's own values below `.info`, which nobody can write.
enum Info {
  static func value(_ names: [String]) throws -> [UInt8] {
    switch names {
    case []: return Array(#"{"connected":true,"serverTimeOffset":0}"#.utf8)
    case ["connected"]: return Array("true".utf8)
    case ["serverTimeOffset"]: return Array("0".utf8)
    default: return Array("null".utf8)
    }
  }
}

extension RealtimeService {
  /// Throws unless the client may read a node by the query.
  func checkRead(
    _ context: RequestContext, _ path: [FirebaseKey], _ rules: CompiledRules,
    at snapshot: Snapshot
  ) throws {
    try checkRead(
      context.principal, context.database, path, context.parameters.query, rules, at: snapshot)
  }

  /// Throws unless a client may read a node by a query, at a snapshot or in a transaction.
  func checkRead(
    _ principal: Principal, _ database: Database, _ path: [FirebaseKey], _ query: ChildQuery?,
    _ rules: CompiledRules, at state: any Readable
  ) throws {
    guard case .user(let auth) = principal else { return }
    let source = TreeReader(source: state, bucket: database.bucket)
    let access = RuleAccess(rules.rules, auth: auth, now: RequestContext.now, source: source)
    let variable = query?.variable ?? .object([])
    guard try access.allowsRead(path, query: variable) else {
      throw RealtimeError.permissionDenied
    }
  }

  /// Throws if a query needs an index that the rules do not name.
  func checkIndex(
    _ query: ChildQuery?, _ path: [FirebaseKey], _ rules: CompiledRules
  ) throws {
    guard let query, query.isFiltering, let name = query.indexName, !rules.isOpen,
      !rules.rules.isIndexed(path, by: name)
    else { return }
    let place = "/" + path.map(\.text).joined(separator: "/")
    throw RealtimeError(
      400, "Index not defined, add \".indexOn\": \"\(name)\", for path \"\(place)\", to the rules")
  }
}
