// Sums against a dictionary of rows, over random histories and over all small ones.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// Rows of an index with sums.
private struct SumModel {
  struct Row: Hashable {
    var group: String
    var number: Int
    var amount: Int64
  }
  var rows: [Key: Row] = [:]

  /// The amounts of a group, in the order of the index.
  func amounts(_ group: String) -> [Int128] {
    rows.filter { $0.value.group == group }
      .sorted { ($0.value.number, $0.key) < ($1.value.number, $1.key) }
      .map { Int128($0.value.amount) }
  }

  func check(
    _ index: IndexReader, _ random: inout SeededGenerator, _ context: String
  ) throws {
    let sum = rows.values.reduce(Int128(0)) { $0 + Int128($1.amount) }
    #expect(try index.sum().units == sum, "\(context)")
    for group in groups {
      let amounts = amounts(group)
      let name = GroupName(group)
      #expect(try index.sum(in: name).units == amounts.reduce(0, +), "\(context)")
      for _ in 0..<8 {
        let bounds = (0..<2).map { _ in Int.random(in: 0...amounts.count, using: &random) }.sorted()
        #expect(
          try index.sum(in: name, bounds[0]..<bounds[1]).units
            == amounts[bounds[0]..<bounds[1]].reduce(0, +), "\(context), \(bounds) of \(group)")
      }
    }
  }

  let groups = ["a", "b\0c", "d"]

  /// Puts or deletes a random row.
  mutating func change(_ tx: Transaction, _ random: inout SeededGenerator, keys: Int) throws {
    let key = Key("k\(Int.random(in: 0..<keys, using: &random))")
    if Int.random(in: 0..<5, using: &random) == 0 {
      rows[key] = nil
      try tx.delete(key, in: "rows")
      return
    }
    var row = Row(
      group: groups.randomElement(using: &random) ?? "a",
      number: Int.random(in: 0..<50, using: &random),
      amount: Int64.random(in: -9...9, using: &random))
    if let old = rows[key], Bool.random(using: &random) {
      (row.group, row.number) = (old.group, old.number)
    }
    if Int.random(in: 0..<9, using: &random) == 0 {
      row.amount = .random(in: .min ... .max, using: &random)
    }
    rows[key] = row
    let group = row.group.replacing("\0", with: "\\u0000")
    try tx.putSummed(key, group, row.number, row.amount == 0 ? nil : "\(row.amount)")
  }
}

/// An index with sums of each kind of definition, over a number of keys.
struct SummedCase: CustomTestStringConvertible {
  var kind: SummedKind
  var keyCount: Int

  var testDescription: String { "\(kind), \(keyCount) keys" }

  static let all = SummedKind.allCases.flatMap { kind in
    (kind == .declared ? [40] : [40, 4000]).map { SummedCase(kind: kind, keyCount: $0) }
  }
}

@Suite("Sums against a model", .leavesSoundStores) struct SumModelTests {
  @Test(
    "Random histories: now, in the past, reopened, followed, rebuilt and compacted",
    arguments: seeds(1...4), SummedCase.all)
  func random(seed: UInt64, of summed: SummedCase) throws {
    let keys = summed.keyCount
    var random = SeededGenerator(seed: seed)
    let files = MemoryFileSystem()
    var options = StoreOptions(logger: quietLogger)
    options.pageCellCapacity = 6
    options.indexes = summed.kind.inCode.map { [$0] } ?? []
    var reading = options
    // The first opening defines nothing.
    options.indexes = []
    reading.mode = .readOnly
    var store = try Store(path: "store", fileSystem: files, options: options)
    let follower: Store
    var model = SumModel()
    var past: [CommitNumber: SumModel] = [:]
    let definedAt = Int.random(in: 0..<6, using: &random)
    for turn in 0..<40 {
      if turn == definedAt {
        try summed.kind.define(in: store)
        options.indexes = reading.indexes
      }
      let count = turn == 3 ? keys : Int.random(in: 1...12, using: &random)
      try store.write { tx in
        for _ in 0..<count { try model.change(tx, &random, keys: keys) }
        if turn > definedAt, turn % 7 == 0 {
          try model.check(tx.index("Sums"), &random, "seed \(seed), in commit of turn \(turn)")
        }
      }
      past[store.newestCommit] = model
      if turn < definedAt { continue }
      try model.check(store.snapshot().index("Sums"), &random, "seed \(seed), turn \(turn)")
      switch Int.random(in: 0..<12, using: &random) {
      case 0: try store.checkpoint()
      case 1:
        try store.close()
        store = try Store(path: "store", fileSystem: files, options: options)
      case 2:
        try store.close()
        try files.unlink("store/pages")
        store = try Store(path: "store", fileSystem: files, options: options)
      default: break
      }
    }
    for (commit, model) in past {
      try model.check(
        store.snapshot(at: .commit(commit)).index("Sums"), &random, "seed \(seed) at \(commit)")
    }
    follower = try Store(path: "store", fileSystem: files, options: reading)
    try model.check(follower.snapshot().index("Sums"), &random, "seed \(seed), followed")
    try follower.close()
    #expect(try store.checkInvariants() == [], "seed \(seed)")
    try store.compact(to: .keeping(.last(commits: 5)))
    try store.close()
    try files.unlink("store/pages")
    store = try Store(path: "store", fileSystem: files, options: options)
    for (commit, model) in past where commit + 5 > store.newestCommit {
      try model.check(
        store.snapshot(at: .commit(commit)).index("Sums"), &random, "seed \(seed), compacted")
    }
    try store.close()
  }

