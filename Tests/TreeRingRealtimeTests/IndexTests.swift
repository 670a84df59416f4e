// Queries by the group index of the rules equal scans.

import TestSupport
import Testing
import TreeRing

@testable import TreeRingFirebase
@testable import TreeRingRealtime

@Suite struct IndexTests {
  private static let rules = #"{"rules": {".read": true, ".write": true, "$l": {".indexOn": "n"}}}"#
  /// Texts that are equal where sort keys are cut.
  private static let long = String(repeating: "x", count: 300)

  private func value(_ random: inout SeededGenerator) -> String {
    switch Int.random(in: 0..<7, using: &random) {
    case 0: "null"
    case 1: random.chance(2) ? "true" : "false"
    case 2, 3: "\(Int.random(in: -20...20, using: &random))"
    case 4: "\"\(random.pick(["", "a", "b", "ö"]))\""
    case 5: "\"\(Self.long)\(Int.random(in: 0...9, using: &random))\""
    default: #"{"p": 1, "q": {"r": 2}}"#
    }
  }

  @Test func queriesByIndexEqualScans() throws {
    for seed in seeds(1...4) {
      var random = SeededGenerator(seed: seed)
      let stage = try RealtimeStage()
      let children = (0..<300).map { "\"k\($0)\": {\"n\": \(value(&random)), \"t\": 1}" }
      _ = stage.ask("PUT", "/list.json", "{\(children.joined(separator: ","))}")
      #expect(stage.setRules(Self.rules).status == 200)
      for _ in 0..<40 {
        _ = stage.ask(
          "PUT", "/list/k\(Int.random(in: 0..<300, using: &random))/n.json", value(&random))
      }
      let snapshot = try stage.store.snapshot()
      let index = try snapshot.index("rtdb.index")
      let tree = TreeReader(source: snapshot, bucket: "rtdb")
      let path = [try FirebaseKey("list")]
      var answered = 0
      for _ in 0..<120 {
        var parameters = ["orderBy": "\"n\""]
        let key = random.chance(3) ? ",\"k\(Int.random(in: 0..<300, using: &random))\"" : ""
        let names = [["equalTo"], ["startAt"], ["startAfter", "endAt"], ["endBefore"], []]
        for name in random.pick(names) {
          parameters[name] = ["null", "true", "0", "\"a\"", "\"\(Self.long)5\""].randomElement(
            using: &random
          ).map { $0 + key }
        }
        if random.chance(2) {
          parameters[random.pick(["limitToFirst", "limitToLast"])] = random.pick(["1", "7", "400"])
        }
        let query = try #require(try ChildQuery(parameters))
        let scanned = try query.result(at: path, in: tree, index: nil, nil)
        guard query.isFiltering, let found = try query.byIndex(at: path, in: tree, index, nil)
        else { continue }
        answered += 1
        #expect(
          found.map(\.key).sorted() == scanned.keys.sorted(), "seed \(seed) \(parameters)")
      }
      #expect(answered > 40, "seed \(seed)")
    }
  }

  @Test func rulesDefineAndRemoveTheIndex() throws {
    let stage = try RealtimeStage()
    #expect(stage.setRules(Self.rules).status == 200)
    _ = stage.ask("PUT", "/dinos.json", #"{"a": {"n": 1}, "b": {"n": 2}}"#)
    let index = try stage.store.snapshot().index("rtdb.index")
    #expect(try index.groups() == ["n of /dinos"])
    // Another service over the same store, and another set of indexes.
    let version = stage.store.indexes.map(\.version)
    _ = RealtimeService(stage.store, isWritable: true)
    #expect(stage.store.indexes.map(\.version) == version)
    #expect(stage.setRules(Self.rules.replacing("\"n\"", with: "\"m\"")).status == 200)
    #expect(stage.store.indexes.map(\.version) != version)
    #expect(stage.setRules(#"{"rules": {".read": true}}"#).status == 200)
    #expect(stage.store.indexes.isEmpty)
    #expect(stage.get("/dinos.json").contains("\"n\":2"))
  }
}
