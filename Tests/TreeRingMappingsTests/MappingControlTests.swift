import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

@Suite("A control's requests are removed once, and only when delivered")
struct MappingControlTests {
  private static let mappings = Mappings(of: "board", groups: ["g1"])
    .range(.flexible(length: 2), of: "g1")

  private static func store(_ options: StoreOptions? = nil) throws -> Store {
    let store = try Store.inMemory(options: options ?? StoreOptions(indexes: [Board.index]))
    try store.write { tx in
      for number in 0..<9 as Range<UInt8> {
        try tx.put([1, number], for: Key("k\(number)"), in: Board.lines)
      }
    }
    return store
  }

  @Test("Each of two overlapping readers removes only the requests that it received")
  func overlapping() throws {
    let control = MappingControl(Self.mappings)
    control.extendRange(of: "g1", by: 1)
    let first = try #require(control.request().request)
    let second = try #require(control.request().request)
    control.settle(first, showing: Self.mappings)
    #expect(control.request().request?.changes == [])
    control.shiftRange(of: "g1", by: 2)
    control.settle(second, showing: Self.mappings)
    let rest = try #require(control.request().request)
    #expect(rest.changes == [RangeChange(.shift(by: 2), of: "g1")])
    control.drop(second)
    #expect(control.request().request?.changes == rest.changes)
    control.extendRange(of: "g1", by: 3)
    control.drop(rest)
    #expect(
      control.request().request?.changes == [RangeChange(.extend(by: 3), of: "g1")])
  }

  @Test("Manual range changes wait until a removed index exists again")
  func kept() async throws {
    let store = try Store.inMemory()
    func define() throws {
      try store.define("i", FieldIndex(bucket: "rows", group: "g", order: [.init("n")]))
    }
    try await store.write { tx in
      for number in 0..<9 {
        try tx.put(
          Array(#"{"g":"x","n":\#(number)}"#.utf8), for: Key("k\(number)"),
          in: Bucket<[UInt8]>.bytes("rows"))
      }
    }
    try define()
    let control = MappingControl(
      Mappings(of: "i", groups: ["x"]).range(.flexible(length: 2), of: "x"))
    var changes = store.changes(of: control).makeAsyncIterator()
    #expect(try await changes.next()?.after.rowCount == 2)
    try await store.removeIndex("i")
    control.extendRange(of: "x", by: 3)
    await #expect { _ = try await changes.next() } throws: {
      ($0 as? TreeRingError)?.code == .notFound
    }
    try define()
    #expect(try await changes.next()?.after.rowCount == 5)
  }

  @Test("ObservedRows continue when one task is cancelled and the next begins at once")
  @MainActor
  func handover() async throws {
    let store = try Self.store()
    let rows = ObservedRows(
      Mappings(of: "board", groups: ["g1"]).range(.flexible(length: 200, growing: .bothSides)),
      in: store)
    var following = Task { try await rows.follow() }
    for round in 0..<50 as Range<UInt8> {
      rows.control.extendRange(of: "g1", by: 1)
      let before = following
      before.cancel()
      following = Task { try await rows.follow() }
      try await store.write { try $0.put([1, round], for: Key("x\(round)"), in: Board.lines) }
      if round % 5 == 0 {
        try await before.value
        while rows.shown.rowCount != 9 + Int(round) + 1 { await Task.yield() }
      }
    }
    rows.control.setRange(nil, of: "g1")
    while rows.shown.rowCount != 59 { await Task.yield() }
    following.cancel()
    try await following.value
  }
}