  /// Keys of rows whose entries have these levels.
  private func keys(_ levels: [Int]) -> [Key] {
    var keys: [Key] = []
    var number = 0
    for level in levels {
      while true {
        let key = Key("k\(number)")
        number += 1
        let place = EncodedPlace(group: "x", sortKey: [1])
        let entry = key.bytes.withUnsafeBytes { IndexEditor.entry(place, bucket: 1, key: $0).key }
        if entry.withUnsafeBytes({ SumKey.level(of: $0) }) == level {
          keys.append(key)
          break
        }
      }
    }
    return keys
  }

  @Test("Every change of six rows, of levels up to two, gives the sums of every range")
  func exhaustive() throws {
    let store = try Store.inMemory()
    // The order is by an absent field, so that entries differ in their keys alone.
    try store.define(
      "Sums", FieldIndex(bucket: "rows", group: "g", order: [.init("m")]).summing("a"))
    try store.write { try $0.putSummed("k", "other", "1") }
    for levels in [[0, 1, 2, 0, 1, 0], [2, 0, 0, 1, 0, 2], [1, 1, 0, 2, 2, 0]] {
      let keys = keys(levels).sorted()
      for from in 0..<64 {
        for to in 0..<64 where (from + to) % (isSweep ? 1 : 5) == 0 {
          try store.write { tx in
            for (end, factor) in [(from, 1), (to, 10)] {
              for (place, key) in keys.enumerated() {
                if end >> place & 1 == 0 {
                  try tx.delete(key, in: "rows")
                } else {
                  try tx.putSummed(key, "x", "\(factor << place)")
                }
              }
            }
            let index = try tx.index("Sums")
            let shown = keys.indices.filter { to >> $0 & 1 == 1 }.map { Int128(10 << $0) }
            for lower in 0...shown.count {
              for upper in lower...shown.count {
                let sum = try index.sum(in: "x", lower..<upper).units
                #expect(sum == shown[lower..<upper].reduce(0, +), "\(levels) \(from) \(to)")
              }
            }
            #expect(try index.sum().units == shown.reduce(1, +))
          }
        }
      }
      #expect(try store.checkInvariants() == [])
      try store.write { tx in for key in keys { try tx.delete(key, in: "rows") } }
    }
  }

  @Test("The nodes of sums are about a thirtieth of the entries")
  func nodes() throws {
    let store = try Store.inMemory()
    try store.define("Sums", summedIndex())
    try store.write { tx in
      for number in 0..<20_000 { try tx.putSummed(Key("k\(number)"), "x", number, "1") }
    }
    let index = try store.snapshot().index("Sums")
    let nodeCount = SumKey.nodeCount(in: index.placeTree)
    #expect((450...850).contains(nodeCount))
    #expect(SumNodes(order: index.order, places: index.placeTree).topLevel >= 2)
    #expect(try index.sum(in: "x", 1..<19_999).units == 19_998)
  }

  #if DEBUG
    @Test("Counts and ranks descend once for each bound, and sums visit O(log n) pages")
    func cost() throws {
      let sums = Index(
        named: "Sums", on: Bucket<[UInt8]>.bytes("rows"), group: String.self,
        by: .ascending(Int.self))
      /// Counts, ranks and sums random ranges of a group.
      /// - Returns: The number of pages that the sums visit.
      func sumVisits(of count: Int) throws -> Int {
        var options = StoreOptions(durability: .unsynced, logger: quietLogger)
        options.pageCellCapacity = 8
        let store = try Store.inMemory(options: options)
        try store.define("Sums", summedIndex())
        try store.write { tx in
          for number in 0..<count { try tx.putSummed(Key("k\(number)"), "x", number, "1") }
        }
        // A checkpoint that began below would visit pages too.
        try store.checkpoint()
        let index = try store.snapshot()[sums]
        let order = index.untyped.order
        let levels = order.table.top(of: order.root).level + 1
        func visits<R>(_ body: () throws -> R) rethrows -> (result: R, count: Int) {
          let before = order.table.visitCount
          let result = try body()
          return (result, order.table.visitCount - before)
        }
        var random = SeededGenerator(seed: 11)
        var all = 0
        for _ in 0..<40 {
          let bounds = (0..<2).map { _ in Int.random(in: 1..<count, using: &random) }.sorted()
          let range = bounds[0]..<bounds[1]
          // The bounds are those of the group and of the condition.
          let counted = try visits { try index.count(in: "x", where: .between(range)) }
          #expect(counted.result == range.count)
          #expect(counted.count <= 4 * levels, "\(range) of \(count)")
          let chosen = try visits { try index.count(in: "x", where: .oneOf(bounds)) }
          #expect(chosen.result == Set(bounds).count)
          #expect(chosen.count <= 6 * levels, "\(bounds) of \(count)")
          let ranked = try visits { try index.rank(of: range.lowerBound, in: "x") }
          #expect(ranked.result == range.lowerBound)
          #expect(ranked.count <= 2 * levels, "\(range.lowerBound) of \(count)")
          let summed = try visits { try index.sum(in: "x", where: .between(range)).units }
          #expect(summed.result == Int128(range.count))
          let part = try visits { try index.untyped.sum(in: "x", range).units }
          #expect(part.result == Int128(range.count))
          all += summed.count + part.count
        }
        return all
      }
      let (few, many) = (try sumVisits(of: 1_000), try sumVisits(of: 16_000))
      // Trees and sums have one more level each. A scan would visit ten times as many pages.
      #expect(many <= few * 3, "\(few) and \(many) pages")
    }
  #endif
}
