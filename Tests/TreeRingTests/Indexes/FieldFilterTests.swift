// Filters that are data: every process knows them, whatever index they filter.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Filters by fields", .leavesSoundStores) struct FieldFilterTests {
  private static func fields(_ order: String = "n") throws -> FieldIndex {
    try FieldIndex(bucket: "rows", group: "g", order: order, where: [])
  }

  private static func put(
    _ tx: Transaction, _ key: String, _ group: String, _ number: Int, _ state: String
  ) throws {
    let object = Array(#"{"g":"\#(group)","n":\#(number),"s":"\#(state)"}"#.utf8)
    try tx.put(object, for: Key(key), in: Bucket<[UInt8]>.bytes("rows"))
  }

  @Test(
    "A filter has the groups and the order of its parent, chains included", arguments: seeds(1...6))
  func chains(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let files = MemoryFileSystem()
    var store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    try store.define("all", Self.fields())
    try store.define("open", FieldFilter(of: "all", where: [.init("s", in: ["open", "new"])]))
    try store.define("new", FieldFilter(of: "open", where: ["s=new", "g=a,b"]))
    for turn in 0..<80 {
      try store.write { tx in
        let key = "k\(Int.random(in: 0..<15, using: &random))"
        if Int.random(in: 0..<4, using: &random) == 0 {
          try tx.delete(Key(key), in: "rows")
        } else {
          try Self.put(
            tx, key, ["a", "b", "c"].randomElement(using: &random) ?? "a",
            Int.random(in: 0..<9, using: &random),
            ["open", "new", "done"].randomElement(using: &random) ?? "new")
        }
      }
      if turn == 40 {
        try store.close()
        // No process needs to repeat the definitions.
        store = try Store(path: "store", fileSystem: files, options: StoreOptions())
      }
      let snapshot = try store.snapshot()
      for group in ["a", "b", "c"] as [GroupName] {
        let all = try snapshot.index("all").rows(in: group)
        let open = all.filter { !String(decoding: $0.object, as: UTF8.self).contains("done") }
        #expect(try snapshot.index("open").rows(in: group) == open, "seed \(seed)")
        let new = open.filter { String(decoding: $0.object, as: UTF8.self).contains("new") }
        #expect(
          try snapshot.index("new").rows(in: group) == (group == "c" ? [] : new), "seed \(seed)")
      }
    }
    #expect(try store.checkInvariants() == [])
  }

  @Test("A filter is adapted when its parent is redefined, is listed, and is removed with it")
  func follows() throws {
    let store = try Store.inMemory()
    try store.write { tx in
      for number in 0..<4 { try Self.put(tx, "k\(number)", "a", number, number < 3 ? "x" : "y") }
    }
    try store.define("all", Self.fields())
    let filter = try FieldFilter(of: "all", where: ["s=x"])
    let defined = try store.define("few", filter)
    #expect(try store.define("few", filter) == defined)
    #expect(try store.snapshot().index("few").keys("a") == ["k0", "k1", "k2"])
    try store.define("all", Self.fields("n:desc").withVersion(2))
    #expect(try store.snapshot().index("few").keys("a") == ["k2", "k1", "k0"])
    let told = try #require(store.indexes.first { $0.name == "few" })
    #expect(told.filter == filter && told.parent == "all" && told.buckets == ["rows"])
    #expect(told.fields == nil && !told.isManual)
    // A filter of a manual index.
    try store.define("hand", ManualIndex(on: "rows"))
    try store.define("handFew", FieldFilter(of: "hand", where: ["s=x"]))
    try store.write { tx in
      for key in ["k3", "k1", "k0"] as [Key] {
        try tx.group("h", of: "hand").append(RowID(bucket: "rows", key: key))
      }
    }
    #expect(try store.snapshot().index("handFew").keys("h") == ["k1", "k0"])
    try store.write { try Self.put($0, "k3", "a", 3, "x") }
    #expect(try store.snapshot().index("handFew").keys("h") == ["k3", "k1", "k0"])
    try store.removeIndex("all")
    #expect(store.indexes.map(\.name) == ["hand", "handFew"])
    #expect(store.indexes.map(\.isManual) == [true, false])
  }

  @Test("A filter of no index or of itself is refused; a filter of a closure needs that closure")
  func refused() throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    #expect(code { try store.define("few", FieldFilter(of: "all", where: ["s=x"])) } == .notFound)
    try store.define("all", Self.fields())
    try store.define("few", FieldFilter(of: "all", where: ["s=x"]))
    #expect(
      code { try store.define("all", FieldFilter(of: "few", where: ["s=x"])) } == .invalidInput)
    #expect(code { try FieldFilter(of: "all", where: ["s"]) } == .invalidInput)
    try store.register(byGroup())
    try store.define("coded", FieldFilter(of: "byGroup", where: ["text=x"]))
    try store.put(Note(group: "g", number: 1, text: "x"), for: "a")
    try store.put(Note(group: "g", number: 2, text: "y"), for: "b")
    #expect(try store.snapshot().index("coded").keys("g") == ["a"])
    try store.close()
    let other = try Store(path: "store", fileSystem: files, options: StoreOptions())
    try other.put(Note(group: "g", number: 3, text: "x"), for: "c")
    #expect(code { try other.snapshot().index("coded") } == .indexDefinedInCode)
  }

  @Test("A filter's text is canonical, and other texts are refused")
  func text() throws {
    let filter = try FieldFilter(
      of: "a \"b\"", where: [.init("x.y", in: ["1", "2"]), .init("x.y", in: ["2"])], version: 7)
    let text = #"{"filters":"a \"b\"","where":{"x.y":["2"]},"version":7}"#
    #expect(filter.json == text)
    #expect(try FieldFilter(json: text) == filter)
    #expect(try FieldFilter(json: #"{ "where":{}, "filters":"i"}"#).version == 1)
    for bad in [
      "", "{}", #"{"where":{}}"#, #"{"filters":1,"where":{}}"#, #"{"filters":"i","group":"g"}"#,
      #"{"filters":"i","where":{"":["1"]}}"#, #"{"filters":"i","where":[]}"#,
    ] {
      #expect(code { try FieldFilter(json: bad) } == .invalidInput, "\(bad)")
    }
  }
}
