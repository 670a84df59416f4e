// Counts and sums of whole groups, delivered with the changes of windows of them.

import TestSupport
import Testing
import TreeRing
import TreeRingLog
import TreeRingMappings

@Suite("Totals of groups", .leavesSoundStores) struct TotalsTests {
  private static let orders = Bucket<[UInt8]>.bytes("orders")

  private static func store() throws -> Store {
    let store = try Store.inMemory()
    try store.define(
      "Orders",
      FieldIndex(bucket: "orders", group: "who", order: [.init("day")]).summing("amount"))
    return store
  }

  private static func put(
    _ tx: Transaction, _ key: Key, _ who: String, _ day: Int, _ amount: Int
  ) throws {
    try tx.put(
      Array(#"{"who":"\#(who)","day":\#(day),"amount":\#(amount)}"#.utf8), for: key, in: orders)
  }

  private static func text(_ totals: [GroupTotal]) -> [String] {
    totals.map { "\($0.group) \($0.count) \($0.sum.map { "\($0)" } ?? "-")" }
  }

  private let mappings = Mappings(of: "Orders", groups: ["ann", "bob"]).range(
    .fixed(length: 1), of: "ann")

  @Test("A change has the totals of the groups it affects, whatever part of them is shown")
  func affected() throws {
    let store = try Self.store()
    try store.write { tx in
      for day in 1...4 { try Self.put(tx, Key("a\(day)"), "ann", day, day) }
      try Self.put(tx, "c1", "cid", 1, 50)
    }
    var observer = store.observer(of: mappings)
    let first = try observer.advance()
    #expect(first.isReset)
    #expect(try Self.text(first.totals()) == ["ann 4 10", "bob 0 0"])
    // A row that is not shown.
    try store.write { try Self.put($0, "a3", "ann", 3, 30) }
    let hidden = try observer.advance()
    #expect(hidden.isEmpty)
    #expect(try Self.text(hidden.totals()) == ["ann 4 37"])
    #expect(try hidden.after.total(of: "ann")?.sum?.units == 37)
    #expect(try hidden.after.total(of: "cid") == nil)
    // A row that moves from a group to another one, and one of a group that is not mapped.
    try store.write { tx in
      try Self.put(tx, "a1", "bob", 1, 7)
      try Self.put(tx, "c1", "cid", 1, 60)
    }
    #expect(try Self.text(observer.advance().totals()) == ["ann 3 36", "bob 1 7"])
    try store.write { try Self.put($0, "c1", "cid", 1, 70) }
    #expect(try observer.advance().totals().isEmpty)
    // Back in time.
    let back = try observer.advance(to: try store.snapshot(at: .commit(2)))
    #expect(try Self.text(back.totals()) == ["ann 4 10", "bob 0 0"])
    #expect(throws: TreeRingError.self) { try back.before.total(of: "ann") }
  }

  @Test("Totals follow a random history", arguments: seeds(1...3))
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Self.store()
    var observer = store.observer(of: mappings)
    var known: [GroupName: GroupTotal] = [:]
    for _ in 0..<80 {
      try store.write { tx in
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let key = Key("k\(Int.random(in: 0..<12, using: &random))")
          if Int.random(in: 0..<4, using: &random) == 0 {
            try tx.delete(key, in: Self.orders)
          } else {
            try Self.put(
              tx, key, ["ann", "bob", "cid"].randomElement(using: &random) ?? "ann",
              Int.random(in: 0..<5, using: &random), Int.random(in: -5...5, using: &random))
          }
        }
      }
      if Int.random(in: 0..<3, using: &random) == 0 { continue }
      for total in try observer.advance().totals() { known[total.group] = total }
      let index = try store.snapshot().index("Orders")
      for group in ["ann", "bob"] as [GroupName] {
        #expect(known[group]?.count == (try index.count(in: group)), "seed \(seed)")
        #expect(known[group]?.sum == (try index.sum(in: group)), "seed \(seed)")
      }
      #expect(known["cid"] == nil)
    }
  }

  @Test("An index without sums has counts alone")
  func counts() throws {
    let store = try Store.inMemory()
    try store.define("Orders", FieldIndex(bucket: "orders", group: "who", order: []))
    try store.write { try Self.put($0, "a", "ann", 1, 1) }
    var observer = store.observer(of: mappings)
    #expect(try Self.text(observer.advance().totals()) == ["ann 1 -", "bob 0 -"])
  }

  private static func define(_ store: Store, _ version: UInt32, decimals: Int?) throws {
    let fields = try FieldIndex(
      bucket: "orders", group: "who", order: [.init("day")], version: version)
    try store.define(
      "Orders", try decimals.map { try fields.summing("amount", decimals: $0) } ?? fields)
  }

  @Test("A definition that gains, changes or loses sums gives the totals of all sections at once")
  func redefined() async throws {
    let store = try Store.inMemory()
    try Self.define(store, 1, decimals: nil)
    try await store.write { tx in
      try Self.put(tx, "a1", "ann", 1, 1)
      try Self.put(tx, "a2", "ann", 2, 2)
      try Self.put(tx, "b1", "bob", 1, 4)
    }
    var observer = store.observer(of: mappings)
    #expect(try Self.text(observer.advance().totals()) == ["ann 2 -", "bob 1 -"])
    var changes = store.changes(of: mappings, totals: true).makeAsyncIterator()
    _ = try await changes.next()
    for (version, decimals, totals) in [
      (2, 0, ["ann 2 3", "bob 1 4"]), (3, 1, ["ann 2 3.0", "bob 1 4.0"]),
      (4, nil, ["ann 2 -", "bob 1 -"]),
    ] as [(UInt32, Int?, [String])] {
      try Self.define(store, version, decimals: decimals)
      let change = try observer.advance()
      #expect(change.isEmpty)
      #expect(try Self.text(change.totals()) == totals)
      let delivered = try await changes.next()
      #expect(try Self.text(delivered?.totals() ?? []) == totals)
    }
    try Self.define(store, 5, decimals: nil)
    #expect(try observer.advance().totals().isEmpty)
    // From a position before the sums, too.
    let position = observer.position
    try Self.define(store, 6, decimals: 0)
    var resumed = store.observer(of: mappings, from: try #require(position))
    #expect(try Self.text(resumed.advance().totals()) == ["ann 2 3", "bob 1 4"])
  }

  @Test("A stream with totals delivers changes of rows that are not shown")
  func stream() async throws {
    let store = try Self.store()
    try await store.write { tx in
      for day in 1...3 { try Self.put(tx, Key("a\(day)"), "ann", day, day) }
    }
    var changes = store.changes(of: mappings, totals: true).makeAsyncIterator()
    #expect(try Self.text(await changes.next()?.totals() ?? []) == ["ann 3 6", "bob 0 0"])
    try await store.write { try Self.put($0, "a2", "ann", 2, 20) }
    let change = try await changes.next()
    #expect(change?.isEmpty == true)
    #expect(try Self.text(change?.totals() ?? []) == ["ann 3 24"])
  }
}
