// Which groups of a group index are shown, in which order, and how: the question that a changeset
// answers. A pure value: nothing is read from a store until an observer or a state uses it.

public import TreeRing

/// Groups of a group index, shown as sections.
///
/// Each call returns a changed copy, so that the whole reads as one sentence:
/// ```swift
/// let boards = Mappings(of: "departures", groups: ["EWR", "JFK", "LGA"])
///   .hidingEmptySections()
///   .range(.fixed(length: 20), of: "JFK")
///   .reversed("LGA")
/// ```
public struct Mappings: Hashable, Sendable {
  /// The name of the group index.
  public let index: String
  /// The mapped groups, in the order of their sections. Each group stands here once.
  public let groups: [GroupName]
  /// Whether a group without a setting of its own is a section only while it shows a row.
  public private(set) var hidesEmptySections = false

  /// Settings of single groups. They are kept for groups that are not mapped, so that a group finds
  /// them again when it is.
  private var options: [GroupName: GroupOptions] = [:]

  /// Shows these groups of an index, each as a section, whole and in the index's order.
  ///
  /// - Parameters:
  ///   - index: The name of the group index.
  ///   - groups: The groups in the order of their sections; a repeated name counts once. A group that
  ///     does not exist is an empty section.
  public init(of index: String, groups: [GroupName]) {
    self.index = index
    var seen: Set<GroupName> = []
    self.groups = groups.filter { seen.insert($0).inserted }
  }

  /// Shows every group as a section only while its range shows a row. Replaces what was set for
  /// single groups.
  public func hidingEmptySections(_ hides: Bool = true) -> Mappings {
    var copy = self
    copy.hidesEmptySections = hides
    for group in copy.options.keys { copy.options[group]?.hidesWhenEmpty = nil }
    return copy
  }

  /// Shows one group as a section only while its range shows a row.
  public func hidingEmptySection(of group: GroupName, _ hides: Bool = true) -> Mappings {
    changing(group) { $0.hidesWhenEmpty = hides }
  }

  /// Shows only a range of a group's rows; nil shows them all. The range counts in the order of
  /// display, so that it means the same before and after ``reversed(_:_:)``.
  public func range(_ range: RangeOptions?, of group: GroupName) -> Mappings {
    changing(group) { $0.range = range }
  }

  /// Shows a group's rows last to first.
  public func reversed(_ group: GroupName, _ isReversed: Bool = true) -> Mappings {
    changing(group) { $0.isReversed = isReversed }
  }

  /// The range of a group; nil if all its rows are shown.
  public func range(of group: GroupName) -> RangeOptions? { options[group]?.range }
  /// Whether a group's rows are shown last to first.
  public func isReversed(_ group: GroupName) -> Bool { options[group]?.isReversed ?? false }
  /// Whether a group is a section only while it shows a row.
  public func hidesEmptySection(of group: GroupName) -> Bool {
    options[group]?.hidesWhenEmpty ?? hidesEmptySections
  }

  private func changing(_ group: GroupName, _ change: (inout GroupOptions) -> Void) -> Mappings {
    var copy = self
    change(&copy.options[group, default: GroupOptions()])
    return copy
  }
}

/// The settings of one group.
private struct GroupOptions: Hashable, Sendable {
  /// Nil: as the mappings say for all groups.
  var hidesWhenEmpty: Bool?
  /// Nil: the whole group.
  var range: RangeOptions?
  var isReversed = false
}
