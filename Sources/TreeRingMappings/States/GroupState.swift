// One group in one state: how many rows it has, which of them are shown, and where.

internal import TreeRing

/// The groups that the two layouts of a change speak of, numbered. A slot is a group's number, so that
/// everything inside the algorithm is an array access.
final class GroupTable: Sendable {
  let names: [GroupName]
  private let slots: [GroupName: Int]

  /// Each name must stand here once.
  init(_ names: [GroupName]) {
    self.names = names
    slots = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
  }

  /// The number of a group; nil if neither side knows it.
  func slot(of group: GroupName) -> Int? {
    // A few names are compared faster than one is hashed.
    names.count <= 4 ? names.firstIndex(of: group) : slots[group]
  }

  /// This table, with further groups behind the ones it has.
  func adding(_ others: some Sequence<GroupName>) -> GroupTable {
    var seen: Set<GroupName> = []
    let fresh = others.filter { slots[$0] == nil && seen.insert($0).inserted }
    return fresh.isEmpty ? self : GroupTable(names + fresh)
  }
}

/// One group in one state. Holds no references, so that copying many is copying memory.
struct GroupState: Sendable, Equatable {
  /// How many rows the group has.
  private(set) var count = 0
  /// The ranks shown: positions in the index's order, whatever the order of display.
  private(set) var shown = 0..<0
  /// Whether the rows are shown last to first.
  private(set) var isReversed = false
  /// The rows shown; nil shows all.
  private(set) var range: RangeOptions?
  /// Where the range stands; nil without a range.
  private(set) var window: Window?
  private var hidesWhenEmpty = true
  /// Whether its rows are counted and its window is carried on.
  private(set) var isTracked = false
  /// Its position among the groups listed; nil if the list does not admit it.
  var position: Int?
  /// Its section; nil if it is none.
  var section: Int?
  /// The position of its first row in the section.
  var firstRow = 0

  /// A group of which nothing is known.
  init() {}

  /// A group as mappings show it from now on.
  ///
  /// - Parameter known: The state it was in, if it was followed before.
  init(_ name: GroupName, in mappings: Mappings, count: Int, following known: GroupState? = nil) {
    self.count = count
    isReversed = mappings.isReversed(name)
    range = mappings.range(of: name)
    hidesWhenEmpty = mappings.hidesEmptySection(of: name)
    isTracked = true
    if let range {
      if let known, known.isTracked, known.isReversed == isReversed, let old = known.range,
        range.continues(old), var window = known.window
      {
        if known.count == count {
          window.limit(range, count)
        } else {
          window.clip(range, from: known.count, to: count)
        }
        self.window = window
      } else {
        window = Window(range, count: count)
      }
    }
    show()
  }

  /// Gives the group the rows it has after a change, and its window the place that follows from it.
  ///
  /// - Parameter staying: Which rows stay; asked only for a flexible range.
  mutating func advance(by growth: Int, staying: () -> Alignment, flaw: Flaw) {
    let old = count
    count += growth
    if let range {
      if range.isFlexible {
        window?.carry(
          range, over: staying(), from: old, to: count, isReversed: isReversed, flaw: flaw)
      } else {
        window = Window(range, count: count)
      }
    }
    show()
  }

  /// Gives the group the rows it has when its rows came to be ordered otherwise: the window stands
  /// where it stood.
  mutating func clip(by growth: Int) {
    let old = count
    count += growth
    if let range {
      if range.isFlexible {
        window?.clip(range, from: old, to: count)
      } else {
        window = Window(range, count: count)
      }
    }
    show()
  }

  /// Changes the window by hand. Its options, and all of a fixed range, are in the mappings already.
  mutating func edit(_ edit: RangeEdit) {
    guard let range, range.isFlexible else { return }
    switch edit {
    case .set: window = Window(range, count: count)
    case .extend(let rows): window?.extend(by: rows, range, count: count)
    case .shift(let rows): window?.shift(by: rows, range, count: count)
    }
    show()
  }

  /// Puts a flexible window where it stood somewhere else, clipped to the group.
  mutating func place(_ position: MappingPosition.WindowPosition) {
    guard let range, position.isOf(range, isReversed: isReversed) else { return }
    var window = position.window
    window.clip(range, from: position.count, to: count)
    self.window = window
    show()
  }

  private mutating func show() {
    shown = 0..<count
    if let range, let window { shown = window.ranks(range, count: count, isReversed: isReversed) }
  }

  /// Whether the group is to be a section, as far as it is listed.
  var isSection: Bool { position != nil && (!hidesWhenEmpty || !shown.isEmpty) }

  /// Whether it has a window that goes on by itself, also while it is not listed or has no rows.
  var carriesWindow: Bool { range?.isFlexible ?? false }

  /// Where the window stands, in the order of display.
  var rangePosition: RangePosition {
    let (before, behind) = (shown.lowerBound, count - shown.upperBound)
    return RangePosition(
      offsetFromBeginning: isReversed ? behind : before,
      offsetFromEnd: isReversed ? before : behind, length: shown.count)
  }

  /// The position among the rows shown of a rank that is.
  func displayed(_ rank: Int) -> Int {
    isReversed ? shown.upperBound - 1 - rank : rank - shown.lowerBound
  }

  /// The rank of the row at a position among the rows shown.
  func rank(ofDisplayed row: Int) -> Int {
    isReversed ? shown.upperBound - 1 - row : shown.lowerBound + row
  }
}
