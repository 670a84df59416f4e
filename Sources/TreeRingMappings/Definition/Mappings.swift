// Mappings: the choice, the order and the ranges of the groups shown. A pure value: nothing is read
// from a store until an observer or a state uses it.

public import TreeRing

/// Groups of a group index, shown as sections.
///
/// Each call returns a changed copy, so calls chain:
/// ```swift
/// let boards = Mappings(of: "departures", groups: ["EWR", "JFK", "LGA"])
///   .hidingEmptySections()
///   .range(.fixed(length: 20), of: "JFK")
///   .reversed("LGA")
/// ```
public struct Mappings: Hashable, Sendable {
  /// The name of the group index.
  public let index: String
  /// The mapped groups in section order, each once; nil if a filter and an order choose them.
  public let groups: [GroupName]?
  /// Whether a group without a setting of its own is a section only while it shows a row.
  public private(set) var hidesEmptySections = false
  /// The range of groups without a setting of their own; nil shows whole groups.
  public private(set) var defaultRange: RangeOptions?
  /// The condition for showing all groups as one section; nil for never.
  public private(set) var consolidation: Consolidation?

  /// The rule that shows all groups as one section while they have few rows.
  public struct Consolidation: Hashable, Sendable {
    /// The section's name. The rule is off while a mapped group has this name.
    public let name: GroupName
    /// The number of rows from which each group has its own section. Below it, counted over all
    /// groups, the groups are consolidated.
    public let threshold: Int
  }

  /// The filter and the order that choose the groups; nil for a given list.
  let choice: GroupChoice?
  /// Settings of single groups. Settings of unmapped groups are kept, so they apply again once the
  /// group is mapped.
  private var options: [GroupName: GroupOptions] = [:]

  /// Shows these groups of an index, each as a section, whole and in the index's order.
  ///
  /// - Parameters:
  ///   - index: The name of the group index.
  ///   - groups: The groups in section order; a repeated name counts once. A group that does not
  ///     exist is an empty section.
  public init(of index: String, groups: [GroupName]) {
    self.index = index
    var seen: Set<GroupName> = []
    self.groups = groups.filter { seen.insert($0).inserted }
    choice = nil
  }

  /// Shows the groups of an index that pass a filter, in a computed order, as of the commit shown.
  ///
  /// A group is evaluated again when its rows change or a commit writes one of them. Filter and
  /// order must depend on the summary alone.
  /// ```swift
  /// Mappings(of: "chats", groupsWhere: { $0.count > 1 }, orderedBy: { group in
  ///   [.descending(group.last(in: messages)?.date, nils: .last)]
  /// })
  /// ```
  /// - Parameters:
  ///   - index: The name of the group index.
  ///   - isIncluded: Whether a group is mapped. The group has at least one row.
  ///   - order: The sort items of a group, most significant first; the name breaks ties.
  public init(
    of index: String,
    groupsWhere isIncluded: @escaping @Sendable (GroupSummary) -> Bool,
    orderedBy order: @escaping @Sendable (GroupSummary) -> [SortItem] = { _ in [] }
  ) {
    self.index = index
    groups = nil
    choice = GroupChoice(where: isIncluded, order: order)
  }

  /// Shows every group as a section only while its range shows a row. Overrides the settings of
  /// single groups.
  public func hidingEmptySections(_ hides: Bool = true) -> Mappings {
    var copy = self
    copy.hidesEmptySections = hides
    for group in copy.options.keys { copy.options[group]?.hidesWhenEmpty = nil }
    return copy
  }

  /// Shows one group as a section only while its range shows a row.
  public func hidingEmptySection(
    of group: some KeyConvertible, _ hides: Bool = true
  ) -> Mappings {
    changing(GroupName(group)) { $0.hidesWhenEmpty = hides }
  }

  /// Shows only a range of each group's rows; nil shows them all. Overrides the settings of single
  /// groups.
  public func range(_ range: RangeOptions?) -> Mappings {
    var copy = self
    copy.defaultRange = range
    for group in copy.options.keys { copy.options[group]?.range = nil }
    return copy
  }

