// Answers to conditions, bounds and counts.

import TestSupport
import Testing
import TreeRing
import TreeRingLog

@testable import TreeRingLive

@Suite("Answers about conditions, bounds and counts") struct QuestionAnswerTests {
  private func ask(
    _ service: LiveService, _ target: String, _ access: LiveAccess = LiveAccess(.read)
  ) throws -> (status: Int, members: [String: JSONValue], text: String) {
    let answer = service.answer(LiveRequest(method: "GET", target: target), for: access)
    let members = try? JSONValue(answer.body).members
    return (answer.status, members ?? [:], String(decoding: answer.body, as: UTF8.self))
  }

  private func board() throws -> LiveBoard {
    var board = try LiveBoard(seed: 5)
    for _ in 0..<40 { try board.commit() }
    return board
  }

  private func keys(_ members: [String: JSONValue]) -> [String] {
    guard case .array(let rows)? = members["rows"] else { return [] }
    return rows.compactMap { $0.members?["key"]?.string }
  }

  @Test("Pages with conditions make up the filtered scan, however few rows a page examines")
  func conditions() throws {
    let board = try board()
    var limits = LiveLimits()
    limits.examinedRows = 4
    let service = LiveService(board.store, limits: limits)
    let filter = try RowFilter(["order>3", "group!=b"])
    for (at, point) in [("", ReadPoint.commit(board.store.newestCommit)), ("&at=20", .commit(20))] {
      var wanted: [String] = []
      try board.store.snapshot(at: point).forEachRow(in: "rows") { row in
        if row.object.withUnsafeBytes(filter.fits) { wanted.append(row.key.description) }
        return true
      }
      #expect(!wanted.isEmpty)
      for isReversed in [false, true] {
        var found: [String] = []
        var next = ""
        for _ in 0..<100 {
          let page = try ask(
            service,
            "/v1/buckets/rows/rows?where=order%3E3&where=group!=b&limit=3\(at)"
              + "\(isReversed ? "&reverse" : "")\(next)")
          #expect(page.status == 200, "\(page.text)")
          #expect(keys(page.members).count <= 3)
          found += keys(page.members)
          guard let key = page.members["next"]?.string else { break }
          next = (isReversed ? "&to=" : "&from=") + key
        }
        #expect(found == (isReversed ? wanted.reversed() : wanted))
      }
    }
  }

  @Test("The counts of pages with conditions make up the count, at the commit of the first")
  func countsByConditions() throws {
    let board = try board()
    var limits = LiveLimits()
    limits.examinedRows = 4
    let service = LiveService(board.store, limits: limits)
    let filter = try RowFilter(["order>3", "group!=b"])
    for (at, point) in [("", ReadPoint.commit(board.store.newestCommit)), ("&at=20", .commit(20))] {
      let snapshot = try board.store.snapshot(at: point)
      var wanted = 0
      try snapshot.forEachRow(in: "rows") { row in
        if row.object.withUnsafeBytes(filter.fits) { wanted += 1 }
        return true
      }
      var count = 0
      var next = ""
      for _ in 0..<100 {
        let page = try ask(
          service, "/v1/buckets/rows/count?where=order%3E3&where=group!=b\(at)\(next)")
        #expect(page.status == 200, "\(page.text)")
        #expect(page.members["commit"]?.integer == Int(snapshot.commit))
        count += page.members["count"]?.integer ?? 0
        guard let key = page.members["next"]?.string else { break }
        next = "&from=" + key
      }
      #expect(count == wanted && wanted > 4)
      let index = try ask(service, "/v1/indexes/board/count?at=\(snapshot.commit)")
      #expect(index.members["count"]?.integer == (try snapshot.index("board").count))
    }
  }

  @Test("A page of many examined rows names the indexes that would serve and may be seen")
  func advice() throws {
    let board = try board()
    var limits = LiveLimits()
    limits.examinedRows = 4
    let service = LiveService(board.store, limits: limits)
    for path in ["rows", "count"] {
      func advice(_ query: String, _ access: LiveAccess = LiveAccess(.read)) throws -> String? {
        try ask(service, "/v1/buckets/rows/\(path)?\(query)", access).members["advice"]?.string
      }
      #expect(try advice("where=group=a")?.contains("by a group of board (rows: field") == true)
      let limited = LiveAccess(.read, buckets: ["rows"], indexes: ["other"])
      #expect(try advice("where=group=a", limited)?.contains("No index serves") == true)
      #expect(try advice("where=order%3E3")?.contains("without an equality") == true)
      #expect(try advice("") == nil)
    }
  }

