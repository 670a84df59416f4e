import TestSupport
import Testing

@testable import TreeRing

@Suite("Labels that keep an order") struct OrderLabelTests {
  @Test("A label fits between any two, and is sound", arguments: seeds(1...20))
  func anywhere(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var labels: [[UInt8]] = []
    for _ in 0..<400 {
      // Sometimes many labels go to the same position.
      let position =
        seed % 3 == 0 ? labels.count / 2 : Int.random(in: 0...labels.count, using: &random)
      let label = try #require(
        OrderLabel.between(
          position > 0 ? labels[position - 1] : nil,
          position < labels.count ? labels[position] : nil))
      #expect(OrderLabel.isSound(label))
      labels.insert(label, at: position)
    }
    for (lower, upper) in zip(labels, labels.dropFirst()) {
      #expect(lower.lexicographicallyPrecedes(upper), "seed \(seed)")
      // As a sort key, no label is a prefix of another.
      let (one, other) = (OrderLabel.sortKey(lower), OrderLabel.sortKey(upper))
      #expect(!other.starts(with: one), "seed \(seed)")
    }
  }

  @Test("Appending and prepending keep labels short")
  func ends() throws {
    var (low, high) = (OrderLabel.first, OrderLabel.first)
    for _ in 0..<100_000 {
      let next = try #require(OrderLabel.between(high, nil))
      #expect(high.lexicographicallyPrecedes(next))
      high = next
      let previous = try #require(OrderLabel.between(nil, low))
      #expect(previous.lexicographicallyPrecedes(low))
      low = previous
    }
    #expect(low.count == 4 && high.count == 4)
  }

  @Test("Counters at their maximum continue in the next four digits")
  func overflow() throws {
    let last: [UInt8] = [255, 255, 255, 128]
    let next = try #require(OrderLabel.between(last, nil))
    #expect(last.lexicographicallyPrecedes(next) && next.count == 8 && OrderLabel.isSound(next))
    var low: [UInt8] = [1, 1, 1, 2]
    for _ in 0..<50 {
      let previous = try #require(OrderLabel.between(nil, low))
      #expect(previous.lexicographicallyPrecedes(low) && OrderLabel.isSound(previous))
      low = previous
    }
    #expect(low.count <= 8)
  }

  @Test("Many labels made at once are in order, and short", arguments: [0, 1, 2, 17, 5_000])
  func spread(count: Int) throws {
    let bounds: [([UInt8]?, [UInt8]?)] = [
      (nil, nil), ([5], nil), (nil, [1, 2]), ([128], [129]), ([128, 255, 255], [129]),
    ]
    for (lower, upper) in bounds {
      let labels = try #require(OrderLabel.spread(count, between: lower, upper))
      #expect(labels.count == count)
      let all = [lower].compactMap { $0 } + labels + [upper].compactMap { $0 }
      for (a, b) in zip(all, all.dropFirst()) { #expect(a.lexicographicallyPrecedes(b)) }
      #expect(labels.allSatisfy { OrderLabel.isSound($0) && $0.count <= 8 })
    }
  }

  @Test("As many labels are kept as the new order allows", arguments: seeds(1...20))
  func keeping(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let all = try #require(OrderLabel.spread(60, between: nil, nil))
    // Some labels in order, some out of order, and rows without labels.
    var old: [[UInt8]?] = all.map { Int.random(in: 0..<4, using: &random) == 0 ? nil : $0 }
    for _ in 0..<Int.random(in: 0..<6, using: &random) {
      let label = old.remove(at: Int.random(in: 0..<old.count, using: &random))
      old.insert(label, at: Int.random(in: 0...old.count, using: &random))
    }
    let labels = OrderLabel.keeping(old)
    #expect(labels.count == old.count)
    for (a, b) in zip(labels, labels.dropFirst()) { #expect(a.lexicographicallyPrecedes(b)) }
    #expect(labels.allSatisfy { OrderLabel.isSound($0) })
    // The longest increasing run, computed the slow way.
    var lengths: [Int] = []
    for (index, label) in old.enumerated() {
      let before = zip(old[..<index], lengths).filter { other, _ in
        if let other, let label { other.lexicographicallyPrecedes(label) } else { false }
      }
      lengths.append(label == nil ? 0 : 1 + (before.map(\.1).max() ?? 0))
    }
    let kept = zip(old, labels).count { $0 == $1 }
    #expect(kept == lengths.max() ?? 0, "seed \(seed)")
  }

  @Test("Between equal labels there is no room, and invalid labels are detected")
  func refused() {
    #expect(OrderLabel.between([7], [7]) == nil)
    #expect(OrderLabel.spread(3, between: [7], [7]) == nil)
    #expect(!OrderLabel.isSound([]))
    #expect(!OrderLabel.isSound([128, 0, 3]))
    #expect(!OrderLabel.isSound([128, 1]))
    #expect(!OrderLabel.isSound(Array(repeating: 9, count: 256)))
  }
}
