// Sums of an index: the numbers that they accept, the rule that refuses others, and the definition.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// An index of the bucket `rows` by `g`, in the order of `n`, with sums of `a`.
func summedIndex(_ decimals: Int = 0, version: UInt32 = 1) throws -> FieldIndex {
  try FieldIndex(
    bucket: "rows", group: "g", order: [FieldIndex.Order("n")], version: version
  ).summing("a", decimals: decimals)
}

extension Transaction {
  /// Puts a row of a group with a number for its order and the JSON of its amount; without an
  /// amount the field is absent.
  func putSummed(_ key: Key, _ group: String, _ amount: String?) throws {
    try putSummed(key, group, 0, amount)
  }

  func putSummed(_ key: Key, _ group: String, _ number: Int, _ amount: String?) throws {
    let sum = amount.map { ",\"a\":\($0)" } ?? ""
    try put(
      Array(#"{"g":"\#(group)","n":\#(number)\#(sum)}"#.utf8), for: key,
      in: Bucket<[UInt8]>.bytes("rows"))
  }
}

@Suite("Sums", .leavesSoundStores) struct SumTests {
  private func summand(_ text: String, _ decimals: Int) -> Summand {
    Array(text.utf8).withUnsafeBytes { Summand(number: $0, decimals: decimals) }
  }

  @Test("A number counts exactly in units of the last decimal, however it is written")
  func numbers() {
    for (text, decimals, units) in [
      ("0", 0, 0), ("-0", 2, 0), ("0.000", 0, 0), ("0e99", 0, 0), ("7", 0, 7), ("-7", 0, -7),
      ("7.0", 0, 7), ("7e2", 0, 700), ("700e-2", 0, 7), ("0.07E2", 0, 7), ("70.50", 2, 7050),
      ("-0.01", 2, -1), ("1.5", 1, 15), ("1.5e3", 0, 1500), ("120", 2, 12000),
      ("0.5", 18, 5 * ten17),
      ("9223372036854775807", 0, .max), ("-9223372036854775808", 0, .min),
      ("92233720368547758.07", 2, .max), ("1000000000000000000", 0, 10 * ten17),
    ] as [(String, Int, Int64)] {
      #expect(summand(text, decimals) == .number(units), "\(text) with \(decimals)")
    }
    for (text, decimals) in [
      ("0.5", 0), ("12.345", 2), ("1e-1", 0), ("1e-99999999999", 18), ("9223372036854775808", 0),
      ("-9223372036854775809", 0), ("1e19", 0), ("1e18", 1), ("99999999999999999999", 0),
      ("1e99999999999", 0), ("18446744073709551616", 0),
    ] {
      #expect(summand(text, decimals) == .unsummable, "\(text) with \(decimals)")
    }
  }
  private let ten17: Int64 = 100_000_000_000_000_000

  @Test("Summands and partial sums come back from their bytes; other bytes are refused")
  func coding() {
    for number in [0, 1, -1, 63, -64, 64, 1 << 40, .max, .min] as [Int64] {
      for summand in [Summand.number(number), .unsummable] {
        var value = OrderKey.lengths(group: 3, sortKey: 300)
        summand.append(to: &value)
        #expect(value.withUnsafeBytes { Summand(orderValue: $0) } == summand)
      }
    }
    for units in [0, 1, -1, 1 << 64, -(1 << 64), .max, .min] as [Int128] {
      for count in [0, 1, .max] as [UInt64] {
        var sum = PartialSum()
        (sum.units, sum.unsummableCount) = (units, count)
        #expect(sum.encoded.withUnsafeBytes { PartialSum(node: $0) } == sum)
        for length in 0..<sum.encoded.count where count == .max {
          let part = sum.encoded.prefix(length).withUnsafeBytes { PartialSum(node: $0) }
          #expect(part != sum)
        }
      }
    }
    for bytes in [[0, 0, 0, 0, 0x80], [0, 0, 0, 0, 1, 1]] as [[UInt8]] {
      #expect(bytes.withUnsafeBytes { Summand(orderValue: $0) } == nil)
    }
  }

  @Test("A sum is shown as a decimal number")
  func text() {
    for (units, decimals, text) in [
      (0, 0, "0"), (0, 2, "0.00"), (5, 2, "0.05"), (-5, 2, "-0.05"), (1250, 2, "12.50"),
      (-1250, 1, "-125.0"), (.max, 0, "170141183460469231731687303715884105727"),
    ] as [(Int128, Int, String)] {
      #expect(IndexSum(units: units, decimals: decimals).description == text)
    }
    #expect(IndexSum(units: -1250, decimals: 2).doubleValue == -12.5)
  }

