// The answers to requests about the store and the log.

internal import TreeRing
internal import TreeRingImport
internal import TreeRingLog
internal import TreeRingMappings

/// Makes the answer to one request.
struct AnswerMaker {
  let service: LiveService
  let access: LiveAccess
  let arguments: Arguments

  var store: Store { service.store }
  var limits: LiveLimits { service.limits }

  func answer(_ endpoint: Endpoint, body: [UInt8]) throws(TreeRingError) -> LiveAnswer {
    switch endpoint {
    case .store: try storeAnswer()
    case .commits: try commits()
    case .commit: try commit()
    case .write: try CommitWrite(body, access).run(in: service)
    case .rows: try rows()
    case .row: try row()
    case .history: try history()
    case .groups: try groups()
    case .count: try count()
    case .groupRows: try groupRows()
    case .groupCount: try groupCount()
    case .rank: try rank()
    case .indexCount: try indexCount()
    case .indexSum: try indexSum()
    case .groupSum: try groupSum()
    case .find: try find()
    case .changes: try changes()
    case .diff: try diff()
    case .stats: try stats()
    case .metrics: try metrics()
    case .beginBase: try beginBase()
    case .basePiece: try basePiece()
    case .endBase: try endBase()
    case .openAPI: LiveAnswer(body: OpenAPIDocument.json)
    case .log, .live:
      throw TreeRingError(.notSupported, "This path needs a connection that lasts.")
    }
  }

  /// Turns the errors of closures that read the store into typed ones.
  func reading<R>(_ body: () throws -> R) throws(TreeRingError) -> R {
    do {
      return try body()
    } catch let error as TreeRingError {
      throw error
    } catch {
      throw TreeRingError(.io, "The store could not be read.")
    }
  }

  /// The most elements of the answer.
  func limit() throws(TreeRingError) -> Int {
    let limit = try arguments.integer("limit") ?? 100
    guard (1...limits.rows).contains(limit) else {
      throw TreeRingError(.invalidInput, "“limit” must be a number from 1 to \(limits.rows).")
    }
    return limit
  }

  func snapshot() throws(TreeRingError) -> Snapshot {
    try store.snapshot(at: try arguments.point("at"))
  }

  // MARK: - The store

  private func storeAnswer() throws(TreeRingError) -> LiveAnswer {
    let snapshot = try snapshot()
    let indexes = snapshot.indexes.filter { access.allows($0) }
    let buckets = try snapshot.buckets().filter { access.allows(bucket: $0.name) }
    let tags = access.isUnlimited ? try snapshot.tags() : []
    return try reading {
      try LiveAnswer { object in
        object.text("version", "1")
        object.text("id", Self.hexadecimal(store.identifier))
        object.number("commit", snapshot.commit)
        if snapshot.commit > 0 { object.date("at", snapshot.timestamp) } else { object.null("at") }
        object.number("horizon", max(1, store.horizon))
        object.bool("writable", service.isWritable && access.role.includes(.write))
        object.list("buckets") { list in
          for bucket in buckets { list.object { $0.bucket(bucket.name, rows: bucket.rows) } }
        }
        try object.list("indexes") { list in
          for index in indexes {
            let reader = try snapshot.readableIndex(index.name)
            let rows = try index.text == nil ? reader?.count : snapshot.text(index.name).count
            // Groups are counted one by one, so not all of very many.
            let groups = try reader?.groupCounts(from: nil, limit: limits.rows + 1).count
            list.object {
              $0.index(index, rows: rows, groups: groups.map { min($0, limits.rows) })
              if groups ?? 0 > limits.rows { $0.bool("moreGroups", true) }
            }
          }
        }
        object.list("tags") { list in for tag in tags { list.object { $0.tag(tag) } } }
      }
    }
  }

  static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private func stats() throws(TreeRingError) -> LiveAnswer {
    try access.checkUnlimited()
    let statistics = try store.statistics()
    return LiveAnswer { $0.statistics(statistics) }
  }

  private func metrics() throws(TreeRingError) -> LiveAnswer {
    try access.checkUnlimited()
    return LiveAnswer(
      contentType: "text/plain; version=0.0.4", body: try StoreFigures.text(store.statistics()))
  }

  // MARK: - The log

