// The outline: each section's name and number of rows. Every change keeps two of them, so an
// outline shares storage with its layout and builds the list only on demand.

internal import TreeRing

/// The sections of one state, in order.
struct Outline: Hashable, Sendable {
  private enum Content: Sendable {
    case listed([Section])
    case laidOut(slots: [Int], groups: SharedArray<GroupState>, table: GroupTable)
  }
  private let content: Content

  /// An outline of these sections.
  init(_ sections: [Section]) { content = .listed(sections) }

  /// The outline of the sections that show these slots, one each. O(1).
  init(slots: [Int], groups: SharedArray<GroupState>, table: GroupTable) {
    content = .laidOut(slots: slots, groups: groups, table: table)
  }

  /// The number of sections. O(1).
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