  @Test("Rows without a number add nothing; numbers of every form add up; filters sum too")
  func adding() throws {
    let store = try Store.inMemory()
    try store.define("Sums", summedIndex(2))
    try store.define("Some", FieldFilter(of: "Sums", where: ["n=1"]))
    let amounts = ["12.5", "-0.05", "1e2", nil, "null", "true", "\"7\"", "[1]", "{\"a\":1}", "0"]
    try store.write { tx in
      for (place, amount) in amounts.enumerated() {
        try tx.putSummed(Key("k\(place)"), place < 5 ? "x" : "y", place % 3, amount)
      }
      // A binary row: {"a": 3, "g": "y"}.
      try tx.put(
        CBOR.mark + [0xA2, 0x61, 0x61, 0x03, 0x61, 0x67, 0x61, 0x79], for: "b",
        in: Bucket<[UInt8]>.bytes("rows"))
      #expect(try tx.index("Sums").sum(in: "x").description == "112.45")
    }
    let index = try store.snapshot().index("Sums")
    #expect(index.hasSums)
    #expect(try index.sum().description == "115.45")
    #expect(try index.sum(in: "y").description == "3.00")
    #expect(try index.sum(in: "no such").units == 0)
    // The order in x: k0 12.5, k3, k1 −0.05, k4, k2 100.
    #expect(try index.sum(in: "x", 1..<4).units == -5)
    #expect(try index.sum(in: "x", 2..<99).units == 9995)
    #expect(
      try index.groupSums().map { "\($0.group) \($0.rows) \($0.sum)" } == [
        "x 5 112.45", "y 6 3.00",
      ])
    #expect(try store.snapshot().index("Some").sum().units == -5)
    try store.define("Plain", FieldIndex(bucket: "rows", group: "g", order: []))
    let plain = try store.snapshot().index("Plain")
    #expect(!plain.hasSums)
    #expect(code { try plain.sum() } == .invalidInput)
  }

  @Test("A handle sums the rows that fulfil a condition")
  func conditions() throws {
    let store = try Store.inMemory()
    try store.define("Sums", summedIndex())
    let rows = Index(
      named: "Sums", on: Bucket<[UInt8]>.bytes("rows"), group: String.self,
      by: .ascending(Int.self))
    try store.write { tx in
      for number in 0..<20 { try tx.putSummed(Key("k\(number)"), "x", number, "\(1 << number)") }
    }
    let reader = try store.snapshot()[rows]
    #expect(try reader.sum(in: "x").units == (1 << 20) - 1)
    #expect(try reader.sum(in: "x", where: .between(3..<6)).units == 0b111000)
    #expect(try reader.sum(in: "x", where: .oneOf([1, 19, 1])).units == 1 << 19 + 2)
    #expect(try reader.sum(in: "x", where: .absent).units == 0)
    #expect(try reader.sum(in: "y", where: .before(3)).units == 0)
  }

