// Where a collection's rows come from. A store, a list in memory and a remote service look alike: children
// in a strict total order, read page by page, and listened to over a range.
//
// The contract of listening is what makes collections sound: whatever part of the order a listener begins to
// cover, it first states in full (`state`), and what it says afterwards is newer. So nothing that happens
// between reading a page and listening to it is missed, and nothing is asked for twice.

/// The value a child is ordered by. Kinds follow each other in the order of the cases; two values are equal if
/// neither stands before the other.
public enum OrderValue: Hashable, Comparable, Sendable {
  /// No value.
  case null
  /// False stands before true.
  case bool(Bool)
  /// NaN stands after every other number.
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

/// A child's place in its source's order: value first, then key. A cursor is one of these; it need not name a
/// child that is still there. Positions are equal if neither stands before the other.
public struct ChildPosition: Hashable, Comparable, Sendable {
  /// What it is ordered by first.
  public let order: OrderValue
  /// What tells it from others, and orders those of one value.
  public let key: String

  /// A place.
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

/// A child of a source: where it is and what was received of it.
public struct SourceChild<Data: Sendable & Equatable>: Sendable, Equatable {
  /// Where the child is.
  public let position: ChildPosition
  /// What was received of it.
  public let data: Data

  /// A child at a place.
  public init(_ data: Data, at position: ChildPosition) {
    self.position = position
    self.data = data
  }

  /// What tells children apart: those whose keys are equal, as Swift compares texts, are the same child.
  public var key: String { position.key }
}

/// A part of a source's order. Both ends belong to it; nil is no bound.
public struct PositionRange: Hashable, Sendable {
  /// The first position of the range; nil for the start of the order.
  public var first: ChildPosition?
  /// The last position of the range; nil for the end of the order.
  public var last: ChildPosition?

  /// From `first` through `last`.
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

  /// What a range has beyond another one that it contains: up to two parts, each with the end of the other
  /// one that it adjoins; all of it if there is no other.
  func parts(beyond other: PositionRange?) -> [PositionRange] {
    guard let other else { return [self] }
    var parts: [PositionRange] = []
    if first != other.first { parts.append(PositionRange(from: first, through: other.first)) }
    if last != other.last { parts.append(PositionRange(from: other.last, through: last)) }
    return parts
  }
}

/// Which way pages are read.
public enum LoadDirection: Hashable, Sendable {
  /// From the start of the order to its end.
  case forward
  /// From the end of the order to its start.
  case backward
}

/// A page asked for.
public struct PageRequest: Hashable, Sendable {
  /// Which way to read.
  public let direction: LoadDirection
  /// Read what lies beyond this position, which itself is left out; nil from the very end.
  public let cursor: ChildPosition?
  /// The most children to return; nil is no limit.
  public let limit: Int?

  /// A page of at most `limit` children beyond a position, or from the very end.
  public init(direction: LoadDirection, cursor: ChildPosition? = nil, limit: Int? = nil) {
    self.direction = direction
    self.cursor = cursor
    self.limit = limit
  }
}

/// A page: children in the order they were read in.
public struct SourcePage<Data: Sendable & Equatable>: Sendable {
  /// The children, in the order they were read in.
  public let children: [SourceChild<Data>]
  /// Whether there are children beyond the last one.
  public let hasMore: Bool

  /// A page of these children.
  public init(_ children: [SourceChild<Data>], hasMore: Bool) {
    self.children = children
    self.hasMore = hasMore
  }
}

/// What a listener says.
public enum SourceEvent<Data: Sendable & Equatable>: Sendable {
  /// All children of a range at this moment. Said of each part of the order when it is first covered.
  case state(PositionRange, [SourceChild<Data>])
  /// A child came into the range listened to, changed, or moved within it.
  case set(SourceChild<Data>)
  /// The child of this key went, or left the range.
  case removed(key: String)
  /// Nothing more will be said.
  case failed(any Error)
}

/// A listener at work.
public protocol SourceListener: Sendable {
  /// Also covers all of this range, which contains the one covered so far. A `state` of at least the part
  /// that is new follows.
  func extend(to range: PositionRange)
  /// Says nothing more. Calling it again does nothing.
  func cancel()
}

/// Children in a strict total order, to be read and listened to.
public protocol CollectionSource<Data>: Sendable {
  /// What is received of a child.
  associatedtype Data: Sendable & Equatable
  /// Reads a page. The task is cancelled when nobody wants it any more.
  func page(_ request: PageRequest) async throws -> SourcePage<Data>
  /// Listens to a range from now on. Events come one at a time, in the order they happened; also during
  /// this call.
  func listen(
    to range: PositionRange, _ receive: @escaping @Sendable (SourceEvent<Data>) -> Void
  ) -> any SourceListener
}
