import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite struct FieldIndexTests {
  private func index(
    group: String = "g", order: String = "o", where conditions: [String] = []
  ) throws -> FieldIndex {
    try FieldIndex(bucket: "b", group: group, order: order, where: conditions)
  }

  private func evaluate(
    _ index: FieldIndex, _ json: String
  ) -> (group: String, sortKey: [UInt8])? {
    Array(json.utf8).withUnsafeBytes { index.evaluate($0) }.map {
      (String(decoding: $0.group, as: UTF8.self), $0.sortKey)
    }
  }

  @Test("Values order absent or null, false, true, numbers, strings, others")
  func order() throws {
    let index = try index()
    let down = try self.index(order: "o:desc")
    let classes: [[String]] = [
      ["", ",\"o\":null"], [",\"o\":false"], [",\"o\":true"], [",\"o\":-1e999999999999999999999"],
      [",\"o\":-1e400"], [",\"o\":-12.5", ",\"o\":-125e-1", ",\"o\":-12.500"], [",\"o\":-12"],
      [",\"o\":-1e-400"], [",\"o\":0", ",\"o\":-0", ",\"o\":0.00e7"], [",\"o\":1e-400"],
      [",\"o\":0.001"], [",\"o\":0.5", ",\"o\":5e-1"], [",\"o\":1", ",\"o\":1.0", ",\"o\":10e-1"],
      [",\"o\":1.01"], [",\"o\":9"], [",\"o\":10", ",\"o\":1E1"], [",\"o\":99"],
      [",\"o\":9007199254740992"], [",\"o\":9007199254740993"], [",\"o\":1e100"], [",\"o\":1e101"],
      [",\"o\":1e400"], [",\"o\":\"\""], [",\"o\":\"\\u0000\""], [",\"o\":\"a\""],
      [",\"o\":\"a\\u0000\""], [",\"o\":\"ab\"", ",\"o\":\"\\u0061b\""], [",\"o\":\"é\""],
      [",\"o\":[1]"], [",\"o\":[2]"], [",\"o\":{}"],
    ]
    var keys: [(up: [UInt8], down: [UInt8])] = []
    for texts in classes {
      let rows = try texts.map { text in
        let object = "{\"g\":\"x\"\(text)}"
        return (
          up: try #require(evaluate(index, object)).sortKey,
          down: try #require(evaluate(down, object)).sortKey
        )
      }
      for row in rows { #expect(row.up == rows[0].up && row.down == rows[0].down, "\(texts)") }
      keys.append(rows[0])
    }
    for (a, b) in zip(keys.indices, keys.indices.dropFirst()) {
      #expect(keys[a].up < keys[b].up, "\(classes[a]) \(classes[b])")
      #expect(keys[b].down < keys[a].down, "\(classes[a]) \(classes[b])")
      #expect(!keys[b].up.starts(with: keys[a].up), "\(classes[a]) \(classes[b])")
    }
  }

  @Test("Random numbers order by value")
  func numbers() throws {
    let index = try index()
    for seed: UInt64 in 1...2_000 {
      var maker = JSONMaker(seed: seed)
      let (a, b) = (maker.number(), maker.number())
      let x = try #require(evaluate(index, "{\"g\":1,\"o\":\(a)}")).sortKey
      let y = try #require(evaluate(index, "{\"g\":1,\"o\":\(b)}")).sortKey
      let (left, right) = (try #require(Decimal(string: a)), try #require(Decimal(string: b)))
      #expect((x < y) == (left < right), "seed \(seed): \(a) \(b)")
      #expect((x == y) == (left == right), "seed \(seed): \(a) \(b)")
    }
  }

  @Test("The group is a scalar's text; rows without one are left out")
  func groups() throws {
    let index = try index(group: "a.b")
    #expect(evaluate(index, "{\"a\":{\"b\":\"x\\u0041\"}}")?.group == "xA")
    #expect(evaluate(index, " { \"a\" : { \"c\" : [ ] , \"b\" : 1.50 } } ")?.group == "1.50")
    #expect(evaluate(index, "{\"a\":{\"b\":true}}")?.group == "true")
    #expect(evaluate(index, "{\"a\":{\"b\":null}}")?.group == "null")
    #expect(evaluate(index, "{\"a\":{\"b\":1},\"a\":{\"b\":2}}")?.group == "2")
    let long = String(repeating: "x", count: 256)
    let out = [
      "{}", "{\"a\":1}", "{\"a\":{}}", "{\"a\":{\"b\":[]}}", "{\"a\":{\"b\":{}}}", "[]", "1", "",
      "{\"a\":{\"b\":1}", "{\"a\":{\"b\":1}} x", "{\"a\":{\"b\":1},\"a\":0}", "{\"a.b\":1}",
      "{\"a\":{\"b\":\"\(long)\"}}", "{\"a\":{\"b\":1},}", "\"a\"", "{\"a\":{\"b\":1},\"c\":nul}",
      "{\"a\" {\"b\":1}}",
    ]
    for object in out { #expect(evaluate(index, object) == nil, "\(object)") }
  }

  @Test("Conditions are and-ed, their values or-ed, and compare texts")
  func conditions() throws {
    let index = try index(where: ["s=x,y", "n=1", "s=y,z"])
    #expect(index.conditions.count == 2)
    #expect(evaluate(index, "{\"g\":1,\"s\":\"y\",\"n\":1}") != nil)
    #expect(evaluate(index, "{\"g\":1,\"s\":\"y\",\"n\":\"1\"}") != nil)
    #expect(evaluate(index, "{\"g\":1,\"s\":\"x\",\"n\":1}") == nil)
    #expect(evaluate(index, "{\"g\":1,\"s\":\"y\",\"n\":1.0}") == nil)
    #expect(evaluate(index, "{\"g\":1,\"s\":\"y\"}") == nil)
    #expect(evaluate(index, "{\"g\":1,\"s\":[\"y\"],\"n\":1}") == nil)
  }

  @Test("A field may serve as group, order and condition at once, and be above another one")
  func sharedFields() throws {
    let index = try index(group: "a", order: "a,a.b:desc", where: ["a=1,2"])
    #expect(evaluate(index, "{\"a\":1}")?.group == "1")
    #expect(evaluate(index, "{\"a\":{\"b\":1}}") == nil)
  }

  @Test("Definitions are written canonically and read back")
  func definitions() throws {
    let index = try FieldIndex(
      bucket: "flights", group: "origin", order: "scheduled,flight:desc",
      where: ["status=scheduled,delayed"])
    #expect(
      index.json == """
        {"bucket":"flights","group":"origin","order":["scheduled","flight:desc"],\
        "where":{"status":["scheduled","delayed"]},"version":1}
        """)
    #expect(try FieldIndex(json: index.json) == index)
    let minimal = try FieldIndex(json: " {\"group\":\"g\", \"bucket\":\"b\"} ")
    #expect(minimal.order.isEmpty && minimal.version == 1)
    #expect(try FieldIndex(json: minimal.json) == minimal)
    for seed: UInt64 in 1...200 {
      var maker = JSONMaker(seed: seed)
      let names = ["a", "a.b", "é", "x\"y", "q:desc"]
      let index = try FieldIndex(
        bucket: maker.pick(["b", "", "\\"]), group: maker.pick(names),
        order: (0..<maker.pick([0, 1, 3])).map { _ in
          FieldIndex.Order(maker.pick(["a", "a.b", "é"]), descending: maker.chance(2))
        },
        where: (0..<maker.pick([0, 1, 3])).map { _ in
          FieldIndex.Condition(maker.pick(names), in: [maker.pick(["", "1", "\n"])])
        }, version: UInt32(seed))
      #expect(try FieldIndex(json: index.json) == index, "seed \(seed)")
    }
  }

  @Test(
    "Malformed definitions are refused",
    arguments: [
      "", "[]", "{}", "{\"bucket\":\"b\"}", "{\"bucket\":1,\"group\":\"g\"}",
      "{\"bucket\":\"b\",\"group\":\"\"}", "{\"bucket\":\"b\",\"group\":\"g\",\"x\":1}",
      "{\"bucket\":\"b\",\"group\":\"g\",\"order\":\"o\"}",
      "{\"bucket\":\"b\",\"group\":\"g\",\"where\":{\"s\":\"x\"}}",
      "{\"bucket\":\"b\",\"group\":\"g\",\"version\":-1}", "{\"bucket\":\"b\",\"group\":\"g\"} 1",
    ])
  func malformed(_ json: String) {
    #expect { try FieldIndex(json: json) } throws: {
      ($0 as? TreeRingError)?.code == .invalidInput
    }
  }

  @Test("Malformed options are refused")
  func malformedOptions() {
    for (order, condition) in [("a,,b", "x=1"), ("", "x=1"), ("a", "x"), ("a", "=1")] {
      #expect(throws: TreeRingError.self) { try index(order: order, where: [condition]) }
    }
  }

  @Test("Spoilt objects never trap, and are in the index only if they are JSON objects")
  func spoilt() throws {
    let index = try index(group: "a0", order: "a1.a2,a3:desc", where: ["a0=0,7,42,true,null"])
    for seed: UInt64 in 1...3_000 {
      var maker = JSONMaker(seed: seed)
      let bytes = maker.spoilt(maker.object())
      let isValid = bytes.withUnsafeBytes { JSONScanner.isValid($0) }
      let found = bytes.withUnsafeBytes { index.evaluate($0) }
      if !isValid { #expect(found == nil, "seed \(seed)") }
      if isValid {
        let value = try bytes.withUnsafeBytes { buffer in
          try JSONScanner.find(JSONPath("a0"), in: buffer).map {
            String(decoding: buffer[$0], as: UTF8.self)
          }
        }
        let expected = ["0", "7", "42", "true", "null"].contains(value)
        #expect((found != nil) == expected, "seed \(seed)")
      }
    }
  }
}
