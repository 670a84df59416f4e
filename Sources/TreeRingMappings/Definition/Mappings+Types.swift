// Mappings by typed handles of indexes, and by the values that name groups.

public import TreeRing

extension Mappings {
  /// Shows the groups of these values, in their order, each as a section. Otherwise like the
  /// initialiser with names.
  @_disfavoredOverload
  public init(of index: String, groups: [some KeyConvertible]) {
    self.init(of: index, groups: groups.map { GroupName($0) })
  }

  /// Shows these groups of a typed index. Otherwise like the initialiser with names. Settings of
  /// single groups that are dates or data take their names, `index.groupName(of:)`.
  ///
  /// ```swift
  /// let shelves = Mappings(of: salesRank, groups: [.fantasy, .crime])
  ///   .range(.fixed(length: 20), of: Genre.crime)
  /// ```
  public init<Row, Group, Sort>(of index: Index<Row, Group, Sort>, groups: [Group]) {
    self.init(of: index.name, groups: groups.map { index.groupName(of: $0) })
  }

  /// Shows the groups of a typed index that pass a filter. Otherwise like the initialiser with the
  /// index's name.
  public init<Row, Group, Sort>(
    of index: Index<Row, Group, Sort>,
    groupsWhere isIncluded: @escaping @Sendable (GroupSummary) -> Bool,
    orderedBy order: @escaping @Sendable (GroupSummary) -> [SortItem] = { _ in [] }
  ) {
    self.init(of: index.name, groupsWhere: isIncluded, orderedBy: order)
  }
}
