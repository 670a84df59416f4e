// Questions to a server that a number answers: counts and sums.

public import Foundation
public import TreeRing
internal import TreeRingImport
public import TreeRingLog

/// The number of rows of a server's store that a question is about.
public struct RemoteCount: Hashable, Sendable {
  /// The commit at which they were counted.
  public let commit: CommitNumber
  /// The number of rows.
  public let count: Int
}

/// The sum of rows of a server's store.
public struct RemoteSum: Hashable, Sendable {
  /// The commit at which they were summed.
  public let commit: CommitNumber
  /// The number of rows.
  public let count: Int
  /// The exact sum.
  public let sum: IndexSum
}

/// The store of a server, for counts and sums at any moment of its history.
///
///     let shop = try RemoteStore(at: server, options: options)
///     let late = try await shop.count(in: "orders", where: ["amount>100", "day>3"])
///     let ann = try await shop.sum(of: "ByCustomer", in: "ann", from: "1", to: "5")
///     print(late.count, ann.sum)  // 1 12.50
///
/// A lost connection is tried again, as ``RemoteOptions`` states. All methods throw `RemoteError`:
/// `notFound` with the server's sentence if there is no such bucket, index, commit or tag,
/// `notAllowed` if the token does not allow it, `beyondHorizon` if compaction has dropped the
/// moment, `invalidInput` if a condition or bound is malformed, or the index has no sums; and
/// `CancellationError` if the task is cancelled.
public struct RemoteStore: Sendable {
  private let connection: RequestConnection

  /// The store of the server at an address, with the token in its fragment or without one. Nothing
  /// is sent.
  ///
  /// - Throws: `invalidInput` if the URL is no address of a server.
  public init(at server: URL, options: RemoteOptions = RemoteOptions()) throws(RemoteError) {
    connection = try RequestConnection(server, path: "/v1", options)
  }

  // MARK: - Counts

  /// The number of rows of a bucket that fulfil all conditions.
  ///
  /// Without conditions the server takes O(log n); with conditions it reads all rows of the bucket,
  /// by requests of 10,000 rows, all at the commit of the first. An index with the rows as a group
  /// is faster.
  ///
  /// - Parameters:
  ///   - bucket: The bucket.
  ///   - conditions: Conditions on fields of the rows as texts, such as `amount>100`; docs/tool.md
  ///     describes them.
  ///   - point: The moment to read; nil for the newest commit.
  public func count(
    in bucket: some BucketName, where conditions: [String] = [], at point: ReadPoint? = nil
  ) async throws -> RemoteCount {
    let path = ["buckets", bucket.bucketName, "count"]
    var point = point
    var next: [UInt8]?
    var count = 0
    while true {
      var query = conditions.map { ("where", Array($0.utf8)) }
      if let next { query.append(("from", Self.name(next))) }
      let page = try await answer(to: path, query, at: point)
      let (sum, overflows) = count.addingReportingOverflow(page.count)
      if overflows { throw NumberAnswer.malformed("“count” is too large.") }
      count = sum
      next = page.next
      if next == nil { return RemoteCount(commit: page.commit, count: count) }
      point = .commit(page.commit)
    }
  }

  /// The number of rows in all groups of an index. The server takes O(log n).
  public func count(of index: String, at point: ReadPoint? = nil) async throws -> RemoteCount {
    let answer = try await answer(to: ["indexes", index, "count"], at: point)
    return RemoteCount(commit: answer.commit, count: answer.count)
  }

  /// The number of rows of a group, or of a range of its order; 0 for a group without rows. The
  /// server takes O(log n).
  ///
  /// - Parameters:
  ///   - index: The index.
  ///   - group: The group. Of a date or of data give the handle's `groupName(of:)`.
  ///   - lower: The values of the fields that order the index, of all or the first of them, from
  ///     which on rows count, as `V[,V…]`; docs/tool.md describes them. Nil is no bound.
  ///   - upper: The values before which rows count.
  ///   - point: The moment to read; nil for the newest commit.
  public func count(
    of index: String, in group: some KeyConvertible, from lower: String? = nil,
    to upper: String? = nil, at point: ReadPoint? = nil
  ) async throws -> RemoteCount {
    let answer = try await answer(
      to: ["indexes", index, "groups"], group, "count", from: lower, to: upper, at: point)
    return RemoteCount(commit: answer.commit, count: answer.count)
  }

  // MARK: - Sums

