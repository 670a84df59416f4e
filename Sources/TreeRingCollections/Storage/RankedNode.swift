// A node of a ranked list: a leaf with elements, or an inner node with children.
//
// After an insert a node may be over capacity; it then splits in halves. After a remove a child may be
// under half of it; it is then joined with a neighbour, and split again if that is too much. So every
// node but the root is at least a quarter full.

/// How large nodes may be.
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

  /// The child of an inner node that has no other.
  var onlyChild: RankedNode? { children.count == 1 ? children[0] : nil }

  /// Elements of a leaf, or children of an inner node.
  private var size: Int { isLeaf ? elements.count : children.count }

  /// The most that there may be of these.
  private func limit(_ capacity: NodeCapacity) -> Int { isLeaf ? capacity.leaf : capacity.inner }

  /// The child with a position, and the position in it. A position at a child's end belongs to that
  /// child if `isEnd`, else to the next.
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

  /// Inserts an element; returns the second half if the node had to be split.
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
      if children[child].size < children[child].limit(capacity) / 2, children.count > 1 {
        join(at: child == 0 ? 0 : child - 1, capacity: capacity)
      }
    }
    count -= 1
    weight -= Measure.weight(of: element)
    return element
  }

  /// Joins a child with the next one; splits them evenly if together they are too many.
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

  /// Puts another element in the place of one.
  mutating func replace(at position: Int, with element: Element) {
    if isLeaf {
      weight += Measure.weight(of: element) - Measure.weight(of: elements[position])
      elements[position] = element
    } else {
      let (child, position) = child(at: position)
      weight -= children[child].weight
      children[child].replace(at: position, with: element)
      weight += children[child].weight
    }
  }

  // MARK: - Reads

  func element(at position: Int) -> Element {
    if isLeaf { return elements[position] }
    let (child, position) = child(at: position)
    return children[child].element(at: position)
  }

  func weight(before position: Int) -> Int {
    if isLeaf { return elements[..<position].reduce(0) { $0 + Measure.weight(of: $1) } }
    let (child, position) = child(at: position)
    let before = children[..<child].reduce(0) { $0 + $1.weight }
    return before + children[child].weight(before: position)
  }

  func position(atWeight weight: Int) -> (position: Int, before: Int, element: Element) {
    var position = 0
    var before = 0
    if isLeaf {
      while before + Measure.weight(of: elements[position]) <= weight {
        before += Measure.weight(of: elements[position])
        position += 1
      }
      return (position, before, elements[position])
    }
    var child = 0
    while before + children[child].weight <= weight {
      before += children[child].weight
      position += children[child].count
      child += 1
    }
    let inside = children[child].position(atWeight: weight - before)
    return (position + inside.position, before + inside.before, inside.element)
  }

  /// The last element; nil in an empty leaf.
  private var last: Element? { isLeaf ? elements.last : children.last?.last }

  func firstPosition(where fits: (Element) throws -> Bool) rethrows -> Int {
    var low = 0
    var high = size
    while low < high {
      let middle = (low + high) / 2
      let last = isLeaf ? elements[middle] : children[middle].last
      if let last, try fits(last) { high = middle } else { low = middle + 1 }
    }
    if isLeaf { return low }
    let before = children[..<low].reduce(0) { $0 + $1.count }
    return low == children.count ? count : before + (try children[low].firstPosition(where: fits))
  }

  /// Returns false once `body` has.
  func forEach(_ body: (Element) throws -> Bool) rethrows -> Bool {
    for element in elements where !(try body(element)) { return false }
    for child in children where !(try child.forEach(body)) { return false }
    return true
  }

  // MARK: - Checking

  /// What is wrong with the node or one below it; nil if nothing. `depth` is that of the leaves.
  func flaw(capacity: NodeCapacity, isRoot: Bool = true) -> (flaw: String?, depth: Int) {
    if size > limit(capacity) { return ("a node is over capacity", 0) }
    if isLeaf {
      let weight = elements.reduce(0) { $0 + Measure.weight(of: $1) }
      if count != elements.count || weight != self.weight { return ("a leaf miscounts", 0) }
      return (!isRoot && count < capacity.leaf / 4 ? "a leaf is too small" : nil, 0)
    }
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

extension RankedNode: Sendable where Element: Sendable {}
