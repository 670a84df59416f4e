// The slow and obvious way to the shown rows: every group as an array, and windows computed from
// lists of rows by the words of the contract.

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// A flexible window in the order of display.
struct NaiveWindow: Equatable {
  /// The shown rows, as positions in the group; nil while an offset waits beyond the group's end.
  var shown: Range<Int>?
  /// The waiting offset.
  var waiting = 0

  /// A window as set by its options.
  init(_ options: RangeOptions, count: Int) {
    start(options, options.offset, count)
    limit(options, count)
  }

  private mutating func start(_ options: RangeOptions, _ offset: Int, _ count: Int) {
    waiting = offset
    if offset > count {
      shown = nil
    } else {
      let length = min(options.length, count - offset)
      shown =
        options.pin == .beginning
        ? offset..<(offset + length) : (count - offset - length)..<(count - offset)
    }
  }

  /// Carries the window from one list of rows to the next.
  ///
  /// - Parameter isSame: returns whether a row's sort key is equal at both ends.
  mutating func carry(
    _ options: RangeOptions, from old: [RowReference], to new: [RowReference],
    isSame: (RowReference) -> Bool
  ) {
    defer { limit(options, new.count) }
    guard let shown else {
      if new.count >= waiting { start(options, waiting, new.count) }
      return
    }
    if old.isEmpty { return start(options, 0, new.count) }
    let common = old.filter(new.contains)
    func stays(_ row: RowReference) -> Bool {
      guard common.contains(row) else { return false }
      if isSame(row) { return true }
      func before(_ rows: [RowReference]) -> Set<RowReference> {
        Set(rows.prefix { $0 != row }).intersection(common)
      }
      return before(old) == before(new)
    }
    let staying = old.filter(stays)
    let inside = Set(old[shown]).intersection(staying)
    // The gap or the window, as a range of the staying rows.
    let low = old[..<shown.lowerBound].count(where: staying.contains)
    let high = low + inside.count
    func joins(_ index: Int) -> Bool {
      if staying.contains(new[index]) { return inside.contains(new[index]) }
      let place = new[..<index].count(where: staying.contains)
      if low == high { return place == low }
      if place > low, place < high { return true }
      let isPinned = options.pin == .beginning
      if place == low {
        return options.growth == .bothSides
          || options.growth == (isPinned ? .pinSide : .nonPinSide)
      }
      if place == high {
        return options.growth == .bothSides
          || options.growth == (isPinned ? .nonPinSide : .pinSide)
      }
      return false
    }
    let members = new.indices.filter(joins)
    if let first = members.first, let last = members.last {
      self.shown = first..<(last + 1)
    } else {
      // Nothing entered the gap: it is before the staying row that follows it.
      let place = low < staying.count ? new.firstIndex(of: staying[low]) ?? 0 : new.count
      self.shown = place..<place
    }
  }

  /// Keeps offset and length within the rows of the group.
  mutating func clip(_ options: RangeOptions, from oldCount: Int, to newCount: Int) {
    if shown != nil, oldCount == 0 {
      start(options, 0, newCount)
    } else if let shown {
      let offset =
        min(options.pin == .beginning ? shown.lowerBound : oldCount - shown.upperBound, newCount)
      let length = min(shown.count, newCount - offset)
      self.shown =
        options.pin == .beginning
        ? offset..<(offset + length) : (newCount - offset - length)..<(newCount - offset)
    } else if newCount >= waiting {
      start(options, waiting, newCount)
    }
    limit(options, newCount)
  }

  mutating func edit(_ edit: RangeEdit, _ options: RangeOptions, count: Int) {
    switch edit {
    case .set: self = NaiveWindow(options, count: count)
    case .extend(let rows):
      for _ in 0..<abs(rows) { step(options, count, wider: rows > 0) }
    case .shift(let rows):
      if let shown {
        let away = options.pin == .beginning ? rows : -rows
        let lower = max(0, min(shown.lowerBound + away, count - shown.count))
        self.shown = lower..<(lower + shown.count)
      } else {
        waiting = max(0, waiting + rows)
        if waiting <= count { start(options, waiting, count) }
      }
    }
    limit(options, count)
  }

  /// Adds or removes one row on the side away from the pin.
  private mutating func step(_ options: RangeOptions, _ count: Int, wider: Bool) {
    guard let shown else { return }
    var (lower, upper) = (shown.lowerBound, shown.upperBound)
    if options.pin == .beginning {
      upper += wider ? 1 : -1
    } else {
      lower -= wider ? 1 : -1
    }
    if lower >= 0, upper <= count, lower <= upper { self.shown = lower..<upper }
  }

