// Random states, edits and mappings, from a seed.

import TestSupport
import TreeRing
import TreeRingLog

@testable import TreeRingMappings

/// Makes states and mappings of a certain size.
struct CaseMaker {
  let groups: [GroupName]
  let rowCount: Int
  /// How many different sort keys there are; few make many ties.
  let sortKeys: UInt8
  /// Whether some rows stand in several groups.
  let severalPlaces: Bool
  var random: SeededGenerator

  init(seed: UInt64) {
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
      rows[Self.row(number)] = ModelRow(places: places(), content: content(at: commit))
    }
    return ModelIndex(commit: commit, rows: rows)
  }

  static func row(_ number: Int) -> RowReference {
    RowReference(bucket: UInt32(number % 3), key: [UInt8(number)])
  }

  /// The state one commit later.
  mutating func successor(of state: ModelIndex) -> ModelIndex {
    var rows = state.rows
    let commit = state.commit + 1
    let edits = Int.random(in: 0...(chance(2) ? 3 : rowCount), using: &random)
    for _ in 0..<edits {
      let row = Self.row(Int.random(in: 0..<rowCount, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: rows[row] = nil
      case 1:
        if rows[row] != nil { rows[row]?.content.touched = commit }
      case 2:
        if rows[row] != nil { rows[row]?.content = content(at: commit) }
      case 3:
        if rows[row] != nil { rows[row]?.places = places() }
      default: rows[row] = ModelRow(places: places(), content: content(at: commit))
      }
    }
    return ModelIndex(commit: commit, rows: rows)
  }

  mutating func range() -> RangeOptions? {
    if chance(2) { return nil }
    let length = Int.random(in: 0...6, using: &random)
    let offset = chance(2) ? 0 : Int.random(in: 0...8, using: &random)
    return .fixed(length: length, offset: offset, pin: chance(2) ? .end : .beginning)
  }

  mutating func mappings() -> Mappings {
    var mappings = Mappings(of: "model", groups: groups.shuffled(using: &random))
    if chance(2) { mappings = mappings.hidingEmptySections() }
    for group in groups {
      if chance(4) { mappings = mappings.hidingEmptySection(of: group, chance(2)) }
      mappings = mappings.range(range(), of: group)
      if chance(4) { mappings = mappings.reversed(group) }
    }
    return mappings
  }

  /// Other mappings, as a user may set them on a live list.
  mutating func edited(_ mappings: Mappings) -> Mappings {
    var groups = mappings.groups
    if chance(4) { groups.shuffle(using: &random) }
    if chance(4) { groups = Array(groups.dropLast()) }
    if chance(4) { groups = Array(Set(groups + self.groups)).shuffled(using: &random) }
    var edited = Mappings(of: mappings.index, groups: groups)
      .hidingEmptySections(mappings.hidesEmptySections)
    for group in self.groups {
      edited = edited.reversed(group, mappings.isReversed(group) != chance(8))
        .range(chance(2) ? range() : mappings.range(of: group), of: group)
        .hidingEmptySection(of: group, mappings.hidesEmptySection(of: group) != chance(6))
    }
    return edited
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
      touched: touchedRows(from: old, to: new, extra: extra))
  }
}
