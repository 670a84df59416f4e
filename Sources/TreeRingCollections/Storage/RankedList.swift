// A list that finds, inserts and removes at any position in O(log n): an order-statistic B+tree.
// Each node carries the number and the total weight of the elements below it.
//
// Nodes are values whose children lie in arrays. So a copy of a list is O(1) and shares everything.
// An edit copies the nodes on its path from the root only if another list shares them.

/// The weight of a ranked list's elements. Positions can be found by the weight before them.
protocol ListMeasure<Element>: Sendable {
  associatedtype Element
  /// The weight of an element; not negative.
  static func weight(of element: Element) -> Int
}

/// The measure of weightless elements, for lists that are searched by position only.
enum Weightless<Element>: ListMeasure {
  static func weight(of element: Element) -> Int { 0 }
}

/// A list of elements with positions and weights. Copies are O(1).
struct RankedList<Element, Measure: ListMeasure<Element>> {
  /// The maximum sizes of nodes.
  let capacity: NodeCapacity
  private(set) var root: RankedNode<Element, Measure>

  /// A list of these elements. O(n).
  ///
  /// - Parameters:
  ///   - capacity: The most children of an inner node, at least 4. Tests use small values to get
  ///     deep trees.
  ///   - leafCapacity: The most elements of a leaf, at least 4; nil for `capacity`.
  init(_ elements: [Element] = [], capacity: Int = 32, leafCapacity: Int? = nil) {
    let leafCapacity = leafCapacity ?? capacity
    precondition(min(capacity, leafCapacity) >= 4, "a node holds at least four")
    self.capacity = NodeCapacity(inner: capacity, leaf: leafCapacity)
    var level = Self.chunks(of: elements.count, fill: leafCapacity * 3 / 4).map {
      RankedNode<Element, Measure>(elements: Array(elements[$0]))
    }
    while level.count > 1 {
      let below = level
      level = Self.chunks(of: below.count, fill: capacity * 3 / 4).map {
        RankedNode(children: Array(below[$0]))
      }
    }
    root = level.first ?? RankedNode(elements: [])
  }

  /// Cuts positions into pieces of about equal size, none much smaller than `fill`.
  private static func chunks(of count: Int, fill: Int) -> [Range<Int>] {
    if count == 0 { return [] }
    let pieces = (count + fill - 1) / fill
    return (0..<pieces).map { count * $0 / pieces..<count * ($0 + 1) / pieces }
  }

  /// Replaces the elements. O(n).
  mutating func fill(_ elements: [Element]) {
    self = RankedList(elements, capacity: capacity.inner, leafCapacity: capacity.leaf)
  }

  /// The number of elements.
  var count: Int { root.count }
  /// The total weight of the elements.
  var weight: Int { root.weight }

  /// Inserts an element before the one at a position, or at the end. O(log n).
  mutating func insert(_ element: Element, at position: Int) {
    precondition(position >= 0 && position <= count, "there is no such position")
    if let sibling = root.insert(element, at: position, capacity: capacity) {
      root = RankedNode(children: [root, sibling])
    }
  }

  /// Removes and returns the element at a position. O(log n).
  @discardableResult
  mutating func remove(at position: Int) -> Element {
    precondition(position >= 0 && position < count, "there is no such position")
    let element = root.remove(at: position, capacity: capacity)
    if root.children.count == 1 { root = root.children[0] }
    return element
  }

  /// Replaces the element at a position and returns the old one. O(log n).
  @discardableResult
  mutating func replace(at position: Int, with element: Element) -> Element {
    precondition(position >= 0 && position < count, "there is no such position")
    return root.replace(at: position, with: element)
  }

  /// The element at a position. O(log n).
  subscript(position: Int) -> Element {
    get {
      precondition(position >= 0 && position < count, "there is no such position")
      return root.element(at: position)
    }
    set { replace(at: position, with: newValue) }
  }

  /// The weight of the elements before a position. O(log n).
  func weight(before position: Int) -> Int {
    precondition(position >= 0 && position <= count, "there is no such position")
    return root.weight(before: position)
  }

  /// The first position at which the total weight through its element exceeds `weight`, with the
  /// weight before it and its element. O(log n).
  func position(atWeight weight: Int) -> (position: Int, before: Int, element: Element) {
    precondition(weight >= 0 && weight < self.weight, "the weight lies beyond the list")
    return root.position(atWeight: weight)
  }

  /// The first position whose element satisfies `fits`; `count` if there is none. `fits` must be
  /// false for a prefix of the list and true for the rest. O(log n) calls.
  func firstPosition(where fits: (Element) -> Bool) -> Int { root.firstPosition(where: fits) }

  /// Calls `body` with the elements in order until it returns false. O(elements visited).
  func forEach(_ body: (Element) -> Bool) { _ = root.forEach(body) }

  /// All elements. O(n).
  var elements: [Element] {
    var elements: [Element] = []
    elements.reserveCapacity(count)
    forEach {
      elements.append($0)
      return true
    }
    return elements
  }
}

extension RankedList: Sendable where Element: Sendable {}
