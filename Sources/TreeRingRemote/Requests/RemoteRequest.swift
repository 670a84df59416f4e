// The request for a window: the groups of an index to show, and their parts.

public import TreeRing
internal import TreeRingLog
public import TreeRingMappings

/// The groups of a server's index to show, each as a section.
///
///     var request = RemoteRequest("departures", groups: ["JFK", "LGA"])
///     request.ranges["JFK"] = .fixed(length: 20)
public struct RemoteRequest: Hashable, Sendable {
  /// The name of the group index.
  public var index: String
  /// The groups in section order; nil for all that have rows, in name order.
  public var groups: [GroupName]?
  /// The range of groups without one of their own; nil shows them whole.
  public var range: RangeOptions?
  /// The ranges of single groups; a value of nil shows the whole group.
  public var ranges: [GroupName: RangeOptions?] = [:]
  /// The groups whose rows are shown last to first.
  public var reversed: Set<GroupName> = []
  /// Whether a listed group is a section only while it shows a row.
  public var hidesEmptySections = false
  /// Whether the server also sends the total of each section's group.
  public var givesTotals = false
  /// The dotted paths of the fields to send of each object; nil for whole objects. The object of a
  /// row then has one member for each field that it has, named by the path.
  public var fields: [String]?
  /// The moment to show first; nil for the newest commit, and from then on every further one.
  public var at: ReadPoint?

  /// A request for groups of an index.
  ///
  /// - Parameters:
  ///   - index: The name of the group index.
  ///   - groups: The groups in section order; nil for all that have rows, in name order.
  public init(_ index: String, groups: [GroupName]? = nil) {
    self.index = index
    self.groups = groups
  }

  /// A request for the groups of these values. Otherwise like the initialiser with names.
  @_disfavoredOverload
  public init(_ index: String, groups: [some KeyConvertible]) {
    self.init(index, groups: groups.map { GroupName($0) })
  }

  /// A request for groups of a typed index.
  ///
  /// - Parameters:
  ///   - index: The handle of the group index.
  ///   - groups: The groups in section order; nil for all that have rows, in name order.
  public init<Row, Group, Sort>(_ index: Index<Row, Group, Sort>, groups: [Group]? = nil) {
    self.init(index.name, groups: groups.map { $0.map { index.groupName(of: $0) } })
  }

  /// The request that shows what these mappings show of a store.
  ///
  /// - Throws: `notSupported` if the mappings have a part that a server cannot evaluate: a filter
  ///   of groups, a consolidated section, rows drawn with neighbours, or single groups that hide.
  public init(_ mappings: Mappings) throws(RemoteError) {
    guard let groups = mappings.groups, mappings.consolidation == nil,
      groups.allSatisfy({
        mappings.neighbors(of: $0).isEmpty
          && mappings.hidesEmptySection(of: $0) == mappings.hidesEmptySections
      })
    else {
      throw RemoteError(
        .notSupported,
        "A server evaluates lists of groups, ranges and reversal, and no filter of groups, "
          + "consolidation, neighbours, or hiding of single groups.")
    }
    self.init(mappings.index, groups: groups)
    range = mappings.defaultRange
    hidesEmptySections = mappings.hidesEmptySections
    for group in groups {
      let own = mappings.range(of: group)
      if own != range { ranges[group] = .some(own) }
      if mappings.isReversed(group) { reversed.insert(group) }
    }
  }

  /// The range of a group; nil if all its rows are shown.
  func range(of group: GroupName) -> RangeOptions? { ranges[group] ?? range }
}

extension RemoteRequest {
  /// The request after a manual change of a range: a range that was set, or the length of a fixed
  /// one. Of a flexible range only the position changes, which the server knows.
  ///
  /// - Throws: `invalidInput` if the range of a group that is shown whole is extended.
  func edited(by change: RangeChange) throws(RemoteError) -> RemoteRequest {
    var copy = self
    switch change.edit {
    case .set(let range): copy.ranges[change.group] = .some(range)
    case .extend(let rows):
      guard let range = range(of: change.group) else {
        throw RemoteError(
          .invalidInput,
          "The group \(change.group) is shown whole: there is no range to extend. Set one first.")
      }
      if range.isFlexible { return self }
      let (sum, overflow) = range.length.addingReportingOverflow(rows)
      let length = overflow ? (rows > 0 ? Int.max : 0) : max(0, sum)
      copy.ranges[change.group] = .some(
        .fixed(length: length, offset: range.offset, pin: range.pin))
    case .shift:
      throw RemoteError(.notSupported, "A server does not shift ranges. Set another one.")
    }
    return copy
  }
}