  /// Applies the limits row by row: surplus rows leave away from the pin, missing rows enter on the
  /// pin side first.
  mutating func limit(_ options: RangeOptions, _ count: Int) {
    let fewest = min(options.minLength, options.maxLength)
    if shown == nil, fewest > 0, count > 0 {
      shown = options.pin == .beginning ? count..<count : 0..<0
    }
    guard var shown else { return }
    while shown.count > options.maxLength {
      shown =
        options.pin == .beginning
        ? shown.lowerBound..<(shown.upperBound - 1) : (shown.lowerBound + 1)..<shown.upperBound
    }
    while shown.count < fewest, shown.count < count {
      let atStart =
        options.pin == .beginning ? shown.lowerBound > 0 : shown.upperBound == count
      shown =
        atStart
        ? (shown.lowerBound - 1)..<shown.upperBound : shown.lowerBound..<(shown.upperBound + 1)
    }
    self.shown = shown
  }
}

/// The shown rows of a state, listed in full.
struct NaiveView {
  private(set) var mappings: Mappings
  /// The requested mappings, before range edits.
  private(set) var asked: Mappings
  private(set) var index: ModelIndex
  private(set) var windows: [GroupName: NaiveWindow] = [:]
  private(set) var list = NaiveList([])
  private var owners: [[GroupName]] = []

  init(_ mappings: Mappings, _ index: ModelIndex) {
    self.mappings = mappings
    asked = mappings
    self.index = index
    startWindows()
    show()
  }

  /// The group of the row at a path.
  func owner(_ path: RowPath) -> GroupName { owners[path.section][path.row] }

  /// All rows of a group, in display order.
  func rows(of group: GroupName) -> [RowReference] { Self.rows(group, mappings, index) }

  private static func rows(
    _ group: GroupName, _ mappings: Mappings, _ index: ModelIndex
  ) -> [RowReference] {
    let rows = (index.entries[group] ?? []).map(\.row)
    return mappings.isReversed(group) ? rows.reversed() : rows
  }

  /// The view after changes of rows and, after those, of mappings and ranges.
  func advanced(
    to new: ModelIndex, mappings target: Mappings, edits: [RangeChange] = []
  ) -> NaiveView {
    var copy = self
    copy.index = new
    if mappings.choice != nil {
      for group in new.entries.keys where windows[group] == nil {
        if let range = mappings.range(of: group), range.isFlexible {
          copy.windows[group] = NaiveWindow(range, count: 0)
        }
      }
    }
    for group in copy.windows.keys {
      guard let range = mappings.range(of: group) else { continue }
      copy.windows[group]?.carry(
        range, from: rows(of: group), to: Self.rows(group, mappings, new),
        isSame: { index.rows[$0]?.places[group] == new.rows[$0]?.places[group] })
    }
    copy.change(to: target, edits)
    copy.show()
    return copy
  }

  /// The view if the changes are unknown.
  func clipped(to new: ModelIndex) -> NaiveView {
    var copy = self
    copy.index = new
    if mappings.choice != nil {
      for group in new.entries.keys where windows[group] == nil {
        if let range = mappings.range(of: group), range.isFlexible {
          copy.windows[group] = NaiveWindow(range, count: 0)
        }
      }
    }
    for group in copy.windows.keys {
      guard let range = mappings.range(of: group) else { continue }
      let count = copy.rows(of: group).count
      copy.windows[group]?.clip(range, from: rows(of: group).count, to: count)
    }
    copy.startWindows()
    copy.show()
    return copy
  }

  private mutating func change(to target: Mappings, _ edits: [RangeChange]) {
    let old = mappings
    asked = target
    mappings = target
    for change in edits { change.edit.isFixed(in: mappings, change.group) { mappings = $0 } }
    for group in windows.keys {
      let count = rows(of: group).count
      guard let range = mappings.range(of: group), range.isFlexible else {
        windows[group] = nil
        continue
      }
      let before = old.range(of: group)
      if before.map({ range.continues($0) }) ?? false,
        old.isReversed(group) == mappings.isReversed(group)
      {
        windows[group]?.limit(range, count)
      } else {
        windows[group] = NaiveWindow(range, count: count)
      }
    }
    startWindows()
    for change in edits {
      let group = change.group
      guard let range = mappings.range(of: group), range.isFlexible else { continue }
      let count = rows(of: group).count
      windows[group]?.edit(change.edit, range, count: count)
    }
  }

  /// Starts the windows of newly followed groups.
  private mutating func startWindows() {
    let followed =
      Set(mappings.groups ?? Array(index.entries.keys)).union(mappings.carriedGroups)
    for group in followed where windows[group] == nil {
      guard let range = mappings.range(of: group), range.isFlexible else { continue }
      windows[group] = NaiveWindow(range, count: rows(of: group).count)
    }
  }

