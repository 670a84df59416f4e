// A node of a ranked list: a leaf with elements, or an inner node with children.
//
// After an insert a node may be over capacity; it then splits in halves. After a remove a child may
// be less than a quarter full; it is then joined with a neighbour, and split again if the result is
// over capacity. So every node except the root is at least a quarter full, and the halves of a
// split are far from being joined.

internal import TreeRingLog

/// The maximum sizes of nodes.
struct NodeCapacity: Sendable {
  /// The most children of an inner node.
  let inner: Int
  /// The most elements of a leaf.
  let leaf: Int
}

/// A leaf or an inner node, with the number and weight of the elements below it.
struct RankedNode<Element, Measure: ListMeasure<Element>> {
  private(set) var elements: [Element] = []
  private(set) var children: [RankedNode] = []
  private(set) var count: Int
  private(set) var weight: Int

  /// A leaf.
  init(elements: [Element]) {
    self.elements = elements
    count = elements.count
    weight = elements.reduce(0) { $0 + Measure.weight(of: $1) }
  }

  /// An inner node with at least one child.
  init(children: [RankedNode]) {
    self.children = children
    count = children.reduce(0) { $0 + $1.count }
    weight = children.reduce(0) { $0 + $1.weight }
  }

  var isLeaf: Bool { children.isEmpty }

  /// The number of elements of a leaf, or of children of an inner node.
  private var size: Int { isLeaf ? elements.count : children.count }

  /// The maximum size of this node.
  private func limit(_ capacity: NodeCapacity) -> Int { isLeaf ? capacity.leaf : capacity.inner }

  /// The child that contains a position, and the position in it. A position at a child's end
  /// belongs to that child if `isEnd`, else to the next.
  private func child(at position: Int, isEnd: Bool = false) -> (child: Int, position: Int) {
    var position = position
    var child = 0
    while child < children.count - 1 {
      let count = children[child].count
      if position < count || (isEnd && position == count) { break }
      position -= count
      child += 1
    }
    return (child, position)
  }

  // MARK: - Edits

  /// Inserts an element; returns the second half if the node was split.
  mutating func insert(_ element: Element, at position: Int, capacity: NodeCapacity) -> RankedNode?
  {
    count += 1
    weight += Measure.weight(of: element)
    if isLeaf {
      elements.insert(element, at: position)
    } else {
      let (child, position) = child(at: position, isEnd: true)
      if let sibling = children[child].insert(element, at: position, capacity: capacity) {
        children.insert(sibling, at: child + 1)
      }
    }
    return size > limit(capacity) ? split() : nil
  }

  /// Keeps the first half and returns the second.
  private mutating func split() -> RankedNode {
    let half = size / 2
    let second: RankedNode
    if isLeaf {
      second = RankedNode(elements: Array(elements[half...]))
      elements.removeSubrange(half...)
    } else {
      second = RankedNode(children: Array(children[half...]))
      children.removeSubrange(half...)
    }
    count -= second.count
    weight -= second.weight
    return second
  }

  /// Removes and returns an element.
  mutating func remove(at position: Int, capacity: NodeCapacity) -> Element {
    let element: Element
    if isLeaf {
      element = elements.remove(at: position)
    } else {
      let (child, position) = child(at: position)
      element = children[child].remove(at: position, capacity: capacity)
      if children[child].size < max(2, children[child].limit(capacity) / 4), children.count > 1 {
        join(at: child == 0 ? 0 : child - 1, capacity: capacity)
      }
    }
    count -= 1
    weight -= Measure.weight(of: element)
    return element
  }

  /// Joins a child with the next one; splits them evenly if they are over capacity together.
  private mutating func join(at child: Int, capacity: NodeCapacity) {
    let next = children.remove(at: child + 1)
    children[child].append(next)
    if children[child].size > children[child].limit(capacity) {
      children.insert(children[child].split(), at: child + 1)
    }
  }

  private mutating func append(_ next: RankedNode) {
    elements.append(contentsOf: next.elements)
    children.append(contentsOf: next.children)
    count += next.count
    weight += next.weight
  }

  /// Replaces an element and returns the old one.
  mutating func replace(at position: Int, with element: Element) -> Element {
    let old: Element
    if isLeaf {
      old = elements[position]
      elements[position] = element
    } else {
      let (child, position) = child(at: position)
      old = children[child].replace(at: position, with: element)
    }
    weight += Measure.weight(of: element) - Measure.weight(of: old)
    return old
  }

  // MARK: - Reads

  /// Descends to a leaf and calls `body` with its elements. `choose` receives the children of each
  /// inner node on the path and returns the index of the next one.
  ///
  /// The path uses pointers into the children, which live as long as this node. Arrays would count
  /// references at each step.
  @inline(__always)
  private func descend<R>(
    _ choose: (UnsafeBufferPointer<RankedNode>) -> Int, then body: ([Element]) -> R
  ) -> R {
    withUnsafePointer(to: self) { root in
      var node = root
      while !node.pointee.isLeaf {
        node.pointee.children.withUnsafeBufferPointer { children in
          guard let first = children.baseAddress else { return }
          node = first + choose(children)
        }
      }
      return body(node.pointee.elements)
    }
  }

  func element(at position: Int) -> Element {
    var position = position
    return descend {
      var child = 0
      while position >= $0[child].count {
        position -= $0[child].count
        child += 1
      }
      return child
    } then: {
      $0[position]
    }
  }

  func weight(before position: Int) -> Int {
    var position = position
    var before = 0
    return descend {
      var child = 0
      // The end position belongs to the last child.
      while position >= $0[child].count, child < $0.count - 1 {
        position -= $0[child].count
        before += $0[child].weight
        child += 1
      }
      return child
    } then: {
      for index in 0..<position { before += Measure.weight(of: $0[index]) }
      return before
    }
  }

  func position(atWeight weight: Int) -> (position: Int, before: Int, element: Element) {
    var position = 0
    var before = 0
    return descend {
      var child = 0
      while before + $0[child].weight <= weight {
        before += $0[child].weight
        position += $0[child].count
        child += 1
      }
      return child
    } then: {
      var index = 0
      while before + Measure.weight(of: $0[index]) <= weight {
        before += Measure.weight(of: $0[index])
        index += 1
      }
      return (position + index, before, $0[index])
    }
  }

  /// Whether the last element satisfies `fits`; false in an empty leaf.
  private func lastFits(_ fits: (Element) -> Bool) -> Bool {
    descend({ $0.count - 1 }, then: { $0.last.map(fits) ?? false })
  }

  func firstPosition(where fits: (Element) -> Bool) -> Int {
    var before = 0
    return descend {
      // If none of the others fits, the position is in the last child or at its end.
      let child = (0..<$0.count - 1).partitioningIndex { [children = $0] index in
        children[index].lastFits(fits)
      }
      for index in 0..<child { before += $0[index].count }
      return child
    } then: {
      before + $0.partitioningIndex(where: fits)
    }
  }

  /// Calls `body` with the elements in order; returns false once `body` does.
  func forEach(_ body: (Element) -> Bool) -> Bool {
    for element in elements where !body(element) { return false }
    for child in children where !child.forEach(body) { return false }
    return true
  }
}

extension RankedNode: Sendable where Element: Sendable {}
