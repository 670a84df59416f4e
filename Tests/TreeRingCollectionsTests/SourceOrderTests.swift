// Keys and values that look the same but differ in their bytes: sources distinguish them.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections

@Suite struct SourceOrderTests {
  /// One letter in two spellings, which Swift's strings treat as equal.
  private static let (composed, decomposed) = ("\u{e9}", "e\u{301}")

  @Test func valuesAndPositionsAreEqualIfNeitherPrecedesTheOther() {
    let values: [OrderValue] = [
      .null, .bool(false), .bool(true), .number(-0.0), .number(0), .number(1), .number(.infinity),
      .number(.nan), .number(-.nan), .number(.signalingNaN), .text(""), .text("e"),
      .text(Self.composed), .text(Self.decomposed), .bytes([]), .bytes([0]),
    ]
    let positions = values.flatMap { value in
      ["k", Self.composed, Self.decomposed].map { ChildPosition(order: value, key: $0) }
    }
    func check<Value: Hashable & Comparable>(_ values: [Value]) {
      for a in values {
        for b in values {
          #expect((a == b) == (!(a < b) && !(b < a)), "\(a) \(b)")
          if a == b { #expect(a.hashValue == b.hashValue, "\(a) \(b)") }
        }
      }
    }
    check(values)
    check(positions)
    #expect(OrderValue.text(Self.composed) != .text(Self.decomposed))
  }

  @Test func aChildThatMovesToAnotherSpellingOfItsPositionIsFoundThere() throws {
    func place(_ order: OrderValue, _ key: String) -> ChildPosition {
      ChildPosition(order: order, key: key)
    }
    let spellings = [
      (place(.text(Self.decomposed), "k"), place(.text(Self.composed), "k")),
      (place(.null, Self.decomposed), place(.null, Self.composed)),
    ]
    for (first, second) in spellings {
      var known = KnownChildren<NoteData>()
      for position in [first, second, first] {
        known.set(SourceChild(NoteData(number: 1000), at: position))
        #expect(known.keys(in: PositionRange(from: position, through: position)).count == 1)
      }
      known.set(SourceChild(NoteData(number: 1000), at: second))
      known.remove(first.key)
      #expect(known.keys(in: PositionRange()).isEmpty)
    }
  }

  @Test func rowsWhoseKeysOnlyLookTheSameAreTwoChildren() async throws {
    let store = try Store.inMemory()
    let rows = Bucket<[UInt8]>.bytes("files")
    let keys =
      [Self.composed, Self.decomposed, "a%", "a%25", "\u{7f}"].map { Key($0) }
      + [Key(bytes: [0xff, 0x00]), Key(bytes: [0xc3])]
    try await store.write { tx in
      for (number, key) in keys.enumerated() {
        try tx.put([UInt8(number)], for: key, in: rows)
      }
    }
    let live = LiveCollection(
      source: StoreSource(store, bucket: rows),
      options: CollectionOptions(order: .source, mode: .paged(batchSize: 2))
    ) { row in
      NoteModel(identifier: "\(row.key.bytes)", text: nil, number: Int(row.object.first ?? 0))
    }
    while await live.load().hasMore {}
    let expected = try store.snapshot().rows(in: rows).map { "\($0.0.bytes)" }
    #expect(live.shown.map(\.identifier) == expected && expected.count == keys.count)
    live.stop()
  }

  @Test(arguments: seeds(1...20)) func everyKeyHasAChildKeyOfItsOwn(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      let name = StoreSource.childKey(of: Key(bytes: bytes))
      #expect(name.utf8.allSatisfy { (0x20..<0x7f).contains($0) })
      #expect(StoreSource.key(ofChild: name)?.bytes == bytes, "seed \(seed)")
    }
    #expect(StoreSource.childKey(of: "UA 12") == "UA 12")
    #expect(StoreSource.childKey(of: "100%é") == "100%25%C3%A9")
    for name in ["%", "%2", "%zz", "%41", "%c3", "é", "\n", "%+1"] {
      #expect(StoreSource.key(ofChild: name) == nil, "\(name)")
    }
  }

  @Test func aFailedPrepareIsReportedWithTheKeyOfItsRow() async throws {
    let store = try Store.inMemory()
    try await store.write { tx in try tx.put([1], for: "100 %", in: .bytes("rows")) }
    let observer = MirrorObserver()
    let live = LiveCollection(source: StoreSource(store, bucket: "rows")) {
      (_: StoredRow) -> NoteModel? in throw ScriptFailure()
    }
    live.add(observer)
    await live.load()
    let key = try #require(observer.state.withLock(\.failures).first?.key)
    #expect(StoreSource.key(ofChild: key) == "100 %")
    live.stop()
  }
}
