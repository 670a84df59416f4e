// Definitions of group indexes in code. A closure returns the places of a row. The version is the
// author's promise that the closure has not changed.

internal import TreeRingLog

/// A named, ordered arrangement of a bucket's rows, defined by a closure.
///
///     let salesRank = GroupIndex("SalesRank", on: books, version: 1) { book in
///       Place(in: book.genre, by: .descending(book.sales), .ascending(book.title))
///     }
///
/// The closure returns nil, one `Place` or several. It must depend on nothing but the row, and must
/// not change the row: indexes over one bucket with the same coder share the decoded row.
public struct GroupIndex: Sendable {
  /// The index's name, unique in the store.
  public let name: String
  /// The version of the closure. Raise it when the closure changes; the index is then rebuilt.
  public let version: UInt32
  var code: CodeIndex

  init(_ name: String, version: UInt32, _ code: CodeIndex) {
    self.name = name
    self.version = version
    self.code = code
  }

  /// Defines an index by a closure over rows.
  public init<Row: SendableMetatype, Places: PlaceSet>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    places: @escaping @Sendable (Row) throws -> Places
  ) {
    self.init(name, on: bucket, version: version, entries: { try places($0.row) })
  }

  /// Defines an index by a closure of several statements that returns a place or nil.
  @_disfavoredOverload
  public init<Row: SendableMetatype>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    places: @escaping @Sendable (Row) throws -> Place?
  ) {
    self.init(name, on: bucket, version: version, entries: { try places($0.row) })
  }

  /// Defines an index by a closure of several statements that uses key and metadata, and returns a
  /// place or nil.
  @_disfavoredOverload
  public init<Row: SendableMetatype>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    entries places: @escaping @Sendable (IndexedRow<Row>) throws -> Place?
  ) {
    self.init(name, on: bucket, version: version, entries: { try places($0)?.places ?? [] })
  }

  /// Defines an index by a closure that also uses key and metadata. For a trailing closure the
  /// compiler chooses the variant by the members that the closure uses. Write the argument label
  /// where these do not decide.
  @_disfavoredOverload
  public init<Row: SendableMetatype, Places: PlaceSet>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    entries places: @escaping @Sendable (IndexedRow<Row>) throws -> Places
  ) {
    self.name = name
    self.version = version
    let coder = bucket.coder
    let closure = CodeIndex.Closure.places { input in
      let record = input.record
      let context = SortKeyContext(created: record.created, modified: record.written)
      return try places(try input.row(by: coder)).places.map { place in
        try place.group.check()
        return EncodedPlace(group: place.group, sortKey: place.sortKey(context: context))
      }
    }
    code = CodeIndex(name: name, version: version, buckets: [bucket.name], closure: closure)
  }

  /// Defines an index by a closure for the groups of a row and a closure that compares two rows,
  /// for orders that no sort key expresses. Prefer `Place` where a sort key does: then writing a
  /// row reads no other rows.
  ///
  ///     let byTitle = GroupIndex(
  ///       "ByTitle", on: books, version: 1, groupedBy: { $0.genre },
  ///       sortedBy: { $0.title.localizedStandardCompare($1.title) == .orderedAscending })
  ///
  /// Writing a row places it by binary search, O(log² n). A row that is still in order with its
  /// neighbours keeps its place. Building the index holds its decoded rows in memory.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - bucket: The bucket of its rows.
  ///   - version: The version of the closures. Raise it when a closure changes.
  ///   - groups: Returns the groups of a row: none, one or several.
  ///   - areInIncreasingOrder: Returns whether the first row comes before the second; a strict weak
  ///     order. Rows of which neither comes before the other are ordered by bucket and key.
  public init<Row: SendableMetatype, Groups: GroupSet>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    groupedBy groups: @escaping @Sendable (Row) throws -> Groups,
    sortedBy areInIncreasingOrder: @escaping @Sendable (Row, Row) -> Bool
  ) {
    self.init(
      name, on: bucket, version: version,
      groupedBy: { (row: IndexedRow<Row>) in try groups(row.row) },
      sortedBy: { areInIncreasingOrder($0.row, $1.row) })
  }

  /// Defines such an index by closures that also use key and metadata. Write the type of their
  /// arguments, `IndexedRow`, where their bodies do not determine it.
  @_disfavoredOverload
  public init<Row: SendableMetatype, Groups: GroupSet>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    groupedBy groups: @escaping @Sendable (IndexedRow<Row>) throws -> Groups,
    sortedBy areInIncreasingOrder: @escaping @Sendable (IndexedRow<Row>, IndexedRow<Row>) -> Bool
  ) {
    self.name = name
    self.version = version
    let coder = bucket.coder
    let comparison = RowComparison(
      groups: { input in
        let groups = try groups(try input.row(by: coder)).groups
        for group in groups { try group.check() }
        return groups
      },
      decode: { try $0.row(by: coder) },
      precedes: { first, second in
        guard let first = first as? IndexedRow<Row>, let second = second as? IndexedRow<Row> else {
          return false
        }
        return areInIncreasingOrder(first, second)
      })
    code = CodeIndex(
      name: name, version: version, buckets: [bucket.name], closure: .compared(comparison))
  }

  /// Defines an index with the groups and the order of another one, and only those of its rows that
  /// fit. The other index may be of any kind, even a filter.
  ///
  ///     let bestsellers = GroupIndex(
  ///       "Bestsellers", filtering: "SalesRank", on: books, version: 1
  ///     ) { $0.row.sales > 100_000 }
  ///
  /// The filter is adapted when the other index is redefined, and removed with it. Registering it
  /// with another version replaces it; observers then report the rows that enter or leave.
  public init<Row: SendableMetatype>(
    _ name: String, filtering parent: String, on bucket: Bucket<Row>, version: UInt32,
    where fits: @escaping @Sendable (IndexedRow<Row>) throws -> Bool
  ) {
    self.name = name
    self.version = version
    let coder = bucket.coder
    let closure = CodeIndex.Closure.filter(of: parent) { input in
      try fits(try input.row(by: coder))
    }
    code = CodeIndex(name: name, version: version, buckets: [bucket.name], closure: closure)
  }
}

