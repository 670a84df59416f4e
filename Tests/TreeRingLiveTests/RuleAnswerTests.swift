// Answers of searches, and of writes that rules refuse.

import TestSupport
import Testing
import TreeRing
import TreeRingImport
import TreeRingLog

@testable import TreeRingLive

@Suite("Answers about searches and rules") struct RuleAnswerTests {
  private func ask(
    _ service: LiveService, _ target: String, body: String? = nil, _ access: LiveAccess
  ) throws -> (status: Int, members: [String: JSONValue], text: String) {
    let answer = service.answer(
      LiveRequest(
        method: body == nil ? "GET" : "POST", target: target, body: Array((body ?? "").utf8)),
      for: access)
    let members = try? JSONValue(answer.body).members
    return (answer.status, members ?? [:], String(decoding: answer.body, as: UTF8.self))
  }

  private func write(_ store: Store, _ operations: String) throws {
    var commit = CommitLine()
    try commit.parse("{\"ops\":[\(operations)]}")
    try store.write { try commit.apply(to: $0) }
  }

  @Test("A search answers with the best hits, the count of all, and its mistakes")
  func search() throws {
    let store = try Store.inMemory()
    try store.define(try TextIndex("words", bucket: "books", fields: ["title"]))
    for number in 0..<30 {
      let worms = String(repeating: "worm ", count: number % 3)
      try write(store, #"["put","books","k\#(number)",{"title":"\#(worms)sand"}]"#)
    }
    let service = LiveService(store)
    let everything = LiveAccess(.read)
    let target = "/v1/indexes/words/find"
    let text = try store.snapshot().text("words")
    for limit in [1, 7, 100] {
      let answer = try ask(service, "\(target)?q=worm&limit=\(limit)", everything)
      #expect(answer.status == 200 && answer.members["count"]?.integer == 20)
      guard case .array(let hits)? = answer.members["hits"] else {
        Issue.record("\(answer.text)")
        return
      }
      let wanted = try text.find(try TextQuery("worm"), limit: limit)
      #expect(hits.map { $0.members?["key"]?.string } == wanted.map(\.id.key.description))
      for hit in hits {
        guard case .array(let snippets)? = hit.members?["snippets"] else {
          Issue.record("\(hit)")
          continue
        }
        #expect(snippets.first?.string?.contains("worm") == true)
        #expect(hit.members?["object"]?.members?["title"]?.string?.hasSuffix("sand") == true)
      }
    }
    #expect(try ask(service, "\(target)?q=worm&at=10", everything).members["count"]?.integer == 6)
    #expect(try ask(service, "\(target)?q=absent", everything).members["count"]?.integer == 0)
    for (query, status) in [("", 400), ("?q=(", 400), ("?q=author:x", 400), ("?q=a&limit=0", 400)] {
      #expect(try ask(service, target + query, everything).status == status, "\(query)")
    }
    #expect(try ask(service, "/v1/indexes/none/find?q=a", everything).status == 404)
    let limited = LiveAccess(.read, buckets: ["other"])
    #expect(try ask(service, "\(target)?q=worm", limited).status == 403)
  }

  @Test("The error of a broken rule names no row of a bucket that the token does not allow")
  func hiddenRows() throws {
    let store = try Store.inMemory()
    try store.define("owner", Reference(on: "secrets", field: "owner", to: "users"))
    try write(store, #"["put","users","u1",{}],["put","secrets","codeword",{"owner":"u1"}]"#)
    let service = LiveService(store, isWritable: true)
    let body = #"{"ops":[["delete","users","u1"]]}"#
    let all = try ask(service, "/v1/commits", body: body, LiveAccess(.write))
    #expect(all.status == 409 && all.text.contains("codeword"), "\(all)")
    let limited = LiveAccess(.write, buckets: ["users"])
    let hidden = try ask(service, "/v1/commits", body: body, limited)
    #expect(hidden.status == all.status && hidden.text.contains("owner"), "\(hidden)")
    #expect(!hidden.text.contains("codeword") && !hidden.text.contains("secrets"), "\(hidden)")
    #expect(try store.snapshot().contains("u1", in: "users"))
  }
}
