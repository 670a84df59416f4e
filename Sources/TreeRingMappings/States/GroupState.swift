// One group in one state: its number of rows, the rows shown, and their position on screen.

internal import TreeRing

/// The groups of the two layouts of a change, numbered. A slot is a group's number; it makes every
/// access inside the algorithm an array access.
final class GroupTable: Sendable {
  let names: [GroupName]
  private let slots: [GroupName: Int]

  /// Each name must occur once.
  init(_ names: [GroupName]) {
    self.names = names
    slots = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
  }

  /// The number of a group; nil if neither side has it.
  func slot(of group: GroupName) -> Int? {
    // Comparing a few names is faster than hashing one.
    names.count <= 4 ? names.firstIndex(of: group) : slots[group]
  }

  /// This table with further groups behind its own.
  func adding(_ others: some Sequence<GroupName>) -> GroupTable {
    var seen: Set<GroupName> = []
    let fresh = others.filter { slots[$0] == nil && seen.insert($0).inserted }
    return fresh.isEmpty ? self : GroupTable(names + fresh)
  }
}

/// A row by its group's slot and its rank there: its position in the index's order.
struct SlotRank: Sendable {
  let slot: Int
  var rank: Int
}

/// One group in one state. It holds no references, so copying many is copying memory.
struct GroupState: Sendable, Equatable {
  /// The number of rows in the group.
  private(set) var count = 0
  /// The ranks shown: positions in the index's order, whatever the display order.
  private(set) var shown = 0..<0
  /// Whether the rows are shown last to first.
  private(set) var isReversed = false
  /// The rows shown; nil shows all.
  private(set) var range: RangeOptions?
  /// The position of the range in the group; nil without a range.
  private(set) var window: Window?
  private var hidesWhenEmpty = true
  /// Whether its rows are counted and its window is carried.
  private(set) var isTracked = false
  /// Its position among the listed groups; nil if it is not listed.
  var position: Int?
  /// Its section; nil if it has none.
  var section: Int?
  /// The position of its first row in the section.
  var firstRow = 0

  /// An untracked group.
  init() {}

  /// A group as mappings show it.
  ///
  /// - Parameter known: The group's previous state, if it was followed before.
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
        window.clip(range, from: known.count, to: count)
        self.window = window
      } else {
        window = Window(range, count: count)
      }
    }
    show()
  }

  /// Applies a change to the group's row count and its window.
  ///
  /// - Parameter staying: The rows that stay, called only for a flexible range; nil if the window
  ///   keeps its position.
  mutating func advance(by growth: Int, staying: (() -> Alignment)?) {
    let old = count
    count += growth
    if let range {
      if !range.isFlexible {
        window = Window(range, count: count)
      } else if let staying {
        window?.carry(range, over: staying(), from: old, to: count, isReversed: isReversed)
      } else {
        window?.clip(range, from: old, to: count)
      }
    }
    show()
  }

  /// Changes the window manually. The mappings already hold its options, and all of a fixed range.
  mutating func edit(_ edit: RangeEdit) {
    guard let range, range.isFlexible else { return }
    switch edit {
    case .set: window = Window(range, count: count)
    case .extend(let rows): window?.extend(by: rows, range, count: count)
    case .shift(let rows): window?.shift(by: rows, range, count: count)
    }
    show()
  }

  /// Restores a flexible window from a saved position, clipped to the group.
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

  /// Whether the group is a section, provided it is listed.
  var isSection: Bool { position != nil && (!hidesWhenEmpty || !shown.isEmpty) }

  /// Whether it has a flexible window, which is carried even while the group is unlisted or empty.
  var carriesWindow: Bool { range?.isFlexible ?? false }

  /// The window's position, in display order.
  var rangePosition: RangePosition {
    let (before, behind) = (shown.lowerBound, count - shown.upperBound)
    return RangePosition(
      offsetFromBeginning: isReversed ? behind : before,
      offsetFromEnd: isReversed ? before : behind, length: shown.count,
      missing: max(0, (window?.offset ?? 0) - count))
  }

  /// The position of a shown rank among the shown rows.
  func displayed(_ rank: Int) -> Int {
    isReversed ? shown.upperBound - 1 - rank : rank - shown.lowerBound
  }

  /// The rank of the row at a position among the shown rows.
  func rank(ofDisplayed row: Int) -> Int {
    isReversed ? shown.upperBound - 1 - row : shown.lowerBound + row
  }
}
