// A map whose copies share their common nodes: a radix tree over the bits of the keys, five bits at
// a time, the lowest first. A change copies the nodes on the path to its entry, usually two or
// three, and shares the rest. A node that only one map refers to is changed in place.

/// A map from integers whose every state can be kept. A copy takes O(1), a change O(log n).
struct PersistentMap<Value: Sendable>: Sendable {
  // Changed only while a single map refers to it, which makes it Sendable and the checks for
  // exclusive access superfluous.
  private final class Node: @unchecked Sendable {
    /// The digits that have a slot, as bits.
    @exclusivity(unchecked) var present: UInt32
    /// The slots, in the order of their digits.
    @exclusivity(unchecked) var slots: [Slot]

    init(present: UInt32 = 0, slots: [Slot] = []) {
      self.present = present
      self.slots = slots
    }

    /// The position of a digit's slot, or the position at which it would be inserted.
    func position(of bit: UInt32) -> Int { (present & (bit &- 1)).nonzeroBitCount }
  }

  private enum Slot {
    case entry(UInt64, Value)
    case node(Node)
    /// A placeholder while the node of this slot is being changed.
    case taken
  }

  private var root = Node()
  /// The number of entries.
  private(set) var count = 0

  /// The value of a key; setting nil removes its entry. O(log n).
  subscript(key: UInt64) -> Value? {
    get {
      var node = root
      var shift: UInt64 = 0
      while true {
        let bit = Self.bit(key, shift)
        guard node.present & bit != 0 else { return nil }
        switch node.slots[node.position(of: bit)] {
        case .entry(let known, let value): return known == key ? value : nil
        case .node(let child): node = child
        case .taken: return nil
        }
        shift += Self.digitBitCount
      }
    }
    set {
      if let newValue {
        if Self.insert(key, newValue, into: &root, shift: 0) { count += 1 }
      } else if self[key] != nil {
        Self.remove(key, from: &root, shift: 0)
        count -= 1
      }
    }
  }

  /// Calls `body` with every entry, in no order. O(n).
  func forEach(_ body: (UInt64, Value) -> Void) { Self.forEach(in: root, body) }

  private static func forEach(in node: Node, _ body: (UInt64, Value) -> Void) {
    for slot in node.slots {
      switch slot {
      case .entry(let key, let value): body(key, value)
      case .node(let child): forEach(in: child, body)
      case .taken: break
      }
    }
  }

  private static var digitBitCount: UInt64 { 5 }

  /// The bit of the key's digit that begins `shift` bits from the lowest.
  private static func bit(_ key: UInt64, _ shift: UInt64) -> UInt32 {
    1 << UInt32(truncatingIfNeeded: key >> shift & 31)
  }

  private static func own(_ node: inout Node) {
    if isKnownUniquelyReferenced(&node) { return }
    node = Node(present: node.present, slots: node.slots)
  }

  /// - Returns: True if the key is new.
  private static func insert(
    _ key: UInt64, _ value: Value, into node: inout Node, shift: UInt64
  ) -> Bool {
    own(&node)
    let bit = bit(key, shift)
    let position = node.position(of: bit)
    guard node.present & bit != 0 else {
      node.present |= bit
      node.slots.insert(.entry(key, value), at: position)
      return true
    }
    var child: Node
    switch node.slots[position] {
    case .entry(key, _):
      node.slots[position] = .entry(key, value)
      return false
    case .entry(let known, let other):
      child = Node(
        present: Self.bit(known, shift + digitBitCount), slots: [.entry(known, other)])
    case .node(let known): child = known
    case .taken: child = Node()
    }
    node.slots[position] = .taken
    let isNew = insert(key, value, into: &child, shift: shift + digitBitCount)
    node.slots[position] = .node(child)
    return isNew
  }

  /// Removes an entry that must be present.
  private static func remove(_ key: UInt64, from node: inout Node, shift: UInt64) {
    own(&node)
    let bit = bit(key, shift)
    let position = node.position(of: bit)
    if case .node(var child) = node.slots[position] {
      node.slots[position] = .taken
      remove(key, from: &child, shift: shift + digitBitCount)
      if child.present != 0 {
        node.slots[position] = .node(child)
        return
      }
    }
    node.slots.remove(at: position)
    node.present &= ~bit
  }
}
