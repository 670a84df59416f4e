// The heaviest increasing subsequence, by a Fenwick tree that keeps prefix maxima: O(m log m).

/// Finds which elements of a sequence to keep so that their positions ascend and their weight is
/// greatest. Keeps its buffers from one use to the next.
package struct HeaviestChain {
  /// Per Fenwick node the element that ends the heaviest chain among the positions it covers; -1 none.
  private var heaviest: [Int] = []
  /// Per element the weight of the heaviest chain that ends with it, and the element before it there.
  private var total: [Int] = []
  private var previous: [Int] = []

  package init() {}

  /// Tells of each element whether it belongs to the heaviest chain. Of equally heavy ones, the one
  /// whose last element comes first is taken.
  ///
  /// - Parameters:
  ///   - positions: A permutation of `0..<m`.
  ///   - weights: Of each element, above 0.
  package mutating func kept(positions: [Int], weights: [Int]) -> [Bool] {
    let count = positions.count
    heaviest.removeAll(keepingCapacity: true)
    heaviest.append(contentsOf: repeatElement(-1, count: count + 1))
    total.removeAll(keepingCapacity: true)
    previous.removeAll(keepingCapacity: true)
    var last = -1
    for element in 0..<count {
      let before = heaviestElement(below: positions[element])
      let weight = weights[element] + (before < 0 ? 0 : total[before])
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
