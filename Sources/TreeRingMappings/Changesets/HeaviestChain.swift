// The heaviest increasing subsequence, by a Fenwick tree of prefix maxima: O(m log m).

/// The weight of an element: the first number counts, and each further one breaks ties.
package struct ChainWeight: Comparable, Sendable {
  private let first: Int
  private let second: Int
  private let third: Int

  package init(_ first: Int, _ second: Int = 0, _ third: Int = 0) {
    self.first = first
    self.second = second
    self.third = third
  }

  package static func < (a: ChainWeight, b: ChainWeight) -> Bool {
    (a.first, a.second, a.third) < (b.first, b.second, b.third)
  }

  static func + (a: ChainWeight, b: ChainWeight) -> ChainWeight {
    ChainWeight(a.first + b.first, a.second + b.second, a.third + b.third)
  }
}

/// Finds the elements of a sequence to keep so that their positions ascend and their total weight
/// is greatest. Reuses its buffers between calls.
package struct HeaviestChain {
  /// Per Fenwick node, the element that ends the heaviest chain among the positions it covers; -1
  /// for none.
  private var heaviest: [Int] = []
  /// Per element, the weight of the heaviest chain that ends with it, and the previous element
  /// there.
  private var total: [ChainWeight] = []
  private var previous: [Int] = []

  package init() {}

  /// Returns for each element whether it belongs to the heaviest chain. Among equally heavy chains,
  /// the one whose last element comes first wins.
  ///
  /// - Parameters:
  ///   - positions: A permutation of `0..<m`.
  ///   - weights: The weight of each element; its first number is above 0.
  package mutating func kept(positions: [Int], weights: [ChainWeight]) -> [Bool] {
    let count = positions.count
    heaviest.removeAll(keepingCapacity: true)
    heaviest.append(contentsOf: repeatElement(-1, count: count + 1))
    total.removeAll(keepingCapacity: true)
    previous.removeAll(keepingCapacity: true)
    var last = -1
    for element in 0..<count {
      let before = heaviestElement(below: positions[element])
      let weight = before < 0 ? weights[element] : total[before] + weights[element]
      total.append(weight)
      previous.append(before)
      record(element, at: positions[element])
      if last < 0 || weight > total[last] { last = element }
    }
    var kept = [Bool](repeating: false, count: count)
    while last >= 0 {
      kept[last] = true
      last = previous[last]
    }
    return kept
  }

  /// Returns for each element whether it belongs to the heaviest chain of elements that have the
  /// same order in two arrangements.
  ///
  /// - Parameters:
  ///   - first, second: The elements `0..<m` in the two orders.
  ///   - weights: The weight of each element; its first number is above 0.
  package mutating func kept(
    in first: [Int], and second: [Int], weights: [ChainWeight]
  ) -> [Bool] {
    var positions = [Int](repeating: 0, count: second.count)
    for (position, element) in second.enumerated() { positions[element] = position }
    let inOrder = kept(
      positions: first.map { positions[$0] }, weights: first.map { weights[$0] })
    var kept = [Bool](repeating: false, count: first.count)
    for (index, element) in first.enumerated() { kept[element] = inOrder[index] }
    return kept
  }

  private func heaviestElement(below position: Int) -> Int {
    var node = position
    var best = -1
    while node > 0 {
      let candidate = heaviest[node]
      if candidate >= 0, best < 0 || total[candidate] > total[best] { best = candidate }
      node &= node - 1
    }
    return best
  }

  private mutating func record(_ element: Int, at position: Int) {
    var node = position + 1
    while node < heaviest.count {
      if heaviest[node] < 0 || total[heaviest[node]] < total[element] { heaviest[node] = element }
      node += node & -node
    }
  }
}