  /// The listed groups.
  private var listed: [GroupName] {
    guard let choice = mappings.choice else { return mappings.groups ?? [] }
    var keys: [GroupName: [UInt8]] = [:]
    for group in index.entries.keys {
      keys[group] = try? choice.orderKey(group, index.group(group), in: index)
    }
    return keys.keys.sorted { a, b in
      let (first, second) = (keys[a] ?? [], keys[b] ?? [])
      return first == second ? a < b : first.lexicographicallyPrecedes(second)
    }
  }

  /// The position of a group's range; nil if the group is not listed.
  func rangePosition(of group: GroupName) -> RangePosition? {
    guard listed.contains(group) else { return nil }
    let rows = rows(of: group)
    var shown = 0..<rows.count
    var missing = 0
    if let range = mappings.range(of: group) {
      if range.isFlexible {
        let window = windows[group]
        shown = window?.shown ?? (range.pin == .beginning ? rows.count..<rows.count : 0..<0)
        if let window, window.shown == nil { missing = window.waiting - rows.count }
      } else {
        missing = max(0, range.offset - rows.count)
        let near = min(range.offset, rows.count)
        let far = min(near + range.length, rows.count)
        shown = range.pin == .beginning ? near..<far : (rows.count - far)..<(rows.count - near)
      }
    }
    return RangePosition(
      offsetFromBeginning: shown.lowerBound, offsetFromEnd: rows.count - shown.upperBound,
      length: shown.count, missing: missing)
  }

  /// The path of a row or, while it is hidden, the nearest path.
  func nearestPath(to row: RowReference) -> RowPath? {
    for (section, part) in list.parts.enumerated() {
      if let index = part.rows.firstIndex(of: row) { return RowPath(section: section, row: index) }
    }
    let listed = listed
    guard let group = listed.first(where: { rows(of: $0).contains(row) }) else { return nil }
    func paths(_ groups: some Sequence<GroupName>) -> [RowPath] {
      groups.flatMap { group in
        owners.indices.flatMap { section in
          owners[section].indices.filter { owners[section][$0] == group }
            .map { RowPath(section: section, row: $0) }
        }
      }
    }
    let all = rows(of: group)
    let inGroup = paths([group])
    if let first = inGroup.first, let last = inGroup.last, let index = all.firstIndex(of: row),
      let firstRow = list.row(first), let start = all.firstIndex(of: firstRow)
    {
      return index < start ? first : last
    }
    let position = listed.firstIndex(of: group) ?? 0
    return paths(listed[..<position]).last ?? paths(listed[(position + 1)...]).first
  }

  private func shown(of group: GroupName) -> [RowReference] {
    let rows = rows(of: group)
    guard let range = mappings.range(of: group) else { return rows }
    if range.isFlexible { return windows[group]?.shown.map { Array(rows[$0]) } ?? [] }
    switch range.pin {
    case .beginning: return Array(rows.dropFirst(range.offset).prefix(range.length))
    case .end: return Array(rows.dropLast(range.offset).suffix(range.length))
    }
  }

  private mutating func show() {
    let listed = listed
    let groups = listed.map { (group: $0, rows: shown(of: $0)) }
    if let rule = mappings.consolidation, !listed.contains(rule.name),
      groups.reduce(0, { $0 + $1.rows.count }) < rule.threshold
    {
      list = NaiveList([
        .init(group: rule.name, rows: groups.flatMap(\.rows), isConsolidated: true)
      ])
      owners = [groups.flatMap { group, rows in rows.map { _ in group } }]
      return
    }
    let sections = groups.filter { !$0.rows.isEmpty || !mappings.hidesEmptySection(of: $0.group) }
    list = NaiveList(sections.map { .init(group: $0.group, rows: $0.rows) })
    owners = sections.map { group, rows in rows.map { _ in group } }
  }
}

extension RangeEdit {
  /// Changes the mappings by this edit of a group's range, unless the range is flexible and the
  /// edit changes only its window.
  fileprivate func isFixed(
    in mappings: Mappings, _ group: GroupName, _ body: (Mappings) -> Void
  ) {
    if case .set(let range) = self { return body(mappings.range(range, of: group)) }
    guard let range = mappings.range(of: group), !range.isFlexible else { return }
    switch self {
    case .extend(let rows):
      body(
        mappings.range(
          .fixed(length: max(0, range.length + rows), offset: range.offset, pin: range.pin),
          of: group))
    case .shift(let rows):
      body(
        mappings.range(
          .fixed(length: range.length, offset: max(0, range.offset + rows), pin: range.pin),
          of: group))
    case .set: break
    }
  }
}
