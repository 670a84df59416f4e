// Definitions of group indexes in code: a closure says in which groups a row stands and in what
// order. The version is the promise that the closure has not changed.

internal import TreeRingLog

/// A named, ordered arrangement of a bucket's rows, defined by a closure.
///
///     let salesRank = GroupIndex("SalesRank", on: books, version: 1) { book in
///       Place(in: book.genre, by: .descending(book.sales), .ascending(book.title))
///     }
///
/// The closure returns nil, one `Place` or several. It must depend on nothing but the row.
public struct GroupIndex: Sendable {
  /// The index's name, unique in the store.
  public let name: String
  /// The version of the closure. Raise it when the closure changes; the index is then rebuilt.
  public let version: UInt32
  let code: CodeIndex

  /// Defines an index by a closure over rows.
  public init<Row: SendableMetatype, Places: PlaceSet>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    places: @escaping @Sendable (Row) throws -> Places
  ) {
    self.init(name, on: bucket, version: version, entries: { try places($0.row) })
  }

  /// Defines an index by a closure that also looks at key and metadata. Written as a trailing
  /// closure it is told apart by what the closure uses; name the argument if that says nothing.
  @_disfavoredOverload
  public init<Row: SendableMetatype, Places: PlaceSet>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    entries places: @escaping @Sendable (IndexedRow<Row>) throws -> Places
  ) {
    self.name = name
    self.version = version
    let decode = bucket.coder.decode
    let closure = CodeIndex.Closure.places { input in
      let context = input.sortContext
      return try places(IndexedRow(input, decode)).places.map { place in
        try place.group.check()
        return EncodedPlace(group: place.group, sortKey: place.sortKey(context: context))
      }
    }
    code = CodeIndex(name: name, version: version, buckets: [bucket.name], closure: closure)
  }

  /// Defines an index by the groups that rows are in and a closure that compares two rows, for orders
  /// that no sort keys express. Prefer `Place` where they do: a row that is written is then placed without
  /// reading others.
  ///
  ///     let byTitle = GroupIndex(
  ///       "ByTitle", on: books, version: 1, groupedBy: { $0.genre },
  ///       sortedBy: { $0.title.localizedStandardCompare($1.title) == .orderedAscending })
  ///
  /// A row that is written is placed by binary search, O(log² n), and stays where it is while it is in
  /// order with its neighbours. Building the index holds its rows decoded in memory.
  ///
  /// - Parameters:
  ///   - name: The index's name.
  ///   - bucket: The rows it is over.
  ///   - version: Another one says that the closures have changed.
  ///   - groups: The group of a row, none or several.
  ///   - areInIncreasingOrder: Whether the first row comes before the second; a strict weak order. Rows
  ///     of which neither comes before the other are ordered by bucket and key.
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

  /// The same with closures that also look at key and metadata. Name the type of their arguments,
  /// `IndexedRow`, if what they use does not tell.
  @_disfavoredOverload
  public init<Row: SendableMetatype, Groups: GroupSet>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32,
    groupedBy groups: @escaping @Sendable (IndexedRow<Row>) throws -> Groups,
    sortedBy areInIncreasingOrder: @escaping @Sendable (IndexedRow<Row>, IndexedRow<Row>) -> Bool
  ) {
    self.name = name
    self.version = version
    let decode = bucket.coder.decode
    let comparison = RowComparison(
      groups: { input in
        let groups = try groups(IndexedRow(input, decode)).groups
        for group in groups { try group.check() }
        return groups
      },
      decode: { try IndexedRow($0, decode) },
      precedes: { first, second in
        guard let first = first as? IndexedRow<Row>, let second = second as? IndexedRow<Row> else {
          return false
        }
        return areInIncreasingOrder(first, second)
      })
    code = CodeIndex(
      name: name, version: version, buckets: [bucket.name], closure: .compared(comparison))
  }

  /// Defines an index that has the groups and the order of another one, and only those of its rows
  /// that fit. The other index may be defined in any way, also by a filter.
  ///
  ///     let bestsellers = GroupIndex(
  ///       "Bestsellers", filtering: "SalesRank", on: books, version: 1
  ///     ) { $0.row.sales > 100_000 }
  ///
  /// It follows when the other index is defined anew, and is removed with it. Registering it with
  /// another version replaces the filter; observers then see the rows that enter or leave.
  public init<Row: SendableMetatype>(
    _ name: String, filtering parent: String, on bucket: Bucket<Row>, version: UInt32,
    where fits: @escaping @Sendable (IndexedRow<Row>) throws -> Bool
  ) {
    self.name = name
    self.version = version
    let decode = bucket.coder.decode
    let closure = CodeIndex.Closure.filter(of: parent) { input in
      try fits(IndexedRow(input, decode))
    }
    code = CodeIndex(name: name, version: version, buckets: [bucket.name], closure: closure)
  }
}

/// A row as a group index's closure sees it.
public struct IndexedRow<Row> {
  /// The row, decoded.
  public let row: Row
  /// Its key.
  public let key: Key
  /// Its metadata, if it has any.
  public let metadata: [UInt8]?

  init(
    _ input: RowInput, _ decode: (UnsafeRawBufferPointer, UInt32) throws -> Row
  ) rethrows {
    row = try decode(input.object, input.coder)
    key = Key(bytes: input.key)
    metadata = input.metadata.map { Array($0) }
  }
}

/// What a group index's closure may return: nothing, one place, or several.
public protocol PlaceSet: SendableMetatype {
  /// The places, in any order; of several in one group the first counts.
  var places: [Place] { get }
}

/// What the grouping closure of an index that compares rows may return: no group, one, or several.
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