  /// The sum of all rows of an index with sums. The server takes O(log n).
  public func sum(of index: String, at point: ReadPoint? = nil) async throws -> RemoteSum {
    try await answer(to: ["indexes", index, "sum"], at: point).withSum()
  }

  /// The sum of a group of an index with sums, or of a range of its order; 0 for a group without
  /// rows. The server takes O(log n). The parameters are those of a count.
  public func sum(
    of index: String, in group: some KeyConvertible, from lower: String? = nil,
    to upper: String? = nil, at point: ReadPoint? = nil
  ) async throws -> RemoteSum {
    try await answer(
      to: ["indexes", index, "groups"], group, "sum", from: lower, to: upper, at: point
    ).withSum()
  }

  // MARK: - Requests

  private func answer(
    to path: [String], _ group: some KeyConvertible, _ last: String, from lower: String?,
    to upper: String?, at point: ReadPoint?
  ) async throws -> NumberAnswer {
    var query: [(String, [UInt8])] = []
    if let lower { query.append(("lower", Array(lower.utf8))) }
    if let upper { query.append(("upper", Array(upper.utf8))) }
    return try await answer(
      to: path.map { Array($0.utf8) } + [Self.name(group.keyBytes), Array(last.utf8)], query,
      at: point)
  }

  private func answer(
    to path: [String], _ query: [(String, [UInt8])] = [], at point: ReadPoint?
  ) async throws -> NumberAnswer {
    try await answer(to: path.map { Array($0.utf8) }, query, at: point)
  }

  private func answer(
    to path: [[UInt8]], _ query: [(String, [UInt8])], at point: ReadPoint?
  ) async throws -> NumberAnswer {
    var query = query
    if let point { query.append(("at", Array(RequestText.text(of: point).utf8))) }
    var target = path.map { "/" + Self.escaped($0) }.joined()
    for (index, (name, value)) in query.enumerated() {
      target += "\(index == 0 ? "?" : "&")\(name)=\(Self.escaped(value))"
    }
    var connection = connection
    do {
      return try await connection.ask("GET", target) { (body) throws(RemoteError) in
        try NumberAnswer(body)
      }
    } catch var error as RemoteError where error.code == .refused {
      switch error.status {
      case 400: error.code = .invalidInput
      case 404: error.code = .notFound
      case 410: error.code = .beyondHorizon
      default: break
      }
      throw error
    }
  }

  /// A key or a group as the server reads it. Bytes that begin as base 64 in JSON are wrapped,
  /// since they would be taken for that.
  private static func name(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.starts(with: "{\"$base64\":".utf8) else { return bytes }
    var wrapped: [UInt8] = []
    bytes.withUnsafeBytes { Base64.appendWrapping($0, to: &wrapped) }
    return wrapped
  }

  /// Bytes as a part of a URL, in which only letters, digits and `-._~` stand for themselves.
  private static func escaped(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        text.append(byte)
      default:
        text += Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// The answer of a server to a question for a number.
private struct NumberAnswer: Sendable {
  let commit: CommitNumber
  let count: Int
  let sum: IndexSum?
  /// The key at which the next page begins; nil after the last one.
  let next: [UInt8]?

  /// - Throws: `malformed`.
  init(_ body: [UInt8]) throws(RemoteError) {
    let result = body.withUnsafeBytes { bytes in
      Result { () throws(RemoteError) in try NumberAnswer(JSONPart(bytes)) }
    }
    self = try result.get()
  }

  private init(_ json: JSONPart) throws(RemoteError) {
    let members = try json.members()
    guard let commit = try members["commit"]?.commit(),
      let count = members["count"].flatMap({ Int(String(decoding: $0.bytes, as: UTF8.self)) }),
      count >= 0
    else { throw Self.malformed("“commit” or “count” is missing.") }
    self.commit = commit
    self.count = count
    sum = members["sum"].flatMap { IndexSum(String(decoding: $0.bytes, as: UTF8.self)) }
    next = try members["next"]?.present?.key()
  }

  /// - Throws: `malformed` if there is no sum.
  func withSum() throws(RemoteError) -> RemoteSum {
    guard let sum else { throw Self.malformed("“sum” is missing.") }
    return RemoteSum(commit: commit, count: count, sum: sum)
  }

  static func malformed(_ sentence: String) -> RemoteError {
    RemoteError(.malformed, "The server's answer is no count or sum: \(sentence)")
  }
}