  private func commits() throws(TreeRingError) -> LiveAnswer {
    try access.checkUnlimited()
    let limit = try limit()
    let first = max(try arguments.point("from")?.number(in: store) ?? store.horizon, 1)
    let last = min(try arguments.point("to")?.number(in: store) ?? .max, store.newestCommit)
    let isReversed = try arguments.flag("reverse")
    let step = CommitNumber(try arguments.integer("step") ?? 1)
    guard step > 0 else { throw TreeRingError(.invalidInput, "“step” must be at least 1.") }
    var tags: [CommitNumber: [String]] = [:]
    for tag in try store.snapshot().tags() { tags[tag.commit, default: []].append(tag.name) }
    return try reading {
      try LiveAnswer { object in
        var number = isReversed ? last : first
        var isOver = first > last
        try object.list("commits") { list in
          while !isOver, list.count < limit {
            let info = try store.commit(number)
            list.object { $0.commit(info, tags: tags[number] ?? []) }
            isOver = (isReversed ? number - first : last - number) < step
            if !isOver { number = isReversed ? number - step : number + step }
          }
        }
        if isOver { object.null("next") } else { object.number("next", number) }
      }
    }
  }

  private func commit() throws(TreeRingError) -> LiveAnswer {
    try access.checkUnlimited()
    let number = try Point(try arguments.text(0)).commit(in: store)
    let (info, operations) = try store.operations(of: number)
    var writer = CommitWriter()
    writer.commit(info, operations, number: number)
    return LiveAnswer(body: writer.output)
  }

  // MARK: - Differences

  private func changes() throws(TreeRingError) -> LiveAnswer {
    let index = try arguments.text(0)
    guard let form = ChangeForm(rawValue: try arguments.text("form") ?? "batch") else {
      throw TreeRingError(.invalidInput, "“form” must be batch, steps, placements or yap.")
    }
    let limit = min(try arguments.integer("limit") ?? limits.changes, limits.changes)
    let old = try store.snapshot(at: try arguments.point("from"))
    let new = try store.snapshot(at: try arguments.point("to"))
    for snapshot in [old, new] {
      try access.check(index: index, among: snapshot.indexes)
      try checkKind(of: index, isText: false, in: snapshot)
    }
    var observer = store.observer(of: try mappings(of: index), limit: limit)
    _ = try observer.advance(to: old)
    let change = try observer.advance(to: new)
    let object = ChangeObject(change)
    let members = try object.members(form)
    return LiveAnswer { object.add(members, to: &$0) }
  }

  private func mappings(of index: String) throws(TreeRingError) -> Mappings {
    var mappings: Mappings
    if let groups = try arguments.text("groups") {
      mappings = Mappings(of: index, groups: groups.split(separator: ",").map { GroupName($0) })
        .hidingEmptySections(try arguments.flag("hideEmpty"))
    } else {
      mappings = Mappings(of: index, groupsWhere: { _ in true }).hidingEmptySections()
    }
    for text in try arguments.texts("range") {
      let (group, range) = try GroupRangeText.split(text)
      mappings = mappings.range(try RangeSpecification(range).options, of: GroupName(group))
    }
    for group in try arguments.texts("reverse") { mappings = mappings.reversed(GroupName(group)) }
    return mappings
  }

  private func diff() throws(TreeRingError) -> LiveAnswer {
    let bucket = try arguments.text("bucket")
    if let bucket { try access.check(bucket: bucket) } else { try access.checkUnlimited() }
    let limit = try limit()
    let old = try store.snapshot(at: try arguments.point("from"))
    let new = try store.snapshot(at: try arguments.point("to"))
    var first = bucket.map { RowID(bucket: $0, key: Key(bytes: [])) }
    if let text = try arguments.text("start") {
      let start = try RowPlaceText.row(text)
      if bucket == nil || start.bucket == bucket { first = start }
    }
    return try reading {
      try LiveAnswer { object in
        object.number("from", old.commit)
        object.number("to", new.commit)
        var next: RowID?
        try object.list("differences") { list in
          try new.diff(from: old, startingAt: first) { difference in
            // The rows of a bucket lie together.
            if let bucket, !difference.id.bucket.utf8.elementsEqual(bucket.utf8) { return false }
            if list.count >= limit || list.byteCount >= limits.changeByteCount {
              next = difference.id
              return false
            }
            list.object { $0.difference(difference) }
            return true
          }
        }
        object.bool("more", next != nil)
        if let next { object.text("next", RowPlaceText.text(next)) } else { object.null("next") }
      }
    }
  }
}