  /// Shows only a range of a group's rows; nil shows them all. The range counts in display order,
  /// so it means the same before and after ``reversed(_:_:)``.
  public func range(_ range: RangeOptions?, of group: some KeyConvertible) -> Mappings {
    changing(GroupName(group)) { $0.range = .some(range) }
  }

  /// Shows a group's rows last to first. On a list already shown, this restarts the group's range.
  public func reversed(_ group: some KeyConvertible, _ isReversed: Bool = true) -> Mappings {
    changing(GroupName(group)) { $0.isReversed = isReversed }
  }

  /// Shows all groups as one section of this name while they show fewer rows than a threshold. The
  /// section exists even without rows.
  ///
  /// - Parameters:
  ///   - threshold: The number of rows from which each group has its own section; not negative.
  ///   - name: The section's name. While a mapped group has this name, nothing is consolidated.
  public func consolidated(below threshold: Int, as name: some KeyConvertible) -> Mappings {
    precondition(threshold >= 0, "a number of rows is not negative")
    var copy = self
    copy.consolidation = Consolidation(name: GroupName(name), threshold: threshold)
    return copy
  }

  /// Always shows each group as a section of its own.
  public func neverConsolidated() -> Mappings {
    var copy = self
    copy.consolidation = nil
    return copy
  }

  /// Declares that each row of a group is drawn with the rows at these distances from it: -1 is the
  /// row above. Distances count in the display order of the whole group. A row gets the part
  /// `dependency` when a row it is drawn with changes, comes or goes.
  ///
  /// - Parameters:
  ///   - offsets: The distances; 0 is ignored, and an empty set turns the feature off.
  ///   - group: The group.
  public func drawn(
    withNeighborsAt offsets: Set<Int>, in group: some KeyConvertible
  ) -> Mappings {
    changing(GroupName(group)) { $0.neighbors = offsets.subtracting([0, .min]).sorted() }
  }

  /// The range of a group; nil if all its rows are shown.
  public func range(of group: some KeyConvertible) -> RangeOptions? {
    options[GroupName(group)]?.range ?? defaultRange
  }
  /// Whether a group's rows are shown last to first.
  public func isReversed(_ group: some KeyConvertible) -> Bool {
    options[GroupName(group)]?.isReversed ?? false
  }
  /// Whether a group is a section only while it shows a row.
  public func hidesEmptySection(of group: some KeyConvertible) -> Bool {
    options[GroupName(group)]?.hidesWhenEmpty ?? hidesEmptySections
  }
  /// The distances of the rows that a group's rows are drawn with, ascending.
  public func neighbors(of group: some KeyConvertible) -> [Int] {
    options[GroupName(group)]?.neighbors ?? []
  }

  /// Whether any group's rows are drawn with others.
  var hasNeighbors: Bool { options.values.contains { !$0.neighbors.isEmpty } }

  /// The groups with a flexible range of their own, in name order. Their windows are carried even
  /// while the groups are not mapped.
  var carriedGroups: [GroupName] {
    options.filter { $0.value.range??.isFlexible ?? false }.keys.sorted()
  }

  private func changing(_ group: GroupName, _ change: (inout GroupOptions) -> Void) -> Mappings {
    var copy = self
    change(&copy.options[group, default: GroupOptions()])
    return copy
  }
}

extension Mappings {
  public static func == (a: Mappings, b: Mappings) -> Bool {
    a.index.isSameName(as: b.index) && a.groups == b.groups
      && a.hidesEmptySections == b.hidesEmptySections && a.defaultRange == b.defaultRange
      && a.consolidation == b.consolidation && a.choice == b.choice && a.options == b.options
  }
  public func hash(into hasher: inout Hasher) {
    index.hashName(into: &hasher)
    hasher.combine(groups)
    hasher.combine(choice)
    hasher.combine(options)
  }
}

extension GroupChoice: Hashable {
  static func == (a: GroupChoice, b: GroupChoice) -> Bool { a === b }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The settings of one group.
private struct GroupOptions: Hashable, Sendable {
  /// Nil: the setting for all groups applies.
  var hidesWhenEmpty: Bool?
  /// Nil: the setting for all groups applies; an inner nil: the whole group.
  var range: RangeOptions??
  var isReversed = false
  var neighbors: [Int] = []
}
