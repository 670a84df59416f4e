// A commit that a client writes: a line of the import format with three more fields.
//
//     {"ops":[…],"note":TEXT,"tags":[…],"at":DATE,
//      "expecting":N,"idempotencyKey":TEXT,"durability":"full"|"barrier"|"relaxed"|"unsynced"}

internal import TreeRing
internal import TreeRingImport
internal import TreeRingLog

/// The request to write a commit.
struct CommitWrite {
  private var line = CommitLine()
  private var expected: CommitNumber?
  private var idempotencyKey: String?
  private var durability: Durability?
  private let access: LiveAccess

  /// Reads a request and checks the client's rights.
  ///
  /// - Throws: `invalidInput` for a mistake, `notAllowed` for a lack of rights.
  init(_ body: [UInt8], _ access: LiveAccess) throws(TreeRingError) {
    try access.check(.write)
    self.access = access
    let rest = try body.withUnsafeBytes { (bytes) throws(TreeRingError) in
      try separate(bytes)
    }
    try rest.withUnsafeBytes { (bytes) throws(TreeRingError) in try line.parse(bytes) }
    try checkRights()
  }

  /// Takes the fields that are no part of a line. Returns the others as an object.
  private mutating func separate(
    _ body: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> [UInt8] {
    try JSONScanner.validate(body)
    var scanner = JSONScanner(body)
    var rest: [UInt8] = [UInt8(ascii: "{")]
    try scanner.enterObject()
    while let member = try scanner.nextMember() {
      let value = Array(scanner.slice(member.value))
      var name: [UInt8] = []
      _ = JSONScanner.appendString(scanner.slice(member.name), to: &name)
      switch String(decoding: name, as: UTF8.self) {
      case "expecting" where expected == nil:
        guard case .number(let text) = try JSONValue(value), let commit = CommitNumber(text) else {
          throw Self.refusal("“expecting” is the number of a commit.")
        }
        expected = commit
      case "idempotencyKey" where idempotencyKey == nil:
        guard let key = try JSONValue(value).string, !key.isEmpty else {
          throw Self.refusal("“idempotencyKey” is a text.")
        }
        idempotencyKey = key
      case "durability" where durability == nil:
        durability = try Self.durability(try JSONValue(value).string)
      default:
        if rest.count > 1 { rest.append(UInt8(ascii: ",")) }
        rest.append(contentsOf: scanner.slice(member.name))
        rest.append(UInt8(ascii: ":"))
        rest.append(contentsOf: value)
      }
    }
    try scanner.finish()
    rest.append(UInt8(ascii: "}"))
    return rest
  }

  private static func durability(_ name: String?) throws(TreeRingError) -> Durability {
    switch name {
    case "full": return .full
    case "barrier": return .barrier
    case "relaxed": return .relaxed(within: .seconds(1))
    // “none” is the name that it had first.
    case "unsynced", "none": return .unsynced
    default: throw refusal("“durability” is full, barrier, relaxed or unsynced.")
    }
  }

  private static func refusal(_ sentence: String) -> TreeRingError {
    TreeRingError(.invalidInput, sentence)
  }

  private func checkRights() throws(TreeRingError) {
    if line.base != nil { throw Self.refusal("A base cannot be written to a store.") }
    // A date ahead of the clock would date all later commits.
    if line.at != nil { try access.check(.admin) }
    if !line.tags.isEmpty { try access.checkUnlimited() }
    for operation in line.operations {
      switch operation.kind {
      case .index:
        try access.check(.admin)
        try access.checkUnlimited()
      case .tag, .place, .unplace: try access.checkUnlimited()
      case .put, .object, .metadata, .touch, .delete:
        try access.check(bucket: line.text(operation.bucket))
      }
    }
  }

  /// Writes the commit, and waits until it is as durable as requested. A repeated idempotency key
  /// gives the first commit under it, with status 200 instead of 201.
  func run(in service: LiveService) throws(TreeRingError) -> LiveAnswer {
    guard service.isWritable else {
      throw TreeRingError(.notAllowed, "This server does not take writes.")
    }
    let written: Written<Void>
    do {
      written = try service.store.write(durability: durability, expecting: expected) { tx in
        try line.apply(to: tx)
        if let idempotencyKey { tx.idempotencyKey = Array(idempotencyKey.utf8) }
      }
    } catch let error as TreeRingError {
      throw withoutHiddenRows(error)
    } catch {
      throw TreeRingError(.io, "The commit could not be written.")
    }
    return LiveAnswer(status: written.timestamp == nil ? 200 : 201) { object in
      object.number("commit", written.commit)
      if let date = written.timestamp { object.date("at", date) }
    }
  }

  /// The error of a broken rule, without rows of buckets that the client may not see.
  private func withoutHiddenRows(_ error: TreeRingError) -> TreeRingError {
    guard let violation = error.violation else { return error }
    let rows = [violation.row, violation.other].compactMap(\.self)
    if rows.allSatisfy({ access.allows(bucket: $0.bucket) }) { return error }
    return TreeRingError(
      error.code,
      "The commit would break the rule \(violation.rule), which concerns rows that the token does "
        + "not allow. Ask for a token for their buckets.")
  }
}
