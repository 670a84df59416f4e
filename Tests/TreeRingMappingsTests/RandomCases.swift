// Random states, edits and mappings, from a seed.

import TestSupport

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// Makes states and mappings of a given size.
struct CaseMaker {
  /// The name of the mapped index.
  let index: String
  let groups: [GroupName]
  let rowCount: Int
  /// The number of different sort keys; few keys make many ties.
  let sortKeys: UInt8
  /// Whether some rows are in several groups.
  let severalPlaces: Bool
  var random: SeededGenerator

  init(seed: UInt64, index: String = "model") {
    self.index = index
    random = SeededGenerator(seed: seed)
    groups = (0..<Int.random(in: 1...4, using: &random)).map { GroupName("g\($0)") }
    rowCount = Int.random(in: 1...16, using: &random)
    sortKeys = Bool.random(using: &random) ? 3 : 40
    severalPlaces = Int.random(in: 0..<3, using: &random) == 0
  }

  mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }

  private mutating func places() -> [GroupName: [UInt8]] {
    var places: [GroupName: [UInt8]] = [:]
    let count = severalPlaces ? Int.random(in: 0...3, using: &random) : 1
    for _ in 0..<count where !chance(8) {
      let group = groups[Int.random(in: 0..<groups.count, using: &random)]
      places[group] = [UInt8.random(in: 0..<sortKeys, using: &random)]
    }
    return places
  }

  private mutating func content(at commit: CommitNumber) -> RowContent {
    RowContent(
      object: UInt64.random(in: 0..<3, using: &random),
      metadata: chance(2) ? nil : UInt64.random(in: 0..<2, using: &random), touched: 0)
  }

  mutating func state(at commit: CommitNumber) -> ModelIndex {
    var rows: [RowReference: ModelRow] = [:]
    for number in 0..<rowCount where !chance(4) {
      rows[Self.row(number)] = ModelRow(
        places: places(), content: content(at: commit),
        written: CommitNumber.random(in: 1...commit, using: &random))
    }
    return ModelIndex(commit: commit, rows: rows)
  }

  static func row(_ number: Int) -> RowReference {
    RowReference(bucket: UInt32(number % 3), key: [UInt8(number)])
  }

  /// The state one commit later. The commit may rewrite a row without a change.
  mutating func successor(of state: ModelIndex) -> ModelIndex {
    var rows = state.rows
    let commit = state.commit + 1
    let edits = Int.random(in: 0...(chance(2) ? 3 : rowCount), using: &random)
    for _ in 0..<edits {
      let row = Self.row(Int.random(in: 0..<rowCount, using: &random))
      switch Int.random(in: 0..<7, using: &random) {
      case 0: rows[row] = nil
      case 1:
        if rows[row] != nil { rows[row]?.content.touched = commit }
      case 2:
        if rows[row] != nil { rows[row]?.content = content(at: commit) }
      case 3:
        if rows[row] != nil { rows[row]?.places = places() }
      case 4: break
      default: rows[row] = ModelRow(places: places(), content: content(at: commit))
      }
      rows[row]?.written = commit
    }
    return ModelIndex(commit: commit, rows: rows)
  }

  mutating func range() -> RangeOptions? {
    if chance(3) { return nil }
    let length = Int.random(in: 0...6, using: &random)
    let offset = chance(2) ? 0 : Int.random(in: 0...8, using: &random)
    let pin: RangeOptions.Pin = chance(2) ? .end : .beginning
    if chance(2) { return .fixed(length: length, offset: offset, pin: pin) }
    return .flexible(
      length: length, offset: offset, pin: pin,
      min: chance(2) ? 0 : Int.random(in: 0...4, using: &random),
      max: chance(2) ? .max : Int.random(in: 0...6, using: &random),
      growing: growth())
  }

  private mutating func growth() -> RangeOptions.Growth {
    RangeOptions.Growth.allCases.randomElement(using: &random) ?? .pinSide
  }

  /// Mappings of given groups, or of groups selected by their counts, their first and last rows,
  /// and the commits of those.
  private mutating func list(_ groups: [GroupName]) -> Mappings {
    switch Int.random(in: 0..<7, using: &random) {
    case 0:
      let fewest = Int.random(in: 0...3, using: &random)
      return Mappings(
        of: index, groupsWhere: { $0.count >= fewest },
        orderedBy: { [.descending($0.count)] })
    case 1:
      return Mappings(
        of: index, groupsWhere: { $0.first?.object != [1] },
        orderedBy: { [.ascending(Int($0.last?.object.first ?? 0)), .descending($0.count)] })
    case 2:
      return Mappings(
        of: index, groupsWhere: { ($0.first?.written ?? 0) % 3 != 0 },
        orderedBy: { [.descending(Int($0.last?.written ?? 0))] })
    default: return Mappings(of: index, groups: groups)
    }
  }

  mutating func mappings() -> Mappings {
    var mappings = list(groups.shuffled(using: &random))
    if chance(2) { mappings = mappings.hidingEmptySections() }
    if chance(3) { mappings = mappings.range(range()) }
    if chance(3) {
      mappings = mappings.consolidated(
        below: Int.random(in: 0...9, using: &random), as: chance(4) ? groups[0] : "all")
    }
    for group in groups {
      if chance(4) { mappings = mappings.hidingEmptySection(of: group, chance(2)) }
      if chance(2) { mappings = mappings.range(range(), of: group) }
      if chance(4) { mappings = mappings.reversed(group) }
      if chance(3) {
        mappings = mappings.drawn(withNeighborsAt: neighbors(), in: group)
      }
    }
    return mappings
  }

  private mutating func neighbors() -> Set<Int> {
    chance(2)
      ? [-1] : Set((0..<2).map { _ in Int.random(in: -3...3, using: &random) })
  }

  /// Other mappings, such as a user may set on a live list.
  mutating func edited(_ mappings: Mappings) -> Mappings {
    var edited = mappings
    if chance(3) {
      var groups = mappings.groups ?? self.groups
      if chance(2) { groups.shuffle(using: &random) }
      if chance(3) { groups = Array(groups.dropLast()) }
      if chance(3) { groups = Array(Set(groups + self.groups)).shuffled(using: &random) }
      edited = list(groups).hidingEmptySections(mappings.hidesEmptySections)
        .range(mappings.defaultRange)
      if let rule = mappings.consolidation {
        edited = edited.consolidated(below: rule.threshold, as: rule.name)
      }
      for group in self.groups {
        edited = edited.reversed(group, mappings.isReversed(group))
          .range(mappings.range(of: group), of: group)
          .hidingEmptySection(of: group, mappings.hidesEmptySection(of: group))
          .drawn(withNeighborsAt: Set(mappings.neighbors(of: group)), in: group)
      }
    }
    if chance(4) { edited = edited.neverConsolidated() }
    if chance(4) {
      edited = edited.consolidated(below: Int.random(in: 0...9, using: &random), as: "all")
    }
    for group in self.groups {
      if chance(8) { edited = edited.reversed(group, !edited.isReversed(group)) }
      if chance(6) { edited = edited.range(range(), of: group) }
      if chance(6) {
        edited = edited.hidingEmptySection(of: group, !edited.hidesEmptySection(of: group))
      }
      if chance(8) { edited = edited.drawn(withNeighborsAt: neighbors(), in: group) }
      if chance(6), let range = edited.range(of: group), range.isFlexible {
        edited = edited.range(
          .flexible(
            length: range.length, offset: range.offset, pin: range.pin, min: range.minLength,
            max: Int.random(in: 0...6, using: &random), growing: growth()), of: group)
      }
    }
    return edited
  }

  /// Manual changes of ranges.
  mutating func rangeEdits(_ mappings: Mappings) -> [RangeChange] {
    var edits: [RangeChange] = []
    var mappings = mappings
    for _ in 0..<2 {
      for group in groups where chance(3) {
        let rows = Int.random(in: -4...4, using: &random)
        if chance(3) {
          let range = range()
          edits.append(RangeChange(.set(range), of: group))
          mappings = mappings.range(range, of: group)
        } else if mappings.range(of: group) != nil {
          edits.append(RangeChange(chance(2) ? .extend(by: rows) : .shift(by: rows), of: group))
        }
      }
    }
    return edits
  }

  /// Two states some commits apart, in either direction, under one or two mappings.
  mutating func changeCase() -> ChangeCase {
    let first = state(at: 5)
    var last = first
    for _ in 0..<Int.random(in: 0...3, using: &random) { last = successor(of: last) }
    let (old, new) = chance(4) ? (last, first) : (first, last)
    let mappings = self.mappings()
    var extra: Set<RowReference> = []
    if chance(3) { extra = Set(old.rows.keys.filter { _ in chance(2) }) }
    return ChangeCase(
      old: old, new: new, oldMappings: mappings,
      newMappings: chance(3) ? edited(mappings) : mappings,
      affected: affectedRows(from: old, to: new, extra: extra))
  }
}
