import TestSupport
import Testing

@testable import TreeRingCollections

private enum OwnWeight: ListMeasure {
  static func weight(of element: Int) -> Int { element }
}

@Suite struct RankedListTests {
  @Test(arguments: seeds(1...40)) func randomEditsAgreeWithAnArray(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let size = Int.random(in: 4...9, using: &random)
    let leafSize = Int.random(in: 4...20, using: &random)
    var model = (0..<Int.random(in: 0...300, using: &random)).map { _ in
      Int.random(in: 0...4, using: &random)
    }
    var list = RankedList<Int, OwnWeight>(model, capacity: size, leafCapacity: leafSize)
    let capacity = list.capacity
    #expect(list.root.flaw(capacity: capacity).flaw == nil)
    let copy = list
    let original = model
    for _ in 0..<400 {
      let element = Int.random(in: 0...4, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        let position = Int.random(in: 0...model.count, using: &random)
        model.insert(element, at: position)
        list.insert(element, at: position)
      case 2, 3:
        guard let position = model.indices.randomElement(using: &random) else { continue }
        #expect(list.remove(at: position) == model.remove(at: position))
      default:
        guard let position = model.indices.randomElement(using: &random) else { continue }
        model[position] = element
        list[position] = element
      }
      check(list, model, capacity, &random, seed)
    }
    #expect(list.elements == model, "seed \(seed)")
    #expect(copy.elements == original, "a copy changed, seed \(seed)")
  }

  private func check(
    _ list: RankedList<Int, OwnWeight>, _ model: [Int], _ capacity: NodeCapacity,
    _ random: inout SeededGenerator, _ seed: UInt64
  ) {
    #expect(list.root.flaw(capacity: capacity).flaw == nil, "seed \(seed)")
    #expect(list.count == model.count && list.weight == model.reduce(0, +))
    let position = Int.random(in: 0...model.count, using: &random)
    #expect(list.weight(before: position) == model[..<position].reduce(0, +))
    if position < model.count { #expect(list[position] == model[position]) }
    guard list.weight > 0 else { return }
    let weight = Int.random(in: 0..<list.weight, using: &random)
    var expected = (position: 0, before: 0)
    while expected.before + model[expected.position] <= weight {
      expected.before += model[expected.position]
      expected.position += 1
    }
    let found = list.position(atWeight: weight)
    #expect(found.position == expected.position && found.before == expected.before)
  }

  @Test func theFirstFittingPositionIsFound() {
    for count in 0...60 {
      let list = RankedList<Int, OwnWeight>(Array(0..<count), capacity: 4)
      for limit in 0...(count + 1) {
        #expect(list.firstPosition { $0 >= limit } == min(limit, count))
      }
    }
  }
}

extension RankedNode {
  /// The first flaw of the node or one below it; nil if there is none. `depth` is that of the
  /// leaves.
  fileprivate func flaw(
    capacity: NodeCapacity, isRoot: Bool = true
  ) -> (flaw: String?, depth: Int) {
    if isLeaf {
      if count > capacity.leaf { return ("a leaf is over capacity", 0) }
      let weight = elements.reduce(0) { $0 + Measure.weight(of: $1) }
      if count != elements.count || weight != self.weight { return ("a leaf miscounts", 0) }
      return (!isRoot && count < capacity.leaf / 4 ? "a leaf is too small" : nil, 0)
    }
    if children.count > capacity.inner { return ("an inner node is over capacity", 0) }
    if children.count < (isRoot ? 2 : capacity.inner / 4) || !elements.isEmpty {
      return ("an inner node is too small", 0)
    }
    let below = children.map { $0.flaw(capacity: capacity, isRoot: false) }
    if let bad = below.first(where: { $0.flaw != nil }) { return bad }
    if Set(below.map(\.depth)).count != 1 { return ("leaves lie at different depths", 0) }
    let (count, weight) = children.reduce((0, 0)) { ($0.0 + $1.count, $0.1 + $1.weight) }
    if count != self.count || weight != self.weight { return ("an inner node miscounts", 0) }
    return (nil, below[0].depth + 1)
  }
}
