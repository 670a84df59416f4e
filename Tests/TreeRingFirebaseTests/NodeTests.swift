// Firebase's data model: reading, writing and editing trees.

import TestSupport
import Testing

@testable import TreeRingFirebase

@Suite struct NodeTests {
  private func node(_ json: String) throws -> FirebaseNode { try FirebaseNode(json: json.utf8) }
  private func text(_ json: [UInt8]) -> String { String(decoding: json, as: UTF8.self) }

  @Test func nullsAndEmptyObjectsVanish() throws {
    #expect(try !node("null").exists)
    #expect(try !node("{}").exists)
    #expect(try !node(#"{"a": {"b": {}, "c": null}, "d": []}"#).exists)
    #expect(try text(node(#"{"a": {"b": {}, "c": 1}}"#).json) == #"{"a":{"c":1}}"#)
    #expect(try !node(#"{".priority": 4}"#).exists)
  }

  @Test func arraysAreChildrenByNumber() throws {
    let array = try node(#"["a", null, ["b"], {"x": true}]"#)
    #expect(try array == node(#"{"0": "a", "2": {"0": "b"}, "3": {"x": true}}"#))
    #expect(text(array.json) == #"["a",null,["b"],{"x":true}]"#)
    // Fewer than half of the elements exist.
    #expect(try text(node(#"{"0": 1, "4": 2}"#).json) == #"{"0":1,"4":2}"#)
    #expect(try text(node(#"{"0": 1, "01": 2}"#).json) == #"{"0":1,"01":2}"#)
  }

  @Test func prioritiesStandBesideValuesAndChildren() throws {
    let leaf = try node(#"{".value": "x", ".priority": 5}"#)
    #expect(leaf.text == "x" && leaf.priority == 5)
    #expect(text(leaf.json) == #""x""#)
    #expect(text(leaf.exportedJSON) == #"{".value":"x",".priority":5}"#)
    let inner = try node(#"{"a": 1, ".priority": "p"}"#)
    #expect(inner.priority == "p" && inner["a"].number == 1)
    #expect(text(inner.exportedJSON) == #"{".priority":"p","a":1}"#)
  }

  @Test func nodesDecodeIntoTypes() throws {
    struct Message: Decodable, Equatable { var text: String, tags: [String], stars: Int }
    let message = try node(#"{"text": "hi", "tags": {"0": "a", "1": "b"}, "stars": 3.0}"#)
    #expect(try message.decode(Message.self) == Message(text: "hi", tags: ["a", "b"], stars: 3))
  }

  @Test(arguments: [
    "", "{", "[1,]", "nul", "{\"a\":1}x", #"{"a":"\x"}"#, "1e400", "-1e999", #"{"a.b": 1}"#,
    #"{"a/b": 1}"#, #"{"": 1}"#, #"{".sv": "timestamp"}"#, #"{".value": {"a": 1}}"#,
    #"{".value": 1, "a": 1}"#, #"{"a": 1, ".priority": true}"#, #"{"a": 1, ".priority": [1]}"#,
    #"{"a\u0001": 1}"#, "\u{FEFF}1",
    String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40),
    String(repeating: "[", count: 5000),
  ]) func whatIsNoDataIsAnError(_ json: String) {
    let error = #expect(throws: FirebaseError.self) { try node(json) }
    #expect(error?.code == .malformed)
  }

  @Test func bytesThatAreNoTextAreAnError() {
    #expect(throws: FirebaseError.self) { try FirebaseNode(json: [0x22, 0xFF, 0x22]) }
  }

  @Test func keysThatOnlyLookTheSameAreDistinct() throws {
    let two = try node("{\"\u{E9}\": 1, \"e\u{301}\": 2}")
    #expect(two.children.count == 2)
    #expect(two["\u{E9}"].number == 1 && two["e\u{301}"].number == 2)
    #expect(try node("\"\u{E9}\"") != node("\"e\u{301}\""))
  }

  @Test(arguments: [
    "", "a.b", "a$", "#", "[", "]", "a/b", "\u{7F}", "a\n", String(repeating: "k", count: 769),
  ])
  func somethingElseIsNoKey(_ text: String) {
    let error = #expect(throws: FirebaseError.self) { try FirebaseKey(text) }
    #expect(error?.code == .invalidInput)
  }

  @Test(arguments: seeds(1...200)) func editsAreThoseOfAListOfLeaves(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var model = PlainTree()
    var tree = FirebaseNode.null
    for _ in 0..<30 {
      let place = (0..<Int.random(in: 0...3, using: &random)).map { _ in random.key() }
      let data = random.data()
      model.put(data, at: place)
      tree.replace(try path(place), by: try data.node())
      #expect(try tree == model.data(at: []).node(), "seed \(seed)")
      #expect(try FirebaseNode(json: tree.exportedJSON) == tree, "seed \(seed)")
      let plain = try FirebaseNode(json: model.data(at: []).json(exporting: false).utf8)
      #expect(try FirebaseNode(json: tree.json) == plain, "seed \(seed)")
    }
  }

  @Test func virtualChildrenCanBeReplaced() throws {
    var tree = try node(#"{"a": {"b": 1}, "c": 2}"#)
    tree.replace(try FirebasePath("/a/.priority"), by: try node("7"))
    #expect(tree["a"].priority == 7)
    tree.replace(try FirebasePath("/c/.priority"), by: try node(#""x""#))
    tree.replace(try FirebasePath("/c/.value"), by: try node("3"))
    #expect(tree["c"].number == 3 && tree["c"].priority == "x")
    tree.replace(try FirebasePath("/none/.priority"), by: try node("1"))
    #expect(tree.children.count == 2)
  }
}
