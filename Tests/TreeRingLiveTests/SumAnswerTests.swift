// Answers with sums of an index.

import Foundation
import TestSupport
import Testing
import TreeRing
import TreeRingLog

@testable import TreeRingLive

@Suite("Answers with sums") struct SumAnswerTests {
  private func ask(
    _ service: LiveService, _ target: String, _ access: LiveAccess = LiveAccess(.read)
  ) -> (status: Int, text: String) {
    let answer = service.answer(LiveRequest(method: "GET", target: target), for: access)
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  private func store() throws -> Store {
    let store = try Store.inMemory()
    try store.define(
      "Orders",
      FieldIndex(bucket: "o", group: "who", order: [.init("day")]).summing("amount", decimals: 2))
    try store.define("Plain", FieldIndex(bucket: "o", group: "who", order: []))
    let orders = Bucket<[UInt8]>.bytes("o")
    for (key, who, amount) in [("a", "ann", "12.5"), ("b", "ann", "-0.75"), ("c", "bob", "4")] {
      try store.write { tx in
        let object = #"{"who":"\#(who)","day":\#(tx.commit),"amount":\#(amount)}"#
        try tx.put(Array(object.utf8), for: Key(key), in: orders)
      }
    }
    return store
  }

  @Test("An index, a group and a range of its order have sums, at any moment")
  func sums() throws {
    let service = LiveService(try store())
    for (path, body) in [
      ("sum", #"{"commit":5,"count":3,"sum":15.75}"#),
      ("sum?at=3", #"{"commit":3,"count":1,"sum":12.50}"#),
      ("groups/ann/sum", #"{"commit":5,"group":"ann","count":2,"sum":11.75}"#),
      ("groups/ann/sum?lower=4", #"{"commit":5,"group":"ann","count":1,"sum":-0.75}"#),
      ("groups/ann/sum?upper=4&at=4", #"{"commit":4,"group":"ann","count":1,"sum":12.50}"#),
      ("groups/none/sum", #"{"commit":5,"group":"none","count":0,"sum":0.00}"#),
    ] {
      let answer = ask(service, "/v1/indexes/Orders/\(path)")
      #expect(answer.status == 200 && answer.text == body + "\n", "\(path): \(answer.text)")
    }
  }

  @Test("Totals of a window have the sums of whole groups, after commits that show nothing new too")
  func live() throws {
    let store = try store()
    let session = LiveService(store).session(for: LiveAccess(.read))
    session.receive(
      #"{"open":"w","index":"Orders","groups":["ann","bob"],"ranges":{"ann":"fixed:1"},"#
        + #""totals":true}"#)
    func totals() throws -> String {
      guard let message = session.nextMessage() else { return "nothing" }
      let text = String(decoding: message, as: UTF8.self)
      let part = text.components(separatedBy: "\"totals\":").dropFirst().first
      return part.map { String($0.dropLast()) } ?? "no totals in \(text)"
    }
    #expect(try totals() == #"[["ann",0,2,11.75],["bob",0,1,4.00]]"#)
    try store.write { tx in
      try tx.put(
        Array(#"{"who":"ann","day":9,"amount":8}"#.utf8), for: "b",
        in: Bucket<[UInt8]>.bytes("o"))
    }
    #expect(try totals() == #"[["ann",0,2,20.50]]"#)
    #expect(try totals() == "nothing")
    // Other sums of the same rows, and none.
    let fields = try FieldIndex(bucket: "o", group: "who", order: [.init("day")], version: 2)
    try store.define("Orders", fields.summing("day"))
    #expect(try totals().hasPrefix(#"[["ann",0,2,"#))
    #expect(try totals() == "nothing")
    try store.define("Orders", fields.withVersion(3))
    #expect(try totals() == #"[["ann",0,2],["bob",0,1]]"#)
  }

  @Test("An index without sums, a mistake and a missing right are answered with their status")
  func mistakes() throws {
    let service = LiveService(try store())
    #expect(ask(service, "/v1/indexes/Plain/sum").status == 400)
    #expect(ask(service, "/v1/indexes/none/sum").status == 404)
    #expect(ask(service, "/v1/indexes/Orders/groups/ann/sum?lower=x").status == 400)
    let access = LiveAccess(.read, buckets: ["o"], indexes: ["Plain"])
    #expect(ask(service, "/v1/indexes/Orders/sum", access).status == 403)
    #expect(ask(service, "/v1/indexes/Orders/groups/ann/sum", access).status == 403)
    #expect(ask(service, "/v1/openapi.json").text.contains("groups/{group}/sum"))
  }
}
