// Unique indexes: no commit leaves two rows in one group, and nothing else is refused.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Unique indexes", .leavesSoundStores) struct UniqueTests {
  static let members = Bucket<[UInt8]>.bytes("members")

  static func byEmail(_ conditions: [String] = []) throws -> FieldIndex {
    try FieldIndex(bucket: "members", group: "email", order: "name", where: conditions).unique()
  }

  static func plain() throws -> FieldIndex {
    try FieldIndex(bucket: "members", group: "email", order: "name", where: [])
  }

  /// The same index by a closure, which reads the bytes of the object.
  static let coded = GroupIndex("ByEmail", on: members, version: 1) { object in
    let text = String(decoding: object, as: UTF8.self)
    let email = text.split(separator: "\"").dropFirst(2).first { $0.contains("@") }
    return email.map { Place(in: $0) }
  }.unique()

  static func put(_ tx: Transaction, _ key: String, _ email: String?) throws {
    let value = email.map { "\"\($0)\"" } ?? "null"
    try tx.put(Array(#"{"email":\#(value),"name":"\#(key)"}"#.utf8), for: Key(key), in: members)
  }

  /// The error of a write that must fail.
  private func refusal(_ body: () throws -> Void) -> TreeRingError? {
    do {
      try body()
      return nil
    } catch { return error as? TreeRingError }
  }

  @Test("A second row with the value is refused; the error names the index and both rows")
  func refused() throws {
    let store = try Store.inMemory()
    try store.define("ByEmail", Self.byEmail())
    try store.write { try Self.put($0, "ann", "a@x.org") }
    let commit = store.newestCommit
    let error = refusal { _ = try store.write { tx in try Self.put(tx, "bob", "a@x.org") } }
    #expect(error?.code == .notUnique)
    #expect(error?.violation?.rule == "ByEmail")
    #expect(error?.violation?.row == RowID("bob", in: Self.members))
    #expect(error?.violation?.other == RowID("ann", in: Self.members))
    #expect(error?.message.contains("“a@x.org”") == true)
    #expect(store.newestCommit == commit)
    #expect(try store.snapshot().row("bob", in: Self.members) == nil)
    // The store goes on: the same value is free again after a delete, in the same commit too.
    try store.write { tx in
      try Self.put(tx, "bob", "a@x.org")
      try tx.delete("ann", in: Self.members)
    }
    #expect(
      try store.snapshot().index("ByEmail").first(in: "a@x.org")?.key == "bob")
  }

  @Test("Rows without the field, with null, or outside the condition do not conflict")
  func others() throws {
    let store = try Store.inMemory()
    try store.define("ByEmail", Self.byEmail(["name=ann,bob,cid"]))
    try store.write { tx in
      for key in ["ann", "bob"] { try Self.put(tx, key, nil) }
      try Self.put(tx, "cid", "c@x.org")
      try Self.put(tx, "dan", "c@x.org")
      try tx.put(Array("{}".utf8), for: "eve", in: Self.members)
      try tx.put(Array("no JSON".utf8), for: "fay", in: Self.members)
    }
    #expect(try store.snapshot().index("ByEmail").count == 1)
    #expect(try store.snapshot().count(in: Self.members) == 6)
  }

  @Test("A value that no group can be named by is refused as too long")
  func tooLong() throws {
    let store = try Store.inMemory()
    try store.define("ByEmail", Self.byEmail())
    let long = String(repeating: "x", count: 256)
    #expect(refusal { try store.write { try Self.put($0, "ann", long) } }?.code == .tooLarge)
    try store.write { try Self.put($0, "ann", String(long.dropLast())) }
    #expect(try store.snapshot().count(in: Self.members) == 1)
  }

  @Test("Whatever three rows had and get, in every order of the puts, only the end counts")
  func exchanges() throws {
    let values: [String?] = ["a@x", "b@x", "c@x", nil]
    let keys = ["k", "l", "m"]
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    let store = try Store.inMemory()
    try store.define("ByEmail", Self.byEmail())
    let start = try store.write { tx in
      for (key, value) in zip(keys, values) { try Self.put(tx, key, value) }
    }.commit
    var refusedCount = 0
    for code in 0..<64 {
      let wanted = [values[code % 4], values[code / 4 % 4], values[code / 16]]
      let isSound = Set(wanted.compactMap { $0 }).count == wanted.count { $0 != nil }
      for order in orders {
        let error = refusal {
          _ = try store.write { tx in
            for row in order { try Self.put(tx, keys[row], wanted[row]) }
          }
        }
        #expect((error == nil) == isSound, "\(wanted) in the order \(order)")
        guard error == nil else {
          #expect(error?.code == .notUnique)
          refusedCount += 1
          continue
        }
        let index = try store.snapshot().index("ByEmail")
        for (key, value) in zip(keys, wanted) {
          if let value { #expect(try index.first(in: GroupName(value))?.key == Key(key)) }
        }
        #expect(try store.revert(to: .commit(start)).operations <= 3)
      }
    }
    // 3 values twice or thrice among three rows: 64 less the 34 injective choices.
    #expect(refusedCount == 30 * 6)
  }

  /// Random commits against a dictionary that keeps the rule.
  private func run(_ store: Store, seed: UInt64, commits: Int = 60) throws -> [String: String?] {
    var random = SeededGenerator(seed: seed)
    var model: [String: String?] = [:]
    var refused = 0
    for _ in 0..<commits {
      var next = model
      var edits: [(String, String??)] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let key = "k\(Int.random(in: 0..<8, using: &random))"
        if Int.random(in: 0..<4, using: &random) == 0 {
          next[key] = nil
          edits.append((key, nil))
        } else {
          let number = Int.random(in: 0..<7, using: &random)
          let value = number == 0 ? nil : "\(number)@x"
          next[key] = .some(value)
          edits.append((key, .some(value)))
        }
      }
      let values = next.values.compactMap { $0 }
      let isSound = Set(values).count == values.count
      let error = refusal {
        _ = try store.write { tx in
          for (key, value) in edits {
            if let value {
              try Self.put(tx, key, value)
            } else {
              try tx.delete(Key(key), in: Self.members)
            }
          }
        }
      }
      #expect((error == nil) == isSound, "seed \(seed)")
      if isSound { model = next } else { refused += 1 }
      if let violation = error?.violation, let other = violation.other {
        // Both rows exist after the refused edits, and would have had the same value.
        func value(_ id: RowID) -> String?? { next[id.key.description] }
        #expect(value(violation.row) == value(other), "seed \(seed)")
        #expect(violation.row != other, "seed \(seed)")
      }
    }
    #expect(refused > 0, "seed \(seed)")
    return model
  }

  private func check(_ store: Store, _ model: [String: String?], seed: UInt64) throws {
    let snapshot = try store.snapshot()
    #expect(try snapshot.count(in: Self.members) == model.count, "seed \(seed)")
    let index = try snapshot.index("ByEmail")
    #expect(index.count == model.values.count { $0 != nil }, "seed \(seed)")
    for (key, value) in model {
      guard let value else { continue }
      #expect(try index.rows(in: GroupName(value)).map(\.key) == [Key(key)], "seed \(seed)")
    }
    #expect(try store.checkInvariants() == [], "seed \(seed)")
  }

  @Test(
    "Random commits are accepted exactly if their result keeps the rule, and replay to the same",
    arguments: seeds(1...6), [false, true])
  func random(seed: UInt64, isCode: Bool) throws {
    let files = MemoryFileSystem()
    var options = StoreOptions(indexes: isCode ? [Self.coded] : [])
    options.pageCellCapacity = 6
    var store = try Store(path: "store", fileSystem: files, options: options)
    if !isCode { try store.define("ByEmail", Self.byEmail()) }
    let model = try run(store, seed: seed)
    try check(store, model, seed: seed)
    var reading = options
    reading.mode = .readOnly
    let follower = try Store(path: "store", fileSystem: files, options: reading)
    #expect(follower.indexes.map(\.isUnique) == [true])
    #expect(follower.newestCommit == store.newestCommit)
    try follower.close()
    try store.close()
    try files.unlink("store/pages")
    store = try Store(path: "store", fileSystem: files, options: options)
    try check(store, model, seed: seed)
    try store.close()
  }

  @Test("A rule over rows that break it is refused, names the first of them, and changes nothing")
  func existing() throws {
    let store = try Store.inMemory()
    try store.write { tx in
      for (key, value) in [("a", "1@x"), ("b", "2@x"), ("c", "1@x"), ("d", "2@x"), ("e", "3@x")] {
        try Self.put(tx, key, value)
      }
    }
    let error = refusal { try store.define("ByEmail", Self.byEmail()) }
    #expect(error?.code == .notUnique)
    #expect(error?.violation?.row == RowID("c", in: Self.members))
    #expect(error?.violation?.other == RowID("a", in: Self.members))
    #expect(error?.message.contains("members/d and members/b share “2@x”") == true)
    #expect(store.indexes == [])
    // A plain index over the same rows is none of its business, and shows the offenders.
    try store.define("ByEmail", Self.plain())
    #expect(try store.snapshot().index("ByEmail").count(in: "1@x") == 2)
    // Rows that are mended in the commit of the definition do not stand in its way.
    try store.write { tx in
      try tx.define("ByEmail", Self.byEmail().withVersion(2))
      try Self.put(tx, "c", "4@x")
      try tx.delete("d", in: Self.members)
    }
    #expect(store.indexes.map(\.isUnique) == [true])
    #expect(refusal { try store.write { try Self.put($0, "z", "4@x") } }?.code == .notUnique)
    // Past states that broke the rule stay readable, and cannot come back.
    #expect(try store.snapshot(at: .commit(1)).index("ByEmail").count(in: "1@x") == 2)
    #expect(refusal { try store.revert(to: .commit(1)) }?.code == .notUnique)
  }

  @Test("A filter may be unique: the rows that fit have different values")
  func filters() throws {
    let store = try Store.inMemory()
    try store.define("all", Self.plain())
    try store.define("named", FieldFilter(of: "all", where: ["name=ann,bob"]).unique())
    try store.write { tx in
      for key in ["ann", "cid", "dan"] { try Self.put(tx, key, "a@x") }
    }
    let error = refusal { try store.write { try Self.put($0, "bob", "a@x") } }
    #expect(error?.violation?.rule == "named")
    // A new definition of its parent keeps the rule.
    try store.define(
      "all", FieldIndex(bucket: "members", group: "email", order: "email", where: [], version: 2))
    let again = refusal { try store.write { try Self.put($0, "bob", "a@x") } }
    #expect(again?.violation == error?.violation)
    try store.removeIndex("named")
    try store.write { try Self.put($0, "bob", "a@x") }
    #expect(try store.snapshot().index("all").count(in: "a@x") == 4)
  }

  @Test("A process without the closure of a rule can delete rows of its bucket but put none")
  func unregistered() throws {
    let files = MemoryFileSystem()
    var store = try Store(
      path: "store", fileSystem: files, options: StoreOptions(indexes: [Self.coded]))
    try store.write { tx in
      for key in ["ann", "bob"] { try Self.put(tx, key, "\(key)@x") }
    }
    try store.close()
    store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    #expect(
      refusal { try store.write { try Self.put($0, "cid", "ann@x") } }?.code == .indexDefinedInCode)
    let sorted = [(key: Key("zoe"), row: Array(#"{"email":"ann@x","name":"zoe"}"#.utf8))]
    #expect(
      refusal { try store.write { try $0.load(sorted, in: Self.members) } }?.code
        == .indexDefinedInCode)
    try store.write { tx in
      try tx.put([1], for: "k", in: Bucket<[UInt8]>.bytes("others"))
      try tx.delete("bob", in: Self.members)
    }
    try store.register(Self.coded)
    #expect(refusal { try store.write { try Self.put($0, "cid", "ann@x") } }?.code == .notUnique)
    try store.write { try Self.put($0, "cid", "bob@x") }
    try store.close()
  }

  @Test("The definition as text says that it is unique")
  func text() throws {
    let index = try Self.byEmail()
    #expect(index.json.hasSuffix(#","version":1,"unique":true}"#))
    #expect(try FieldIndex(json: index.json) == index)
    #expect(try FieldIndex(json: index.json).isUnique)
    let filter = try FieldFilter(of: "all", where: ["a=b"]).unique()
    #expect(try FieldFilter(json: filter.json) == filter)
    #expect(try index != Self.plain())
  }
}
