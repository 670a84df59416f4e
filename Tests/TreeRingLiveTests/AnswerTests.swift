import TestSupport
import Testing
import TreeRing
import TreeRingImport
import TreeRingLog
import TreeRingMappings

@testable import TreeRingLive

@Suite("Answers to requests")
struct AnswerTests {
  private let everything = LiveAccess(.admin)

  private func ask(
    _ service: LiveService, _ target: String, method: String = "GET", body: String = "",
    _ access: LiveAccess? = nil
  ) throws -> (status: Int, members: [String: JSONValue], text: String) {
    let answer = service.answer(
      LiveRequest(method: method, target: target, body: Array(body.utf8)),
      for: access ?? everything)
    let members = try? JSONValue(answer.body).members
    return (answer.status, members ?? [:], String(decoding: answer.body, as: UTF8.self))
  }

  private func board() throws -> LiveBoard {
    var board = try LiveBoard(seed: 11)
    for _ in 0..<30 { try board.commit() }
    try board.write("{\"ops\":[[\"tag\",\"noon\",10]]}")
    return board
  }

  private func objects(_ value: JSONValue?) -> [[String: JSONValue]] {
    guard case .array(let elements)? = value else { return [] }
    return elements.compactMap(\.members)
  }

  @Test("Pages of rows make up the scan, forward and backward, also at an earlier commit")
  func rows() throws {
    let board = try board()
    let service = LiveService(board.store)
    for (at, point) in [("", ReadPoint.commit(board.store.newestCommit)), ("&at=9", .commit(9))] {
      var keys: [String] = []
      try board.store.snapshot(at: point).forEachRow(in: "rows") { row in
        keys.append(row.key.description)
        return true
      }
      for isReversed in [false, true] {
        var found: [String] = []
        var next = ""
        for _ in 0..<100 {
          let page = try ask(
            service,
            "/v1/buckets/rows/rows?limit=3\(at)\(isReversed ? "&reverse" : "")\(next)")
          #expect(page.status == 200)
          found += objects(page.members["rows"]).compactMap { $0["key"]?.string }
          guard let key = page.members["next"]?.string else { break }
          next = (isReversed ? "&to=" : "&from=") + key
        }
        #expect(found == (isReversed ? keys.reversed() : keys))
      }
    }
  }