  @Test("A number that cannot be summed is refused with the row; nothing else is lost")
  func refused() throws {
    let store = try Store.inMemory()
    try store.define("Sums", summedIndex(1))
    try store.write { try $0.putSummed("a", "x", "1.5") }
    let newest = store.newestCommit
    for amount in ["1.55", "1e18", "-922337203685477580.9", "1e-30"] {
      let refusal = error { try store.write { try $0.putSummed("b", "x", amount) } }
      #expect(refusal?.code == .notSummable)
      #expect(refusal?.violation?.rule == "Sums")
      #expect(refusal?.violation?.row == RowID(bucket: "rows", key: "b"))
    }
    #expect(store.newestCommit == newest)
    // Inside a transaction the refusal leaves the row as it was, and the rest can be committed.
    try store.write { tx in
      try tx.putSummed("a", "x", "2.5")
      #expect(code { try tx.putSummed("a", "x", "2.55") } == .notSummable)
      // A row in no group is not summed.
      try tx.put(Array(#"{"a":0.125}"#.utf8), for: "c", in: Bucket<[UInt8]>.bytes("rows"))
      try tx.putSummed("d", "x", "922337203685477580.7")
      try tx.putSummed("e", "x", "922337203685477580.7")
    }
    #expect(try store.snapshot().index("Sums").sum(in: "x").description == "1844674407370955163.9")
  }

  @Test("A definition over rows that cannot be summed is refused; past ones do not hide them")
  func defined() throws {
    let store = try Store.inMemory()
    try store.write { tx in
      for (key, amount) in [("a", "1"), ("b", "0.5"), ("c", "4"), ("d", "1e30")] as [(Key, String)]
      {
        try tx.putSummed(key, key < "c" ? "x" : "y", amount)
      }
    }
    let refusal = error { try store.define("Sums", summedIndex()) }
    #expect(refusal?.code == .notSummable)
    #expect(refusal?.violation?.row == RowID(bucket: "rows", key: "b"))
    #expect(refusal?.message.contains("rows/d") == true)
    #expect(store.indexes.isEmpty)
    try store.write { tx in
      try tx.putSummed("b", "x", "2")
      try tx.putSummed("d", "z", "8")
      try tx.define("Sums", summedIndex())
    }
    #expect(try store.snapshot().index("Sums").sum().units == 15)
    let past = try store.snapshot(at: .commit(1)).index("Sums")
    #expect(try past.count(in: "x") == 2)
    for group in ["x", "y"] as [GroupName] {
      #expect(code { try past.sum(in: group) } == .notSummable)
    }
    #expect(try past.sum(in: "x", 0..<1).units == 1)
    #expect(try past.sum(in: "y", 0..<1).units == 4)
    // Reverting to such a commit is refused as any other write.
    #expect(code { try store.revert(to: .commit(1)) } == .notSummable)
  }

  @Test("A copy of another log may hold numbers that cannot be summed, until they are gone")
  func copies() throws {
    let store = try Store.inMemory()
    try store.define("Sums", summedIndex())
    try store.write { tx in
      tx.keepsRules = false
      for number in 0..<100 {
        try tx.putSummed(Key("k\(number)"), "x", number, number == 40 ? "0.5" : "1")
      }
    }
    let index = try store.snapshot().index("Sums")
    #expect(try index.sum(in: "x", 0..<40).units == 40)
    #expect(try index.sum(in: "x", 41..<100).units == 59)
    #expect(code { try index.sum(in: "x", 40..<41) } == .notSummable)
    #expect(error { try index.sum() }?.message.contains("1 row has") == true)
    try store.write { try $0.putSummed("k40", "x", 40, "3") }
    #expect(try store.snapshot().index("Sums").sum().units == 102)
  }

  @Test("A definition with sums has a canonical text and a kind of its own")
  func definition() throws {
    let fields = try summedIndex(2, version: 3).unique()
    let text =
      #"{"bucket":"rows","group":"g","order":["n"],"where":{},"version":3,"unique":true,"#
      + #""sum":"a","decimals":2}"#
    #expect(fields.json == text)
    #expect(try FieldIndex(json: text) == fields)
    #expect(try FieldIndex(json: text).withVersion(4).sum == FieldIndex.Sum("a", decimals: 2))
    #expect(try summedIndex() != summedIndex(1))
    #expect(try summedIndex().json.hasSuffix(#""version":1,"sum":"a"}"#))
    for bad in [#""sum":1"#, #""decimals":1"#, #""sum":"a","decimals":19"#, #""sum":"a..b""#] {
      #expect(
        code { try FieldIndex(json: #"{"bucket":"b","group":"g","order":[],\#(bad)}"#) }
          == .invalidInput, "\(bad)")
    }
    // Kind 13 is unknown to earlier programs, which refuse the commit as `unsupportedFormat`.
    var bytes: [UInt8] = []
    IndexRecord(
      name: "i", number: 1, version: 1, definition: IndexRecord.Definition(try summedIndex())
    ).encode(into: &bytes)
    #expect(bytes[4] == 13)
    let store = try Store.inMemory()
    try store.define("Sums", summedIndex())
    #expect(store.indexes.map(\.fields?.sum) == [FieldIndex.Sum("a")])
    // Another sum is another definition.
    try store.write { try $0.putSummed("k", "x", "2") }
    try store.define("Sums", summedIndex(1))
    #expect(try store.snapshot().index("Sums").sum().description == "2.0")
    #expect(try store.snapshot(at: .commit(2)).index("Sums").sum().description == "2.0")
  }
}
