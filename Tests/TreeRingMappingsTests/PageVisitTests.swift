#if DEBUG
  import TestSupport
  import Testing
  import TreeRingLog

  @testable import TreeRing
  @testable import TreeRingMappings

  /// The pages of a store that an advancing observer visits, counted by the page table. In a sweep,
  /// all of them in one store of a million rows; with `swift test`, up to a hundred thousand.
  @Suite("The cost of a change, counted in pages of a store")
  struct PageVisitTests {
    static let counts =
      isSweep ? [1_000, 10_000, 100_000, 1_000_000] : [1_000, 10_000, 100_000]
    private static let rows = Bucket<[UInt8]>.bytes("rows")
    /// A row consists of its group, eight bytes of the number for its order, and one more byte.
    private static let index = GroupIndex("i", on: rows, version: 1) { (row: [UInt8]) -> [Place] in
      let number = row[1...8].reduce(0) { $0 << 8 | Int($1) }
      return [Place(in: row[0] == 0 ? "g" : "h", by: .ascending(number))]
    }

    private static func key(_ number: Int) -> Key {
      let digits = String(number)
      return Key(String(repeating: "0", count: 8 - digits.count) + digits)
    }

    private static func row(_ group: UInt8, _ number: Int, _ rest: UInt8 = 0) -> [UInt8] {
      [group] + withUnsafeBytes(of: number.bigEndian) { Array($0) } + [rest]
    }

    /// A store of rows in the order of their keys, which is not that of the index; one row in fifty
    /// is in a second group.
    private static func store(_ count: Int) throws -> Store {
      let store = try Store.inMemory(options: StoreOptions(indexes: []))
      try store.write { tx in
        _ = try tx.load(
          (0..<count).lazy.map { (key($0), row($0 % 50 == 0 ? 1 : 0, $0 * 7_919 % count * 8)) },
          in: rows)
      }
      try store.register(index)
      return store
    }

    private static let views: [Mappings] = {
      let whole = Mappings(of: "i", groups: ["g", "h"])
      return [
        whole, whole.range(.fixed(length: 50, offset: 300), of: "g"),
        whole.range(.flexible(length: 50, offset: 300, growing: .bothSides), of: "g"),
        whole.range(.flexible(length: 400, min: 10, max: 600), of: "g").reversed("g"),
        whole.drawn(withNeighborsAt: [-1, 1], in: "g"),
        Mappings(of: "i", groupsWhere: { $0.count > 1 }, orderedBy: { [.descending($0.count)] })
          .consolidated(below: 5, as: "all"),
      ]
    }()

    /// Inserts, deletes, moves and updates, a quarter each. Some rows move to the other group.
    ///
    /// - Returns: The number of affected rows.
    private static func edit(
      _ store: Store, _ count: Int, rows affected: Int, _ random: inout SeededGenerator
    ) throws -> Int {
      var keys: Set<Key> = []
      try store.write { tx in
        for turn in 0..<affected {
          let number = Int.random(in: 0..<count, using: &random)
          let key = turn % 4 == 0 ? Key("new\(number)") : key(number)
          guard keys.insert(key).inserted else { continue }
          let place = Int.random(in: 0..<count, using: &random) * 8 + 3
          switch turn % 4 {
          case 1: try tx.delete(key, in: "rows")
          case 3:
            guard var row = try tx.get(key, in: rows) else { continue }
            row[9] &+= 1
            try tx.put(row, for: key, in: rows)
          default: try tx.put(row(turn % 40 == 2 ? 1 : 0, place), for: key, in: rows)
          }
        }
      }
      return keys.count
    }

    @Test(
      "No more than c · k · log n pages, up to a million rows, a thousand of them affected",
      arguments: counts)
    func advance(_ count: Int) throws {
      var random = SeededGenerator(seed: UInt64(count))
      let store = try Self.store(count)
      /// The number of pages visited, for each affected row and each level of the trees.
      func rate(_ affected: Int, _ body: () throws -> Void) throws -> Double {
        let tree = try store.snapshot().index("i").order
        let levels = tree.table.top(of: tree.root).level + 1
        let before = store.pages.table.visitCount
        try body()
        let visited = store.pages.table.visitCount - before
        return Double(visited) / Double(affected * levels)
      }
      var most = (view: 0.0, compared: 0.0)
      for wanted in [1, 10, 100, 1_000] {
        var observers = Self.views.map { store.observer(of: $0, limit: .max) }
        for index in observers.indices { _ = try observers[index].advance() }
        // Held, so that the measurement covers the comparison, not the rebuilding of an earlier
        // state.
        let start = try store.snapshot()
        let affected = try Self.edit(store, count, rows: wanted, &random)
        for (number, index) in observers.indices.enumerated() {
          let rate = try rate(affected) {
            let change = try observers[index].advance()
            #expect(!change.isReset && change.after.commit == store.newestCommit)
          }
          #expect(rate <= 6, "\(count) rows, \(affected) affected, view \(number)")
          most.view = max(most.view, rate)
        }
        // Without records, the store compares two trees.
        let rate = try rate(affected) {
          let found = try store.affectedRows(
            ofIndex: "i", from: start, to: store.snapshot(), usesRecords: false)
          #expect(found.rows.count <= affected)
        }
        #expect(rate <= 16, "\(count) rows, \(affected) affected, compared")
        most.compared = max(most.compared, rate)
      }
      print(
        "visits: \(count) rows: at most \(most.view) pages per affected row and level, "
          + "\(most.compared) where trees are compared")
      try store.close()
    }

    @Test("A comparison of trees skips rows of buckets that the index does not cover")
    func otherBuckets() throws {
      let store = try Self.store(1_000)
      let count = 5_000
      func write(_ byte: UInt8) throws {
        try store.write { tx in
          for number in 0..<count { try tx.put([byte], for: Self.key(number), in: .bytes("log")) }
        }
      }
      try write(1)
      let start = try store.snapshot()
      try write(2)
      try store.write { try $0.put(Self.row(0, 1), for: Self.key(7), in: Self.rows) }
      let end = try store.snapshot()
      let before = store.pages.table.visitCount
      let found = try store.affectedRows(ofIndex: "i", from: start, to: end, usesRecords: false)
      let visited = store.pages.table.visitCount - before
      #expect(found.rows.count == 1)
      // The comparison scans their pages, but looks none of them up.
      #expect(visited < count, "\(visited) pages visited")
      try store.close()
    }
  }
#endif