  @Test("Bounds give the rows and the count of a range of the order")
  func bounds() throws {
    let board = try board()
    let service = LiveService(board.store)
    for commit in [20, board.store.newestCommit] {
      let snapshot = try board.store.snapshot(at: .commit(commit))
      let reader = try snapshot.index("board")
      for (lower, upper) in [(2, 6), (0, 8), (5, 3), (3, 4)] {
        let positions = try snapshot.positions(
          in: "a", of: reader, from: "\(lower)", to: "\(upper)")
        let wanted = try reader.rows(in: "a", positions).map(\.key.description)
        let query = "lower=\(lower)&upper=\(upper)&at=\(commit)"
        let target = "/v1/indexes/board/groups/a"
        let counted = try ask(service, "\(target)/count?\(query)")
        #expect(counted.members["count"]?.integer == wanted.count)
        #expect(counted.members["commit"]?.integer == Int(commit))
        var found: [String] = []
        var from = ""
        for _ in 0..<100 {
          let page = try ask(service, "\(target)/rows?limit=2&\(query)\(from)")
          #expect(page.members["count"]?.integer == (try reader.count(in: "a")))
          found += keys(page.members)
          guard let next = page.members["next"]?.integer else { break }
          from = "&from=\(next)"
        }
        #expect(found == wanted)
        let first = try ask(service, "\(target)/rows?range=fixed:1&\(query)")
        #expect(keys(first.members) == Array(wanted.prefix(1)))
      }
      let rows = try ask(service, "/v1/buckets/rows/count?at=\(commit)")
      #expect(rows.members["count"]?.integer == (try snapshot.count(in: "rows")))
      let group = try ask(service, "/v1/indexes/board/groups/a/count?at=\(commit)")
      #expect(group.members["count"]?.integer == (try reader.count(in: "a")))
    }
    let absent = try ask(service, "/v1/indexes/board/groups/absent/count")
    #expect(absent.members["count"]?.integer == 0)
  }

  @Test(
    "A mistake is answered with its status",
    arguments: [
      ("buckets/rows/rows?where=order", 400), ("buckets/rows/rows?where=order%3Cnull", 400),
      ("indexes/board/groups/a/rows?lower=1,2", 400), ("indexes/board/groups/a/rows?upper=x", 400),
      ("indexes/board/groups/a/count?lower=[", 400), ("indexes/board/groups/a/count?low=1", 400),
      ("indexes/none/groups/a/count", 404), ("buckets/none/count", 404),
      ("buckets/rows/count?where=order", 400), ("indexes/none/count", 404),
      ("buckets/none/rows?where=a=1", 404),
    ])
  func mistakes(path: String, status: Int) throws {
    let service = LiveService(try board().store)
    let answer = try ask(service, "/v1/\(path)")
    #expect(answer.status == status, "\(answer.text)")
    #expect(answer.members["error"]?.members?["message"]?.string?.isEmpty == false)
  }

  @Test("A token without the right to a bucket or index counts none of its rows")
  func rights() throws {
    let service = LiveService(try board().store)
    let access = LiveAccess(.read, buckets: ["other"], indexes: ["other"])
    for path in [
      "buckets/rows/count", "buckets/rows/count?where=order%3E3", "indexes/board/count",
      "indexes/board/groups/a/count",
    ] {
      #expect(try ask(service, "/v1/\(path)", access).status == 403)
    }
  }

  @Test("The errors of an unknown index name no index to a token with limits")
  func hiddenIndexes() throws {
    let service = LiveService(try board().store)
    // In the past the index was not yet defined.
    for index in ["none", "board"] {
      for path in [
        "groups?at=1", "groups/a/rows?at=1", "groups/a/count?at=1", "find?q=a&at=1",
        "changes?from=1&to=1",
      ] {
        let target = "/v1/indexes/\(index)/\(path)"
        for access in [
          LiveAccess(.read, buckets: ["rows"], indexes: ["none"]),
          LiveAccess(.read, buckets: ["other"]),
        ] {
          let answer = try ask(service, target, access)
          #expect(answer.status >= 400, "\(target)")
          #expect(!answer.text.contains("The store has"), "\(target): \(answer.text)")
        }
      }
    }
    let all = try ask(service, "/v1/indexes/none/groups")
    #expect(all.text.contains("The store has board"), "\(all.text)")
  }
}
