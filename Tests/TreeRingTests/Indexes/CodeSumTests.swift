// Sums of indexes that are defined in code: their numbers, their rule and their definition.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

/// A row of an index with sums, decoded.
struct SummedRow: Codable {
  var g: String
  var n: Int?
  var a: Int64?

  static let bucket = Bucket<SummedRow>("rows")
}

/// The kinds of definitions of an index with sums.
enum SummedKind: CaseIterable {
  case fields
  case closure
  case declared

  /// The definition in code of the index `Sums`, which has the same places and sums in all kinds.
  var inCode: GroupIndex? {
    switch self {
    case .fields: nil
    case .closure:
      GroupIndex("Sums", on: SummedRow.bucket, version: 1) { row in
        Place(in: GroupName(row.g), by: .ascending(row.n))
      }.summing(in: SummedRow.bucket) { $0.a }
    case .declared:
      Index(
        "Sums", on: SummedRow.bucket, version: 1, group: \.g, by: .ascending(\.n)
      ).summing(\.a).groupIndex
    }
  }

  func define(in store: Store) throws {
    if let inCode { try store.register(inCode) } else { try store.define("Sums", summedIndex()) }
  }
}

@Suite("Sums in code", .leavesSoundStores) struct CodeSumTests {
  private struct Order: Codable, Equatable {
    var customers: [String]
    var day = 0
    var amount: Double?
  }
  private static let orders = Bucket<Order>("orders")

  private static func index(version: UInt32 = 1, decimals: Int? = 2) -> GroupIndex {
    let index = GroupIndex("Orders", on: orders, version: version) { order in
      order.customers.map { Place(in: GroupName($0), by: .ascending(order.day)) }
    }
    guard let decimals else { return index }
    return index.summing(in: orders, decimals: decimals) { $0.amount }
  }

  @Test("A number of any type counts exactly in units of the last decimal")
  func numbers() {
    func check(_ value: some SummableValue, _ decimals: Int, _ units: Int64?) {
      #expect(value.exactUnits(decimals: decimals) == units, "\(value) with \(decimals)")
    }
    check(7, 0, 7)
    check(-7 as Int8, 2, -700)
    check(0, 18, 0)
    check(UInt64.max, 0, nil)
    check(Int128(Int64.min), 0, .min)
    check(UInt128.max, 0, nil)
    check(Int64.max, 1, nil)
    check(Int64.min, 0, .min)
    check(1200, -2, 12)
    check(1250, -2, nil)
    check(12.5, 2, 1250)
    check(-0.0, 2, 0)
    check(12.505, 2, nil)
    check(0.1 + 0.2, 2, nil)
    check(1e18, 0, 1_000_000_000_000_000_000)
    check(1e19, 0, nil)
    check(Double.nan, 0, nil)
    check(-Double.infinity, 0, nil)
    check(Float(0.1), 1, 1)
    check(Decimal(string: "-922337203685477580.8") ?? 0, 1, .min)
    check(Decimal(string: "0.05") ?? 0, 2, 5)
    check(Decimal(string: "0.055") ?? 0, 2, nil)
    check(Decimal.nan, 2, nil)
    check(Int?.none, 2, 0)
    check(Optional(1.5), 2, 150)
  }