extension GroupIndex {
  /// Whether each group may hold one row only; see ``unique()``.
  public var isUnique: Bool { code.isUnique }

  /// Returns the same index as a rule: each group holds at most one row.
  ///
  ///     let byEmail = GroupIndex("ByEmail", on: members, version: 1) { member in
  ///       Place(in: member.email.lowercased())
  ///     }.unique()
  ///
  /// A commit after which two rows share a group throws `notUnique`, see ``FieldIndex/unique()``. A
  /// process that has not registered the closure can put no rows into the bucket; it throws
  /// `indexDefinedInCode`.
  public func unique() -> GroupIndex {
    var unique = self
    unique.code.isUnique = true
    return unique
  }
}

/// A row as passed to a group index's closure.
public struct IndexedRow<Row> {
  /// The row, decoded.
  public let row: Row
  /// Its key.
  public let key: Key
  /// Its metadata, if it has any.
  public let metadata: [UInt8]?
}

/// A return value of a group index's closure: nothing, one place, or several.
public protocol PlaceSet: SendableMetatype {
  /// The places, in any order; the first of several in one group counts.
  var places: [Place] { get }
}

/// A return value of the grouping closure of an index that compares rows: no group, one, or
/// several.
public protocol GroupSet: SendableMetatype {
  /// The groups, in any order.
  var groups: [GroupName] { get }
}

extension GroupName: GroupSet {
  public var groups: [GroupName] { [self] }
}

extension String: GroupSet {
  public var groups: [GroupName] { [GroupName(self)] }
}

extension Optional: GroupSet where Wrapped: GroupSet {
  public var groups: [GroupName] { self?.groups ?? [] }
}

extension Array: GroupSet where Element: GroupSet {
  public var groups: [GroupName] { flatMap(\.groups) }
}

extension Place: PlaceSet {
  public var places: [Place] { [self] }
}

extension Optional: PlaceSet where Wrapped: PlaceSet {
  public var places: [Place] { self?.places ?? [] }
}

extension Array: PlaceSet where Element == Place {
  public var places: [Place] { self }
}