  @Test("A text index answers searches, an index of groups those of groups, and no other")
  func kindsOfIndexes() throws {
    let board = try LiveBoard(seed: 1)
    let service = LiveService(board.store)
    try board.write(#"{"ops":[["index","words",{"bucket":"notes","text":["body"],"version":1}]]}"#)
    for (key, body) in [("a", "red apples"), ("b", "green apples, apples"), ("c", "pears")] {
      try board.write(#"{"ops":[["put","notes","\#(key)",{"body":"\#(body)"}]]}"#)
    }
    let found = try ask(service, "/v1/indexes/words/find?q=apples")
    #expect(found.status == 200 && found.members["count"] == .number("2"))
    #expect(objects(found.members["hits"]).compactMap { $0["key"]?.string }.sorted() == ["a", "b"])
    let first = try ask(service, "/v1/indexes/words/find?q=apples&limit=1")
    #expect(first.members["count"] == .number("2"))
    #expect(objects(first.members["hits"]).count == 1)
    let before = try ask(service, "/v1/indexes/words/find?q=apples&at=-2")
    #expect(objects(before.members["hits"]).compactMap { $0["key"]?.string } == ["a"])
    #expect(try ask(service, "/v1/indexes/words/find").status == 400)
    for path in [
      "board/find?q=apples", "none/find?q=apples", "words/groups", "words/groups/a/rows",
      "words/groups/a/rank/k", "words/changes?from=1&to=-0",
    ] {
      let answer = try ask(service, "/v1/indexes/\(path)")
      #expect(answer.status == 404, "\(path): \(answer.text)")
    }
  }

  @Test("Groups, rows of groups and ranks agree with the index")
  func groups() throws {
    let board = try board()
    let service = LiveService(board.store)
    let reader = try board.store.snapshot().index("board")
    var found: [String] = []
    var next = ""
    for _ in 0..<20 {
      let page = try ask(service, "/v1/indexes/board/groups?limit=2\(next)")
      found += objects(page.members["groups"]).compactMap { $0["group"]?.string }
      guard let group = page.members["next"]?.string else { break }
      next = "&from=\(group == "ü" ? "%C3%BC" : group)"
    }
    #expect(found == (try reader.groups().map(\.description)))
    for group in try reader.groups() where !group.bytes.isEmpty {
      let name = group.description == "ü" ? "%c3%BC" : group.description
      let rows = try reader.rows(in: group)
      var keys: [String] = []
      var from = ""
      for _ in 0..<100 {
        let page = try ask(service, "/v1/indexes/board/groups/\(name)/rows?limit=2\(from)")
        keys += objects(page.members["rows"]).compactMap { $0["key"]?.string }
        guard let next = page.members["next"]?.integer else { break }
        from = "&from=\(next)"
      }
      #expect(keys == rows.map(\.key.description))
      for (index, row) in rows.enumerated() {
        let rank = try ask(service, "/v1/indexes/board/groups/\(name)/rank/\(row.key)")
        #expect(rank.members["index"]?.integer == index)
      }
    }
  }

  @Test("The log comes in pages, a commit with its operations, a row with its life")
  func log() throws {
    let board = try board()
    let service = LiveService(board.store)
    var commits: [Int] = []
    var next = "&from=1"
    for _ in 0..<20 {
      let page = try ask(service, "/v1/commits?limit=7\(next)")
      commits += objects(page.members["commits"]).compactMap { $0["commit"]?.integer }
      guard let number = page.members["next"]?.integer else { break }
      next = "&from=\(number)"
    }
    #expect(commits == Array(1...Int(board.store.newestCommit)))
    // Every step-th commit, from either end, page by page.
    for (step, order) in [(3, ""), (4, "&reverse=true"), (1_000_000, "")] {
      let last = Int(board.store.newestCommit)
      var (found, next) = ([Int](), "")
      for _ in 0..<20 {
        let page = try ask(service, "/v1/commits?step=\(step)&limit=4\(order)\(next)")
        found += objects(page.members["commits"]).compactMap { $0["commit"]?.integer }
        guard let number = page.members["next"]?.integer else { break }
        next = order.isEmpty ? "&from=\(number)" : "&to=\(number)"
      }
      let expected =
        order.isEmpty
        ? stride(from: 1, through: last, by: step)
        : stride(from: last, through: 1, by: -step)
      #expect(found == Array(expected), "step \(step)\(order)")
    }
    #expect(try ask(service, "/v1/commits?step=0").status == 400)
    let then = try ask(service, "/v1/store?at=3")
    #expect(then.members["commit"]?.integer == 3)
    #expect(objects(then.members["tags"]).isEmpty)
    #expect(try ask(service, "/v1/commits/tag:noon").members["commit"]?.integer == 10)
    let key = try #require(try board.store.snapshot().key(at: 0, in: "rows"))
    let life = try ask(service, "/v1/buckets/rows/rows/\(key)/history")
    #expect(
      objects(life.members["versions"]).compactMap { $0["commit"]?.integer }
        == (try board.store.history(of: key, in: "rows").map { Int($0.commit) }))
    let row = try ask(service, "/v1/buckets/rows/rows/\(key)?at=-0")
    #expect(row.members["key"]?.string == key.description)
    #expect(try ask(service, "/v1/diff?from=5&to=5").members["more"] == .bool(false))
    #expect(
      objects(try ask(service, "/v1/diff?from=5&to=9&limit=1").members["differences"]).count == 1)
    let newest = try ask(service, "/v1/buckets/rows/rows/\(key)/history?limit=1")
    #expect(
      objects(newest.members["versions"]).first?["commit"]
        == objects(life.members["versions"])[0]["commit"])
    let hasMore = objects(life.members["versions"]).count > 1
    #expect((newest.members["next"]?.integer != nil) == hasMore)
    let change = try ask(service, "/v1/indexes/board/changes?from=12&to=9&form=placements")
    #expect(change.members["from"]?.integer == 12 && change.members["to"]?.integer == 9)
    for target in ["/v1/store", "/v1/stats", "/metrics", "/v1/openapi.json"] {
      #expect(try ask(service, target).status == 200)
    }
  }

  @Test(
    "Pages of differences make up all differences, in either direction, of one bucket and of all")
  func differences() throws {
    var board = try board()
    try board.write("{\"ops\":[[\"put\",\"other\",\"o\",1],[\"put\",\"other\",\"p\",2]]}")
    for _ in 0..<20 { try board.commit() }
    let service = LiveService(board.store)
    let newest = board.store.newestCommit
    for (from, to) in [(5, newest), (newest, 5), (1, newest)] {
      let new = try board.store.snapshot(at: .commit(to))
      let all = try new.diff(from: try board.store.snapshot(at: .commit(from))).map(\.id)
      for bucket in [nil, "rows", "other"] {
        var found: [RowID] = []
        var next = bucket.map { "&bucket=\($0)" } ?? ""
        for _ in 0..<200 {
          let page = try ask(service, "/v1/diff?from=\(from)&to=\(to)&limit=2\(next)")
          found += objects(page.members["differences"]).map {
            RowID(bucket: $0["bucket"]?.string ?? "", key: Key($0["key"]?.string ?? ""))
          }
          guard let key = page.members["next"]?.string else { break }
          next = "&start=\(key.replacing("%", with: "%25"))"
          if let bucket { next += "&bucket=\(bucket)" }
        }
        #expect(found == all.filter { bucket == nil || $0.bucket == bucket })
      }
    }
    for start in ["k1", "/k1", "a/b/c", "%25zz/k1"] {
      #expect(try ask(service, "/v1/diff?from=1&to=2&start=\(start)").status == 400)
    }
    #expect(try ask(service, "/v1/diff?from=1&to=2&bucket=none").status == 404)
  }

  @Test("The store's answer counts the groups of an index, up to a bound")
  func manyGroups() throws {
    let board = try board()
    var limits = LiveLimits()
    limits.rows = 3
    let few = try ask(LiveService(board.store), "/v1/store").text
    #expect(few.contains("\"groups\":5") && !few.contains("moreGroups"))
    let many = try ask(LiveService(board.store, limits: limits), "/v1/store").text
    #expect(many.contains("\"groups\":3,\"moreGroups\":true"))
  }

  @Test("A body of messages opens windows and changes them at once; too many are refused")
  func messages() throws {
    let service = LiveService(try board().store)
    func session(_ text: String) throws -> LiveSession {
      try service.session(for: everything, messages: Array(text.utf8))
    }
    let open =
      "{\"open\":1,\"index\":\"board\",\"groups\":[\"a\"],\"ranges\":{\"a\":\"fixed:1\"}}\n"
    let whole = try session(open + "{\"id\":1,\"grow\":{\"a\":1}}\n")
    #expect(try whole.next()?["count"]?.integer == 2)
    #expect(try whole.next() == nil)
    #expect(try session("nonsense\n" + open).next()?["error"] != nil)
    #expect(throws: TreeRingError.self) {
      try session(String(repeating: "{\"ping\":1}\n", count: 20))
    }
  }

  @Test(
    "Mistakes get the right status and an error object",
    arguments: [
      ("/v1/nothing", 404), ("/v1/buckets/none/rows", 404), ("/v1/buckets/rows/rows/none", 404),
      ("/v1/indexes/none/groups", 404), ("/v1/indexes/board/groups/none/rows", 404),
      ("/v1/commits/99999", 404), ("/v1/commits/tag:none", 404), ("/v1/commits/x", 400),
      ("/v1/buckets/rows/rows?limit=0", 400), ("/v1/buckets/rows/rows?limit=x", 400),
      ("/v1/buckets/rows/rows?limit=9999999999999999999999", 400),
      ("/v1/buckets/rows/rows?at=yesterday", 400), ("/v1/buckets/rows/rows?at=-99999", 404),
      ("/v1/buckets/rows/rows?colour=red", 400), ("/v1/buckets/rows/rows?limit=1&limit=2", 400),
      ("/v1/buckets/%ZZ/rows", 400), ("/v1/buckets/%FF/rows", 400),
      ("/v1/indexes/board/changes?from=1", 400),
      ("/v1/indexes/board/changes?from=1&to=2&form=odd", 400),
      ("/v1/indexes/board/groups/a/rows?range=fixed:-1", 400),
      ("/v1/indexes/board/groups/a/rows?range=fixed:9223372036854775807:9223372036854775807", 200),
      ("/v1/buckets/rows/rows?prefix=%7B%22%24base64%22%3A%22*%22%7D", 400),
      ("/v1/buckets/rows/rows?reverse=perhaps", 400), ("", 404), ("/", 404), ("//", 404),
    ])
  func mistakes(_ target: String, _ status: Int) throws {
    let answer = try ask(LiveService(try board().store), target)
    #expect(answer.status == status, "\(answer.text)")
    if status >= 400 {
      let error = answer.members["error"]?.members
      #expect(error?["code"]?.string != nil && error?["message"]?.string != nil)
    }
  }

  @Test("A write makes one commit; a conflict names the present one; a repetition makes no second")
  func writes() throws {
    let board = try board()
    let service = LiveService(board.store, isWritable: true)
    let newest = Int(board.store.newestCommit)
    let put = "[\"put\",\"rows\",\"k1\",{\"group\":\"a\",\"order\":1}]"
    let first = try ask(
      service, "/v1/commits", method: "POST",
      body: "{\"ops\":[\(put)],\"expecting\":\(newest),\"idempotencyKey\":\"once\"}")
    #expect(first.status == 201 && first.members["commit"]?.integer == newest + 1)
    let second = try ask(
      service, "/v1/commits", method: "POST", body: "{\"ops\":[\(put)],\"idempotencyKey\":\"once\"}"
    )
    #expect(second.status == 200 && second.members["commit"]?.integer == newest + 1)
    let conflict = try ask(
      service, "/v1/commits", method: "POST", body: "{\"ops\":[\(put)],\"expecting\":\(newest)}")
    #expect(conflict.status == 409)
    #expect(conflict.members["error"]?.members?["current"]?.integer == newest + 1)
    for body in [
      "", "{", "[]", "{\"ops\":1}", "{\"ops\":[],\"expecting\":\"x\"}", "{\"odd\":1}",
      "{\"ops\":[],\"durability\":\"some\"}", "{\"base\":1,\"ops\":[]}",
      "{\"ops\":[],\"expecting\":1,\"expecting\":2}", "{\"ops\":[[\"put\",\"rows\"]]}",
    ] {
      #expect(try ask(service, "/v1/commits", method: "POST", body: body).status == 400, "\(body)")
    }
    #expect(board.store.newestCommit == newest + 1)
    for (offset, name) in ["full", "barrier", "relaxed", "unsynced", "none"].enumerated() {
      let body = "{\"ops\":[\(put)],\"durability\":\"\(name)\"}"
      let answer = try ask(service, "/v1/commits", method: "POST", body: body)
      #expect(answer.members["commit"]?.integer == newest + 2 + offset, "\(name)")
    }
    let closed = LiveService(board.store)
    #expect(
      try ask(closed, "/v1/commits", method: "POST", body: "{\"ops\":[\(put)]}").status == 403)
  }

  @Test("A role and its limits allow what they name, and nothing else")
  func roles() throws {
    let board = try board()
    try board.write("{\"ops\":[[\"put\",\"secret\",\"s\",{\"group\":\"a\",\"order\":1}]]}")
    try board.store.define(
      "hidden", try FieldIndex(bucket: "secret", group: "group", order: [.init("order")]))
    let service = LiveService(board.store, isWritable: true)
    let limited = LiveAccess(.write, buckets: ["rows"])
    let narrow = LiveAccess(.read, indexes: ["hidden"])
    for (target, access, status) in [
      ("/v1/buckets/secret/rows", limited, 403), ("/v1/buckets/secret/rows/s", limited, 403),
      ("/v1/buckets/secret/rows/s/history", limited, 403),
      ("/v1/indexes/hidden/groups", limited, 403),
      ("/v1/indexes/hidden/groups/a/rows", limited, 403),
      ("/v1/indexes/hidden/changes?from=1&to=2", limited, 403),
      ("/v1/diff?from=1&to=2", limited, 403), ("/v1/diff?from=1&to=2&bucket=secret", limited, 403),
      ("/v1/diff?from=1&to=2&bucket=rows", limited, 200), ("/v1/commits", limited, 403),
      ("/v1/commits/1", limited, 403), ("/v1/stats", limited, 403), ("/metrics", limited, 403),
      ("/v1/buckets/rows/rows", limited, 200), ("/v1/indexes/board/groups", limited, 200),
      ("/v1/indexes/board/groups", narrow, 403), ("/v1/indexes/hidden/groups", narrow, 200),
    ] {
      #expect(try ask(service, target, access).status == status, "\(target)")
    }
    let store = try ask(service, "/v1/store", limited)
    #expect(!store.text.contains("secret") && !store.text.contains("hidden"))
    func post(_ operation: String, _ access: LiveAccess, _ more: String = "") throws -> Int {
      try ask(
        service, "/v1/commits", method: "POST", body: "{\"ops\":[\(operation)]\(more)}", access
      ).status
    }
    #expect(try post("[\"touch\",\"secret\",\"s\"]", limited) == 403)
    #expect(try post("[\"delete\",\"rows\",\"k1\"]", limited) == 201)
    #expect(try post("[\"delete\",\"rows\",\"k1\"]", LiveAccess(.read)) == 403)
    #expect(try post("[\"tag\",\"x\",1]", limited) == 403)
    #expect(try post("[\"tag\",\"x\",1]", LiveAccess(.write)) == 201)
    #expect(try post("[\"index\",\"board\",null]", LiveAccess(.write)) == 403)
    #expect(try post("", LiveAccess(.write), ",\"at\":\"2999-01-01\"") == 403)
    let session = service.session(for: limited)
    session.receive("{\"open\":1,\"index\":\"hidden\"}")
    #expect(try session.next()?["error"]?.members?["code"]?.string == "notAllowed")
    #expect(throws: TreeRingError.self) { try service.logReader(from: 1, for: limited) }
  }

  @Test("The log reader sends every commit once, in order, and waits for none")
  func tail() throws {
    var board = try board()
    let reader = try LiveService(board.store).logReader(from: 3, for: everything)
    var numbers: [Int] = []
    for _ in 0..<20 {
      while let message = reader.nextMessage() {
        for line in message.split(separator: UInt8(ascii: "\n")) {
          numbers.append(try JSONValue(Array(line)).members?["commit"]?.integer ?? 0)
        }
      }
      #expect(!reader.mayBeDue)
      try board.commit()
      #expect(reader.mayBeDue)
    }
    #expect(numbers == Array(3..<Int(board.store.newestCommit)))
  }
}