  @Test("Rows in several groups add to each; rows without a number add nothing; filters sum too")
  func adding() throws {
    let store = try Store.inMemory()
    try store.register(Self.index())
    try store.register(
      GroupIndex("Late", filtering: "Orders", on: Self.orders, version: 1) { $0.row.day > 1 })
    try store.define("Other", FieldFilter(of: "Orders", where: ["day=1"]))
    try store.write { tx in
      try tx.put(Order(customers: ["ann"], day: 1, amount: 12.5), for: "a", in: Self.orders)
      try tx.put(Order(customers: ["ann", "bob"], day: 2, amount: 3), for: "b", in: Self.orders)
      try tx.put(Order(customers: ["bob"], day: 3), for: "c", in: Self.orders)
      try tx.put(Order(customers: [], amount: 0.001), for: "d", in: Self.orders)
      #expect(try tx.index("Orders").sum(in: "ann").description == "15.50")
    }
    let index = try store.snapshot().index("Orders")
    #expect(index.hasSums)
    #expect(
      try index.groupSums().map { "\($0.group) \($0.rows) \($0.sum)" } == [
        "ann 2 15.50", "bob 2 3.00",
      ])
    #expect(try index.sum(in: "ann", 1..<2).units == 300)
    #expect(try index.sum().units == 1850)
    #expect(try store.snapshot().index("Late").sum(in: "ann").units == 300)
    #expect(try store.snapshot().index("Other").sum().units == 1250)
    // The places stay and the number changes; then a place goes and the number stays.
    try store.write { tx in
      try tx.put(Order(customers: ["ann", "bob"], day: 2, amount: 4), for: "b", in: Self.orders)
    }
    #expect(try store.snapshot().index("Orders").sum(in: "bob").units == 400)
    try store.write { tx in
      try tx.put(Order(customers: ["bob"], day: 2, amount: 4), for: "b", in: Self.orders)
    }
    #expect(try store.snapshot().index("Orders").sum(in: "ann").units == 1250)
    #expect(try store.snapshot().index("Orders").sum(in: "bob").units == 400)
    #expect(try store.snapshot(at: .commit(4)).index("Orders").sum(in: "ann").units == 1550)
  }

  @Test("A handle sums groups, ranges and the rows that fulfil a condition")
  func handle() throws {
    let byGroup = Index(
      "Sums", on: SummedRow.bucket, version: 1, group: \.g, by: .descending(\.n)
    ).summing(decimals: 1) { $0.a }
    let plain = Index("Plain", on: SummedRow.bucket, version: 1, group: \.g)
      .summing { row in row.a.map { -$0 } }
    let store = try Store.inMemory()
    try store.register(byGroup)
    try store.register(plain)
    try store.write { tx in
      for number in 0..<10 {
        try tx.put(
          SummedRow(g: "x", n: number, a: 1 << number), for: Key("k\(number)"),
          in: SummedRow.bucket)
      }
    }
    let reader = try store.snapshot()[byGroup]
    #expect(try reader.sum(in: "x").description == "1023.0")
    #expect(try reader.sum(in: "x", where: .between(3..<6)).description == "56.0")
    #expect(try reader.sum(in: "x", where: .oneOf([0, 9])).units == 5130)
    #expect(try store.snapshot()[plain].sum(in: "x").units == -1023)
    #expect(store.indexes.map(\.sumDecimals) == [0, 1])
    try store.close()
  }

  @Test("A number that cannot be summed is refused with the row, as is a closure that throws")
  func refused() throws {
    struct Unknown: Error {}
    let store = try Store.inMemory()
    try store.register(Self.index())
    try store.register(
      GroupIndex("Checked", on: Self.orders, version: 1) { _ in Place(in: "all") }
        .summing(in: Self.orders) { order throws -> Int in
          if order.day < 0 { throw Unknown() }
          return order.day
        })
    try store.write { tx in
      try tx.put(Order(customers: ["ann"], amount: 1.5), for: "a", in: Self.orders)
    }
    let newest = store.newestCommit
    for (rule, order) in [
      ("Orders", Order(customers: ["ann"], amount: 1.555)),
      ("Orders", Order(customers: ["ann"], amount: 1e18)),
      ("Checked", Order(customers: [], day: -1)),
    ] {
      let refusal = error { try store.write { try $0.put(order, for: "b", in: Self.orders) } }
      #expect(refusal?.code == .notSummable)
      #expect(refusal?.violation?.rule == rule)
      #expect(refusal?.violation?.row == RowID(bucket: "orders", key: "b"))
    }
    #expect(store.newestCommit == newest)
    #expect(try store.snapshot().index("Orders").sum().units == 150)
  }

  @Test("A definition over rows that cannot be summed is refused; past ones do not hide them")
  func defined() throws {
    let store = try Store.inMemory()
    try store.write { tx in
      try tx.put(Order(customers: ["ann"], amount: 1), for: "a", in: Self.orders)
      try tx.put(Order(customers: ["ann"], amount: 0.555), for: "b", in: Self.orders)
    }
    let refusal = error { try store.register(Self.index()) }
    #expect(refusal?.code == .notSummable)
    #expect(refusal?.violation?.row == RowID(bucket: "orders", key: "b"))
    #expect(store.indexes.isEmpty)
    try store.write { tx in
      try tx.put(Order(customers: ["ann"], amount: 0.5), for: "b", in: Self.orders)
    }
    try store.register(Self.index())
    #expect(try store.snapshot().index("Orders").sum().units == 150)
    let past = try store.snapshot(at: .commit(1)).index("Orders")
    #expect(code { try past.sum() } == .notSummable)
    #expect(try past.sum(in: "ann", 0..<1).units == 100)
  }

  @Test("Another version or other decimals replace the definition; so does one without sums")
  func replaced() throws {
    let store = try Store.inMemory()
    try store.register(Self.index(decimals: nil))
    try store.write { tx in
      try tx.put(Order(customers: ["ann"], amount: 1.5), for: "a", in: Self.orders)
    }
    #expect(code { try store.snapshot().index("Orders").sum() } == .invalidInput)
    var texts: [String] = []
    for (version, decimals) in [(1, 2), (1, 1), (2, nil), (3, 3)] as [(UInt32, Int?)] {
      try store.register(Self.index(version: version, decimals: decimals))
      let index = try store.snapshot().index("Orders")
      texts.append(index.hasSums ? "\(try index.sum())" : "none")
    }
    #expect(texts == ["1.50", "1.5", "none", "1.500"])
    let commit = store.newestCommit
    try store.register(Self.index(version: 3, decimals: 3))
    #expect(store.newestCommit == commit)
  }

  @Test("A process without the closure knows that there are sums, and keeps the rule")
  func withoutClosure() throws {
    let files = MemoryFileSystem()
    var options = StoreOptions(indexes: [Self.index()], logger: quietLogger)
    var store = try Store(path: "s", fileSystem: files, options: options)
    try store.write { tx in
      try tx.put(Order(customers: ["ann"], amount: 1.5), for: "a", in: Self.orders)
    }
    try store.close()
    options.indexes = []
    store = try Store(path: "s", fileSystem: files, options: options)
    #expect(store.indexes.map(\.sumDecimals) == [2])
    #expect(store.indexes.map(\.fields) == [nil])
    // No write can have changed the rows, so the sums are there.
    #expect(try store.snapshot().index("Orders").sum().description == "1.50")
    #expect(
      code {
        try store.write { try $0.put(Order(customers: []), for: "b", in: Self.orders) }
      } == .indexDefinedInCode)
    try store.close()
    // Nor can a closure of the same version without sums stand in.
    store = try Store(path: "s", fileSystem: files, options: options)
    try store.register(Self.index(version: 2, decimals: nil))
    try store.write { try $0.delete("a", in: "orders") }
    try store.register(Self.index(version: 3))
    #expect(try store.snapshot().index("Orders").sum().description == "0.00")
    #expect(
      try store.snapshot(at: .commit(2)).index("Orders").sum(in: "ann").description == "1.50")
    try store.close()
  }

  @Test("The definition has a kind of its own, which states the decimals")
  func definition() throws {
    for (decimals, isUnique) in [(0, false), (18, false), (2, true)] as [(UInt32, Bool)] {
      let plain = IndexRecord.Definition.summedCode(buckets: ["b", "c"], decimals: decimals)
      let record = IndexRecord(
        name: "i", number: 1, version: 7, definition: isUnique ? .unique(plain) : plain)
      var bytes: [UInt8] = []
      record.encode(into: &bytes)
      // Name, number and version, then the kind.
      #expect(
        bytes[4...].starts(
          with: isUnique ? [7, 14, UInt8(decimals), 2] : [14, UInt8(decimals), 2]))
      let read = try bytes.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        return try IndexRecord(&reader)
      }
      #expect(read == record)
      #expect(read.decimals == Int(decimals) && read.isRule && read.buckets == ["b", "c"])
    }
    #expect(
      IndexRecord.Definition.summedCode(buckets: ["b"], decimals: 1)
        != .summedCode(buckets: ["b"], decimals: 2))
    let bytes: [UInt8] = [1, 0x69, 1, 1, 14, 19, 0]
    #expect(
      code {
        try bytes.withUnsafeBytes { bytes in
          var reader = ByteReader(bytes)
          _ = try IndexRecord(&reader)
        }
      } == .corruption)
  }
}
