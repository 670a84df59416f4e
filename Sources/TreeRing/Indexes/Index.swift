// Handles of indexes with the types of their rows, groups and sort values. A handle is made from a
// declaration in code, which it then is, or names an index that is defined elsewhere.

internal import TreeRingLog

/// An index declared in code, or a handle that may contain such a declaration.
public protocol IndexDeclaration: Sendable {
  /// The definition in code; nil if the index is defined elsewhere.
  var groupIndex: GroupIndex? { get }
}

extension GroupIndex: IndexDeclaration {
  public var groupIndex: GroupIndex? { self }
}

/// A group index with the types of its rows, of its groups, and of the value that orders the rows
/// of a group first.
///
///     let salesRank = Index(
///       "SalesRank", on: books, version: 1, group: \.genre,
///       by: .descending(\.sales), .ascending(\.title))
///
/// `Store(at:indexes:)` and `register` take it, as they take a ``GroupIndex``. Snapshots and
/// transactions read it with decoded rows:
///
///     let rank = try snapshot[salesRank]
///     let popular = try rank.rows(in: .fantasy, where: .between(10...))  // Ubik, Dune
///
/// For an index that is defined elsewhere, by fields or by a ``GroupIndex``, the handle names it
/// and states the types. They are compared with the definition as far as the store knows it.
///
///     let byAuthor = Index(
///       named: "ByAuthor", on: books, group: String.self, by: .ascending(String.self))
public struct Index<Row: SendableMetatype, Group: KeyConvertible, Sort: SortValue>: Sendable {
  /// The index's name, unique in the store.
  public let name: String
  /// The bucket of its rows.
  public let bucket: Bucket<Row>
  /// The definition in code; nil if the handle names an index that is defined elsewhere.
  public let groupIndex: GroupIndex?
  /// The order of the sort values; nil if the rows have none that the caller gives.
  let order: ValueOrder<Sort>?
  /// The order of the sort values after the first, as far as the handle declares it.
  var rest: [NextOrder] = []
  /// Whether its groups are named in code and not by a field, as far as the handle states it.
  let isInCode: Bool

  /// Creates the handle of a definition in code.
  init(
    declaring index: GroupIndex, on bucket: Bucket<Row>, order: ValueOrder<Sort>?,
    rest: [NextOrder]
  ) {
    self.rest = rest
    name = index.name
    self.bucket = bucket
    self.order = order
    groupIndex = index
    isInCode = true
  }

  private init(
    _ name: String, on bucket: Bucket<Row>, version: UInt32, order: ValueOrder<Sort>?,
    groups: @escaping @Sendable (Row) throws -> [Group],
    items: [@Sendable (Row) throws -> SortItem]
  ) {
    self.name = name
    self.bucket = bucket
    self.order = order
    isInCode = true
    groupIndex = GroupIndex(name, on: bucket, version: version) { (row: Row) -> [Place] in
      let items = try items.map { try $0(row) }
      return try groups(row).map { Place(in: GroupName(bytes: $0.keyBytes), by: items) }
    }
  }

  /// Declares an index by key paths or closures.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - bucket: The bucket of its rows.
  ///   - version: The version of the declaration. Raise it when a closure or the order changes; the
  ///     index is then rebuilt.
  ///   - group: Returns a row's group; nil for a row that is not in the index.
  ///   - first: The value that orders the rows of a group first.
  ///   - rest: The values that order rows that are equal in it, the most significant first.
  public init<each Rest: SortValue>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    group: @escaping @Sendable (Row) throws -> Group?,
    by first: RowOrder<Row, Sort>, _ rest: repeat RowOrder<Row, each Rest>
  ) {
    var items = [first.item]
    var orders: [NextOrder] = []
    for order in repeat each rest {
      items.append(order.item)
      orders.append(order.next)
    }
    self.init(
      name, on: bucket, version: version, order: first.values,
      groups: { row in try group(row).map { [$0] } ?? [] }, items: items)
    self.rest = orders
  }

  /// Declares an index whose rows are in several groups; otherwise as the index with one.
  public init<each Rest: SortValue>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    groups: @escaping @Sendable (Row) throws -> [Group],
    by first: RowOrder<Row, Sort>, _ rest: repeat RowOrder<Row, each Rest>
  ) {
    var items = [first.item]
    var orders: [NextOrder] = []
    for order in repeat each rest {
      items.append(order.item)
      orders.append(order.next)
    }
    self.init(
      name, on: bucket, version: version, order: first.values, groups: groups, items: items)
    self.rest = orders
  }

  /// Names an index that is defined elsewhere, and states the types of its groups and of the value
  /// that orders its rows first.
  ///
  /// Not for an index whose closure compares rows, which have no sort values.
  /// - Parameters:
  ///   - name: The index's name.
  ///   - bucket: The bucket of its rows.
  ///   - group: The type of its groups.
  ///   - order: The order of the value that orders the rows of a group first.
  ///   - isInCode: Whether its groups are named in code, by a closure or by hand, and not by a
  ///     field. It decides on the names of groups that are dates or data; see `GroupName(field:)`.
  public init(
    named name: String, on bucket: Bucket<Row>, group: Group.Type, by order: ValueOrder<Sort>,
    isInCode: Bool = false
  ) {
    self.name = name
    self.bucket = bucket
    self.order = order
    self.isInCode = isInCode
    groupIndex = nil
  }
}

extension Index: IndexDeclaration {}

extension Index where Sort == Never {
  /// Declares an index whose rows are in key order in their group.
  public init(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    group: @escaping @Sendable (Row) throws -> Group?
  ) {
    self.init(
      name, on: bucket, version: version, order: nil,
      groups: { row in try group(row).map { [$0] } ?? [] }, items: [])
  }

  /// Declares an index whose rows are in several groups, in key order in each.
  public init(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    groups: @escaping @Sendable (Row) throws -> [Group]
  ) {
    self.init(name, on: bucket, version: version, order: nil, groups: groups, items: [])
  }

  /// Names an index that is defined elsewhere, of any kind and order.
  public init(
    named name: String, on bucket: Bucket<Row>, group: Group.Type, isInCode: Bool = false
  ) {
    self.name = name
    self.bucket = bucket
    self.isInCode = isInCode
    order = nil
    groupIndex = nil
  }
}

/// A unique index with the types of its rows and of the value that only one row can have.
///
///     let byTitle = UniqueIndex("ByTitle", on: books, version: 1, of: \.title)
///     …
///     let emma = try snapshot[byTitle].row("Emma")
///
/// A commit after which two rows have one value throws `notUnique`.
public struct UniqueIndex<Row: SendableMetatype, Value: KeyConvertible>: IndexDeclaration {
  let index: Index<Row, Value, Never>
  /// The definition in code; nil if the handle names an index that is defined elsewhere.
  public let groupIndex: GroupIndex?

  /// The index's name, unique in the store.
  public var name: String { index.name }

  /// Declares a unique index by a key path or closure. A row for which it returns nil is not in the
  /// index.
  public init(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    of value: @escaping @Sendable (Row) throws -> Value?
  ) {
    index = Index(name, on: bucket, version: version, group: value)
    groupIndex = index.groupIndex?.unique()
  }

  /// Names a unique index that is defined elsewhere; `isInCode` as for ``Index``.
  public init(
    named name: String, on bucket: Bucket<Row>, of value: Value.Type, isInCode: Bool = false
  ) {
    index = Index(named: name, on: bucket, group: value, isInCode: isInCode)
    groupIndex = nil
  }
}
