// Firebase's data: a tree of null, truth values, numbers, texts and children by key. Each node may
// have a priority. A node without value and children is null, and null children do not exist.

/// A value that orders children: of a query's bounds, and of priorities.
public enum FirebaseScalar: Hashable, Sendable {
  /// No value.
  case null
  /// A truth value.
  case bool(Bool)
  /// A number.
  case number(Double)
  /// A text. Texts are equal if their bytes are.
  case text(String)

  public static func == (a: FirebaseScalar, b: FirebaseScalar) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.number(let a), .number(let b)): a == b
    case (.text(let a), .text(let b)): a.utf8.elementsEqual(b.utf8)
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let value): hasher.combine(value)
    case .text(let value): for byte in value.utf8 { hasher.combine(byte) }
    }
  }
}

extension FirebaseScalar: ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral
{
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(integerLiteral value: Int) { self = .number(Double(value)) }
  public init(stringLiteral value: String) { self = .text(value) }
  public init(nilLiteral: ()) { self = .null }
}

/// A node's value.
public enum FirebaseValue: Hashable, Sendable {
  /// A scalar; null if the node does not exist.
  case scalar(FirebaseScalar)
  /// Children by key; at least one.
  case children([FirebaseKey: FirebaseNode])
}

/// A node of the tree: its value and its priority.
public struct FirebaseNode: Hashable, Sendable {
  /// The value.
  public package(set) var value: FirebaseValue
  /// The priority; null if there is none. It is known only if the source's order is by priority.
  public package(set) var priority: FirebaseScalar

  package init(_ value: FirebaseValue, priority: FirebaseScalar = .null) {
    self.value = value
    self.priority = priority
    normalize()
  }

  /// The node of a location without data.
  package static let null = FirebaseNode(.scalar(.null))

  /// Whether the node exists.
  public var exists: Bool { value != .scalar(.null) }
  /// The text, if the value is one.
  public var text: String? {
    if case .scalar(.text(let text)) = value { text } else { nil }
  }
  /// The number, if the value is one.
  public var number: Double? {
    if case .scalar(.number(let number)) = value { number } else { nil }
  }
  /// The truth value, if the value is one.
  public var bool: Bool? {
    if case .scalar(.bool(let bool)) = value { bool } else { nil }
  }

  /// The children in key order; none for a scalar. O(n log n).
  public var children: [FirebaseChild] {
    unsortedChildren.sorted { $0.key < $1.key }
  }

  /// The children in any order; none for a scalar.
  package var unsortedChildren: [FirebaseChild] {
    guard case .children(let children) = value else { return [] }
    return children.map { FirebaseChild(key: $0.key, node: $0.value) }
  }

  /// The node at a path below, such as "name/first". One without data does not exist. O(path).
  public subscript(_ path: String) -> FirebaseNode {
    guard let path = try? FirebasePath(path), path.part == .node else { return .null }
    return node(at: path.keys)
  }

  package func node(at keys: some Sequence<FirebaseKey>) -> FirebaseNode {
    var node = self
    for key in keys {
      guard case .children(let children) = node.value, let child = children[key] else {
        return .null
      }
      node = child
    }
    return node
  }

  /// The child of a key; nil if it does not exist. O(1).
  package func child(_ key: FirebaseKey) -> FirebaseNode? {
    if case .children(let children) = value { children[key] } else { nil }
  }

  /// The children's keys; none for a scalar.
  package var keys: [FirebaseKey] {
    if case .children(let children) = value { Array(children.keys) } else { [] }
  }

  /// Without value there is no priority either.
  private mutating func normalize() {
    if case .children(let children) = value, children.isEmpty { value = .scalar(.null) }
    if !exists { priority = .null }
  }

  /// Replaces the part of the tree at a path. O(path).
  package mutating func replace(_ path: FirebasePath, by new: FirebaseNode) {
    replace(path.keys[...], path.part, by: new)
  }

  private mutating func replace(
    _ keys: ArraySlice<FirebaseKey>, _ part: FirebasePath.Part, by new: FirebaseNode
  ) {
    guard let key = keys.first else {
      switch part {
      case .node: self = new
      case .value: value = new.value
      case .priority:
        if case .scalar(let priority) = new.value { self.priority = priority }
      }
      return normalize()
    }
    var children: [FirebaseKey: FirebaseNode] = [:]
    var scalar: FirebaseValue?
    switch value {
    case .children(let present): children = present
    case .scalar: scalar = value
    }
    // The dictionary must have one reference, or the edit would copy it.
    value = .scalar(.null)
    children[key, default: .null].replace(keys.dropFirst(), part, by: new)
    if children[key]?.exists == false { children[key] = nil }
    // A null below a scalar changes nothing.
    value = children.isEmpty ? scalar ?? .scalar(.null) : .children(children)
    normalize()
  }
}

/// A child of a location: its key and its node.
public struct FirebaseChild: Hashable, Sendable {
  /// The key.
  public let key: FirebaseKey
  /// The node.
  public let node: FirebaseNode

  /// A child, as a source would give it.
  public init(key: FirebaseKey, node: FirebaseNode) {
    self.key = key
    self.node = node
  }
}
