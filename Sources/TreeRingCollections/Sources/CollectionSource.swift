// The source of a collection's rows. A store, a list in memory and a remote service have the same
// interface: children in a strict total order, readable page by page, with listeners on ranges.
//
// The soundness of collections rests on the contract of listeners. When a listener begins to cover
// a part of the order, it first sends the full state of that part (`state`); later events are
// newer. So no change between reading a page and listening to it is lost, and no part is requested
// twice.

/// The value that orders a child. Kinds are ordered like the cases; two values are equal if neither
/// precedes the other.
public enum OrderValue: Hashable, Comparable, Sendable {
  /// No value.
  case null
  /// False precedes true.
  case bool(Bool)
  /// NaN follows every other number.
  case number(Double)
  /// Compared by Unicode scalars: texts that only look the same differ.
  case text(String)
  /// Compared byte by byte.
  case bytes([UInt8])

  private var rank: Int {
    switch self {
    case .null: 0
    case .bool: 1
    case .number: 2
    case .text: 3
    case .bytes: 4
    }
  }

  public static func < (a: OrderValue, b: OrderValue) -> Bool {
    switch (a, b) {
    case (.bool(let a), .bool(let b)): !a && b
    case (.number(let a), .number(let b)): a.isNaN ? false : b.isNaN || a < b
    case (.text(let a), .text(let b)): a.unicodeScalars.lexicographicallyPrecedes(b.unicodeScalars)
    case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
    default: a.rank < b.rank
    }
  }

  public static func == (a: OrderValue, b: OrderValue) -> Bool { !(a < b) && !(b < a) }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(rank)
    switch self {
    case .null: break
    case .bool(let value): hasher.combine(value)
    case .number(let value): hasher.combine(value.isNaN ? .nan : value)
    case .text(let value): for byte in value.utf8 { hasher.combine(byte) }
    case .bytes(let value): hasher.combine(value)
    }
  }
}

/// A child's position in its source's order: value first, then key. A cursor is a position; its
/// child may no longer exist. Positions are equal if neither precedes the other.
public struct ChildPosition: Hashable, Comparable, Sendable {
  /// The primary value of the order.
  public let order: OrderValue
  /// The child's key, which orders children of equal value.
  public let key: String

  /// A position.
  public init(order: OrderValue, key: String) {
    self.order = order
    self.key = key
  }

  public static func < (a: ChildPosition, b: ChildPosition) -> Bool {
    if a.order < b.order { return true }
    if b.order < a.order { return false }
    return a.key.utf8.lexicographicallyPrecedes(b.key.utf8)
  }

  public static func == (a: ChildPosition, b: ChildPosition) -> Bool { !(a < b) && !(b < a) }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(order)
    for byte in key.utf8 { hasher.combine(byte) }
  }
}

/// A child of a source: its position and the data received.
public struct SourceChild<Data: Sendable & Equatable>: Sendable, Equatable {
  /// The child's position.
  public let position: ChildPosition
  /// The data received.
  public let data: Data

  /// A child at a position.
  public init(_ data: Data, at position: ChildPosition) {
    self.position = position
    self.data = data
  }

  /// The identity of the child: children with keys equal by Swift's text comparison are the same
  /// child.
  public var key: String { position.key }
}

/// A part of a source's order, both ends included; nil is unbounded.
public struct PositionRange: Hashable, Sendable {
  /// The first position of the range; nil for the start of the order.
  public var first: ChildPosition?
  /// The last position of the range; nil for the end of the order.
  public var last: ChildPosition?

  /// The range from `first` through `last`.
  public init(from first: ChildPosition? = nil, through last: ChildPosition? = nil) {
    self.first = first
    self.last = last
  }

  /// Whether a position is in the range.
  public func contains(_ position: ChildPosition) -> Bool {
    if let first, position < first { return false }
    if let last, last < position { return false }
    return true
  }

  /// The parts of this range beyond another one that it contains. There are up to two, each
  /// including the adjoining end of the other range; the whole range if there is no other.
  func parts(beyond other: PositionRange?) -> [PositionRange] {
    guard let other else { return [self] }
    var parts: [PositionRange] = []
    if first != other.first { parts.append(PositionRange(from: first, through: other.first)) }
    if last != other.last { parts.append(PositionRange(from: other.last, through: last)) }
    return parts
  }
}

/// The direction in which pages are read.
public enum LoadDirection: Hashable, Sendable {
  /// From the start of the order to its end.
  case forward
  /// From the end of the order to its start.
  case backward
}

/// The request for a page.
public struct PageRequest: Hashable, Sendable {
  /// The direction to read in.
  public let direction: LoadDirection
  /// The position to read beyond, itself excluded; nil for the very end of the order.
  public let cursor: ChildPosition?
  /// The most children to return; nil for no limit.
  public let limit: Int?

  /// A page of at most `limit` children beyond a position, or from the very end.
  public init(direction: LoadDirection, cursor: ChildPosition? = nil, limit: Int? = nil) {
    self.direction = direction
    self.cursor = cursor
    self.limit = limit
  }
}

/// A page of children, in reading order.
public struct SourcePage<Data: Sendable & Equatable>: Sendable {
  /// The children, in reading order.
  public let children: [SourceChild<Data>]
  /// Whether there are children beyond the last one.
  public let hasMore: Bool

  /// A page of these children.
  public init(_ children: [SourceChild<Data>], hasMore: Bool) {
    self.children = children
    self.hasMore = hasMore
  }
}

/// An event of a listener.
public enum SourceEvent<Data: Sendable & Equatable>: Sendable {
  /// All children of a range at this moment; sent for each part of the order when it is first
  /// covered.
  case state(PositionRange, [SourceChild<Data>])
  /// A child entered the range, changed, or moved within it.
  case set(SourceChild<Data>)
  /// The child of this key was removed, or left the range.
  case removed(key: String)
  /// The listener failed; no event follows.
  case failed(any Error)
}

/// An active listener.
public protocol SourceListener: Sendable {
  /// Extends the listener to this range, which contains the range covered so far. A `state` of at
  /// least the new part follows.
  func extend(to range: PositionRange)
  /// Stops all events. Repeated calls have no effect.
  func cancel()
}

/// Children in a strict total order, with pages and listeners.
public protocol CollectionSource<Data>: Sendable {
  /// The data of a child.
  associatedtype Data: Sendable & Equatable
  /// Reads a page. The task is cancelled when the page is no longer needed.
  func page(_ request: PageRequest) async throws -> SourcePage<Data>
  /// Listens to a range from now on. Events come one at a time, in order; some may come during this
  /// call.
  func listen(
    to range: PositionRange, _ receive: @escaping @Sendable (SourceEvent<Data>) -> Void
  ) -> any SourceListener
}
