// The sections of one state: which ranks of which groups are shown, and in which order.
//
// Groups are numbered by a table that the two layouts of a change share, so that everything inside
// the algorithm is an array access; a slot is a group's number in it. A group that only one of the two
// mappings names has a slot too, and is no section in the other layout.

internal import TreeRing

/// The groups that the two layouts of a change speak of, numbered.
struct GroupTable: Sendable {
  let names: [GroupName]
  private let slots: [GroupName: Int]

  init(_ names: [GroupName]) {
    self.names = names
    slots = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
  }

  /// The number of a group; nil if neither side maps it.
  func slot(of group: GroupName) -> Int? { slots[group] }

  /// This table, with further groups behind the ones it has.
  func adding(_ others: [GroupName]) -> GroupTable {
    let fresh = others.filter { slots[$0] == nil }
    return fresh.isEmpty ? self : GroupTable(names + fresh)
  }
}

/// One group in one state.
struct GroupState: Sendable, Equatable {
  /// How many rows the group has.
  private(set) var count = 0
  /// The ranks shown: positions in the index's order, whatever the order of display.
  private(set) var shown = 0..<0
  /// Whether the rows are shown last to first.
  private(set) var isReversed = false
  /// Its section; nil if it is none.
  fileprivate(set) var section: Int?
  /// The rows shown; nil shows all.
  private var range: RangeOptions?
  private var hidesWhenEmpty = true
  /// Whether the mappings name the group.
  private(set) var isMapped = false

  /// A group that is not mapped.
  init(count: Int) { self.count = count }

  /// A group as the mappings show it.
  init(_ name: GroupName, in mappings: Mappings, count: Int) {
    isReversed = mappings.isReversed(name)
    range = mappings.range(of: name)
    hidesWhenEmpty = mappings.hidesEmptySection(of: name)
    isMapped = true
    resize(to: count)
  }

  /// Gives the group another number of rows, and its window the place that follows from it.
  mutating func resize(to count: Int) {
    self.count = count
    guard isMapped else { return }
    shown = range?.window(ofCount: count) ?? 0..<count
    if isReversed { shown = (count - shown.upperBound)..<(count - shown.lowerBound) }
  }

  /// Whether the group is to be a section.
  var isSection: Bool { isMapped && (!hidesWhenEmpty || !shown.isEmpty) }

  /// The position in the section of a rank that is shown.
  func displayed(_ rank: Int) -> Int {
    isReversed ? shown.upperBound - 1 - rank : rank - shown.lowerBound
  }

  /// The rank of the row at a position in the section.
  func rank(ofDisplayed row: Int) -> Int {
    isReversed ? shown.upperBound - 1 - row : shown.lowerBound + row
  }
}

/// The sections of one state.
struct Layout: Sendable {
  let table: GroupTable
  /// By slot.
  private(set) var groups: [GroupState]
  /// The slots that are sections, in order.
  private(set) var sections: [Int] = []
  /// The slots that are mapped, in order.
  private var mapped: [Int]

  /// The layout of groups that have these numbers of rows, by slot. O(groups mapped).
  init(_ mappings: Mappings, table: GroupTable, counts: [Int]) {
    self.table = table
    groups = counts.map { GroupState(count: $0) }
    mapped = mappings.groups.compactMap { table.slot(of: $0) }
    for slot in mapped {
      groups[slot] = GroupState(table.names[slot], in: mappings, count: counts[slot])
    }
    listSections()
  }

  /// The layout of nothing: before the first state.
  static let empty = Layout(Mappings(of: "", groups: []), table: GroupTable([]), counts: [])

  /// The same sections, numbered by another table, which has every mapped group.
  func numbered(by other: GroupTable) -> Layout {
    Layout(
      table: other,
      groups: other.names.map { name in
        table.slot(of: name).map { groups[$0] } ?? GroupState(count: 0)
      },
      sections: sections.compactMap { other.slot(of: table.names[$0]) },
      mapped: mapped.compactMap { other.slot(of: table.names[$0]) })
  }

  private init(table: GroupTable, groups: [GroupState], sections: [Int], mapped: [Int]) {
    self.table = table
    self.groups = groups
    self.sections = sections
    self.mapped = mapped
  }

  /// The layout once these changes have happened. O(groups touched), and O(groups mapped) if a
  /// section comes or goes.
  func applying(_ deltas: [GroupDelta]) -> Layout {
    var copy = self
    var changesSections = false
    for delta in deltas {
      let wasSection = copy.groups[delta.slot].isSection
      copy.groups[delta.slot].resize(to: copy.groups[delta.slot].count + delta.growth)
      if copy.groups[delta.slot].isSection != wasSection { changesSections = true }
    }
    if changesSections { copy.listSections() }
    return copy
  }

  private mutating func listSections() {
    for slot in sections { groups[slot].section = nil }
    sections.removeAll(keepingCapacity: true)
    for slot in mapped where groups[slot].isSection {
      groups[slot].section = sections.count
      sections.append(slot)
    }
  }

  /// The groups that are mapped, in order.
  var mappedGroups: [GroupName] { mapped.map { table.names[$0] } }

  /// The sections as their users see them.
  var sectionList: [Section] {
    sections.map { Section(group: table.names[$0], count: groups[$0].shown.count) }
  }

  /// Where the row of this rank is shown; nil if it is not.
  func path(slot: Int, rank: Int) -> RowPath? {
    let group = groups[slot]
    guard let section = group.section, group.shown.contains(rank) else { return nil }
    return RowPath(section: section, row: group.displayed(rank))
  }
}
