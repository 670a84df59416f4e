import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Indexes that filter another one", .leavesSoundStores)
struct FilteredIndexTests {
  static let rows = Bucket<[UInt8]>.bytes("rows")

  /// The first byte names the group, the second gives the order.
  static func base(_ version: UInt32 = 1, descending: Bool = false) -> GroupIndex {
    GroupIndex("base", on: rows, version: version) { (row: [UInt8]) in
      Place(
        in: "g\(row[0])", by: descending ? .descending(Int(row[1])) : .ascending(Int(row[1])))
    }
  }

  static func filter(
    _ name: String, of parent: String, below limit: UInt8, version: UInt32 = 1
  ) -> GroupIndex {
    GroupIndex(name, filtering: parent, on: rows, version: version) {
      $0.row[1] < limit || $0.metadata == [1]
    }
  }

  static let even = GroupIndex("even", filtering: "small", on: rows, version: 1) {
    $0.row[1] % 2 == 0
  }

  static func put(_ group: UInt8, _ number: UInt8, _ key: String, in store: Store) throws {
    try store.write { try $0.put([group, number], for: Key(key), in: rows) }
  }

  static func keys(_ store: Store, _ index: String, _ group: GroupName) throws -> [Key] {
    try store.snapshot().index(index).rows(in: group).map(\.key)
  }

  @Test("A filter has the groups and the order of its parent, chains included, in random writes")
  func chains() throws {
    for seed in seeds(1...20) {
      var random = SeededGenerator(seed: seed)
      let store = try Store.inMemory(
        options: StoreOptions(
          indexes: [Self.base(), Self.filter("small", of: "base", below: 5), Self.even]))
      for _ in 0..<60 {
        let key = Key("k\(Int.random(in: 0..<15, using: &random))")
        if Int.random(in: 0..<4, using: &random) == 0 {
          try store.write { try $0.delete(key, in: "rows") }
        } else {
          let row = [
            UInt8.random(in: 0..<2, using: &random), UInt8.random(in: 0..<10, using: &random),
          ]
          let metadata: [UInt8]? = Bool.random(using: &random) ? [1] : nil
          try store.write { try $0.put(row, metadata: metadata, for: key, in: Self.rows) }
        }
      }
      let snapshot = try store.snapshot()
      for group in ["g0", "g1"] as [GroupName] {
        let all = try snapshot.index("base").rows(in: group)
        let small = all.filter { $0.object[1] < 5 || $0.metadata == [1] }
        #expect(try snapshot.index("small").rows(in: group) == small, "seed \(seed)")
        #expect(
          try snapshot.index("even").rows(in: group) == small.filter { $0.object[1] % 2 == 0 },
          "seed \(seed)")
      }
    }
  }

  @Test("A filter is adapted when its parent is redefined, and removed with it")
  func parents() throws {
    let folder = try TemporaryFolder()
    let indexes = [Self.base(), Self.filter("small", of: "base", below: 5), Self.even]
    let store = try Store(at: folder.path, indexes: indexes)
    for number in 0..<8 as Range<UInt8> { try Self.put(0, number, "k\(number)", in: store) }
    #expect(try Self.keys(store, "even", "g0") == ["k0", "k2", "k4"])
    #expect(store.indexes.map(\.parent) == [nil, "small", "base"])
    try store.register(Self.base(2, descending: true))
    #expect(try Self.keys(store, "small", "g0") == ["k4", "k3", "k2", "k1", "k0"])
    #expect(try Self.keys(store, "even", "g0") == ["k4", "k2", "k0"])
    try store.close()

    let again = try Store(at: folder.path, indexes: [Self.base(2, descending: true), Self.even])
    try Self.put(0, 2, "new", in: again)
    // Without its parent's closure the index becomes stale.
    #expect(throws: TreeRingError.self) { try again.snapshot().index("even") }
    try again.register(Self.filter("small", of: "base", below: 5))
    #expect(try Self.keys(again, "even", "g0") == ["k4", "k2", "new", "k0"])
    try again.removeIndex("base")
    #expect(again.indexes.isEmpty)
    try again.close()
    let last = try Store(at: folder.path)
    #expect(last.indexes.isEmpty)
    try last.close()
  }

  @Test("Replacing a filter changes the rows that enter or leave, and no others")
  func replaced() throws {
    let store = try Store.inMemory(
      options: StoreOptions(indexes: [Self.base(), Self.filter("small", of: "base", below: 5)]))
    for number in 0..<8 as Range<UInt8> { try Self.put(0, number, "k\(number)", in: store) }
    let before = store.newestCommit
    let old = try store.snapshot().definition(ofIndex: "small")
    try store.register(Self.filter("small", of: "base", below: 7, version: 2))
    let touched = try #require(
      try store.affectedRows(
        from: before, shownBy: old, to: try store.snapshot(), limit: 500))
    #expect(Set(touched.rows.keys.map(\.key)) == [Array("k5".utf8), Array("k6".utf8)])
  }

  @Test("A filter of no index, of itself or over another bucket is refused")
  func refused() throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [Self.base()]))
    func code(_ index: GroupIndex) -> TreeRingError.Code? {
      do {
        try store.register(index)
        return nil
      } catch {
        return (error as? TreeRingError)?.code
      }
    }
    #expect(code(Self.even) == .notFound)
    #expect(code(Self.filter("small", of: "base", below: 5)) == nil)
    #expect(code(Self.filter("base", of: "small", below: 5, version: 2)) == .invalidInput)
    let other = GroupIndex(
      "other", filtering: "base", on: Bucket<[UInt8]>.bytes("others"), version: 1
    ) { _ in true }
    #expect(code(other) == .invalidInput)
    #expect(store.indexes.map(\.name) == ["base", "small"])
  }
}
