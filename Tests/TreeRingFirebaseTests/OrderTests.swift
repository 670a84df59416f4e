// The order of children and the bytes that stand for it.

import Foundation
import TestSupport
import Testing

@testable import TreeRingCollections
@testable import TreeRingFirebase

@Suite struct OrderTests {
  @Test func boundsThatAreNoneAreErrorsOfTheSource() throws {
    let url = try #require(URL(string: "https://a.example/x"))
    let key = try FirebaseKey("k")
    let byKey = FirebaseQuery(.key)
    for query in [
      byKey.starting(at: "a.b"), byKey.ending(at: ""), byKey.starting(at: 5), byKey.equal(to: nil),
      byKey.starting(at: "a", key: key), FirebaseQuery(.value).starting(at: .number(.nan)),
      FirebaseQuery(.child("n")).ending(at: .number(-.infinity)),
    ] {
      let error = #expect(throws: FirebaseError.self, "\(query)") {
        try FirebaseSource(url, query: query)
      }
      #expect(error?.code == .invalidInput, "\(query)")
    }
    _ = try FirebaseSource(url, query: byKey.starting(at: "a").ending(at: "b"))
  }

  static let orders: [(FirebaseOrder, PlainOrder)] = [
    (.key, .key), (.value, .value), (.priority, .priority), (.child("a"), .child(["a"])),
    (.child("1/b"), .child(["1", "b"])),
  ]

  @Test(arguments: seeds(1...100)) func childrenAreOrderedByTheProtocolsText(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var model = PlainTree()
    for _ in 0..<25 { model.put(random.data(), at: [random.key()]) }
    let node = try model.data(at: []).node()
    for (order, plain) in Self.orders {
      let sorted = node.unsortedChildren.map { ($0.key.text, ChildPosition($0, in: order)) }
        .sorted { $0.1 < $1.1 }.map(\.0)
      #expect(sorted == plain.keys(model, []), "\(order), seed \(seed)")
    }
  }

  @Test func theBytesOfAPositionGiveBackItsValueAndKey() throws {
    var random = SeededGenerator(seed: 3)
    for key in SeededGenerator.keys {
      var values: [OrderKey] = [.object, .scalar(.null), .scalar(.text("a\u{0}b")), .scalar(-0.0)]
      for _ in 0..<20 {
        values.append(OrderKey(try PlainData.leaf(random.scalar()).node()))
      }
      for value in values {
        let edge = OrderEdge(value: value, key: try FirebaseKey(key))
        #expect(OrderEdge(bytes: edge.bytes) == edge)
        #expect(OrderEdge(bytes: OrderEdge(value: value, key: nil).bytes)?.key == nil)
      }
    }
    for bytes: [UInt8] in [[], [9], [3, 1], [4, 0], [0, 7], [0, 2, 0, 47]] {
      #expect(OrderEdge(bytes: bytes) == nil)
    }
  }

  @Test func childKeysOfDistinctKeysAreDistinct() throws {
    let keys = try (SeededGenerator.keys + ["\u{E9}", "e\u{301}"]).map {
      try FirebaseKey($0).childKey
    }
    #expect(Set(keys).count == keys.count)
  }

  private func parameters(
    _ query: FirebaseQuery, _ range: PositionRange = PositionRange()
  ) throws -> [String] {
    try query.parameters(in: range).map { "\($0.name)=\($0.value)" }
  }

  @Test func queriesBecomeParameters() throws {
    #expect(try parameters(FirebaseQuery()) == [])
    #expect(try parameters(FirebaseQuery(.priority)) == ["format=export"])
    let height = FirebaseQuery(.child("height"))
    #expect(
      try parameters(height.starting(at: 3, key: FirebaseKey("k")).ending(at: "x"))
        == [#"orderBy="height""#, #"startAt=3,"k""#, #"endAt="x""#])
    #expect(
      try parameters(height.equal(to: nil).limited(toLast: 2))
        == [#"orderBy="height""#, "startAt=null", "endAt=null", "limitToLast=2"])
    #expect(
      try parameters(FirebaseQuery().starting(at: "b").limited(toFirst: 1))
        == [#"orderBy="$key""#, #"startAt="b""#, "limitToFirst=1"])
  }

  @Test func aRangeNarrowsAQuery() throws {
    func position(_ value: OrderKey, _ key: String) throws -> ChildPosition {
      let edge = OrderEdge(value: value, key: try FirebaseKey(key))
      return ChildPosition(order: .bytes(edge.bytes), key: key)
    }
    let query = FirebaseQuery(.child("h")).starting(at: 3)
    let early = PositionRange(from: try position(.scalar(1), "k"))
    #expect(try parameters(query, early) == [#"orderBy="h""#, "startAt=3"])
    let late = PositionRange(
      from: try position(.scalar(4), "k"), through: try position(.object, "o"))
    #expect(try parameters(query, late) == [#"orderBy="h""#, #"startAt=4,"k""#])
    let objects = PositionRange(from: try position(.object, "k"))
    #expect(try parameters(query, objects).last?.hasPrefix("startAt=\"\u{FFFF}") == true)
    let error = #expect(throws: FirebaseError.self) {
      try OrderInterval(query, in: objects).parameters(query.order, limit: .first(2))
    }
    #expect(error?.code == .notSupported)
  }
}
