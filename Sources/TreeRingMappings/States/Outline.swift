// Each section's name and number of rows. Kept by every change, before and after; so it shares what it
// says with the layout it is of, and is listed only when somebody asks for it.

internal import TreeRing

/// The sections of one state, in order.
struct Outline: Hashable, Sendable {
  private enum Content: Sendable {
    case listed([Section])
    case laidOut(slots: [Int], groups: SharedArray<GroupState>, table: GroupTable)
  }
  private let content: Content

  /// These sections.
  init(_ sections: [Section]) { content = .listed(sections) }

  /// The sections that show these slots, one each. O(1).
  init(slots: [Int], groups: SharedArray<GroupState>, table: GroupTable) {
    content = .laidOut(slots: slots, groups: groups, table: table)
  }

  /// How many sections there are. O(1).
  var count: Int {
    switch content {
    case .listed(let sections): sections.count
    case .laidOut(let slots, _, _): slots.count
    }
  }

  /// A section; it must exist. O(1).
  subscript(section: Int) -> Section {
    switch content {
    case .listed(let sections): sections[section]
    case .laidOut(let slots, let groups, let table):
      Section(group: table.names[slots[section]], count: groups[slots[section]].shown.count)
    }
  }

  /// All sections. O(sections).
  var sections: [Section] {
    if case .listed(let sections) = content { return sections }
    return (0..<count).map { self[$0] }
  }

  static func == (a: Outline, b: Outline) -> Bool {
    a.count == b.count && (0..<a.count).allSatisfy { a[$0] == b[$0] }
  }

  func hash(into hasher: inout Hasher) { hasher.combine(sections) }
}
