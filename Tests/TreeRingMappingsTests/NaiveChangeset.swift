// The slow and obvious way: both lists in full, a textbook longest increasing subsequence, and every
// form applied to see that it leads to the new list. Shares no arithmetic with the algorithm.

import TreeRing
import TreeRingLog

@testable import TreeRingMappings

/// The rows of one state, listed in full.
struct NaiveList: Equatable {
  struct Part: Equatable {
    var group: GroupName
    var rows: [RowReference]
  }
  var parts: [Part]

  init(_ parts: [Part]) { self.parts = parts }

  init(_ mappings: Mappings, _ index: ModelIndex) {
    parts = []
    for group in mappings.groups {
      var rows = (index.entries[group] ?? []).map(\.row)
      if mappings.isReversed(group) { rows.reverse() }
      if let range = mappings.range(of: group) {
        switch range.pin {
        case .beginning: rows = Array(rows.dropFirst(range.offset).prefix(range.length))
        case .end: rows = Array(rows.dropLast(range.offset).suffix(range.length))
        }
      }
      if !rows.isEmpty || !mappings.hidesEmptySection(of: group) {
        parts.append(Part(group: group, rows: rows))
      }
    }
  }

  func row(_ path: RowPath) -> RowReference? {
    guard parts.indices.contains(path.section) else { return nil }
    let rows = parts[path.section].rows
    return rows.indices.contains(path.row) ? rows[path.row] : nil
  }

  var sections: [Section] { parts.map { Section(group: $0.group, count: $0.rows.count) } }
}

/// Two states, how each is shown, and the rows touched in between.
struct ChangeCase {
  let old: ModelIndex
  let new: ModelIndex
  let oldMappings: Mappings
  let newMappings: Mappings
  let touched: TouchedRows

  var oldList: NaiveList { NaiveList(oldMappings, old) }
  var newList: NaiveList { NaiveList(newMappings, new) }

  func change(limit: Int = .max, flaw: Flaw = .none) throws -> Change {
    var cursor = try MappingCursor(oldMappings, before: touched, in: new)
    return try cursor.advance(
      to: new, by: touched, mappings: newMappings, limit: limit, flaw: flaw)
  }
}

/// A row as far as it keeps its identity in a case: by itself if it has one place at most on either
/// side, else once per group.
private struct Identity: Hashable {
  let row: RowReference
  let group: GroupName?
}

/// What must come out of a case, found by listing everything.
struct Expectation {
  private(set) var structuralCost = 0
  private(set) var updates: Set<[RowPath]> = []
  private(set) var bystanderMoves = 0

  init(_ given: ChangeCase) {
    let old = given.oldList.parts
    let new = given.newList.parts
    let oldGroups = old.map(\.group)
    let newGroups = new.map(\.group)
    let live = Set(oldGroups).intersection(newGroups)
    let common = newGroups.compactMap { oldGroups.firstIndex(of: $0) }
    structuralCost =
      old.count - live.count + new.count - live.count + common.count
      - Self.longest(common, bystander: common.map { _ in false }).length
    func identity(_ row: RowReference, _ group: GroupName) -> Identity {
      let single =
        (given.old.rows[row]?.places.count ?? 0) <= 1
        && (given.new.rows[row]?.places.count ?? 0) <= 1
      return Identity(row: row, group: single ? nil : group)
    }
    func listing(_ parts: [NaiveList.Part]) -> [Identity: RowPath] {
      var paths: [Identity: RowPath] = [:]
      for (section, part) in parts.enumerated() where live.contains(part.group) {
        for (index, row) in part.rows.enumerated() {
          paths[identity(row, part.group)] = RowPath(section: section, row: index)
        }
      }
      return paths
    }
    let oldPaths = listing(old)
    let newPaths = listing(new)
    for key in oldPaths.keys where newPaths[key] == nil { structuralCost += 1 }
    for (key, to) in newPaths {
      guard let from = oldPaths[key] else {
        structuralCost += 1
        continue
      }
      if old[from.section].group != new[to.section].group { structuralCost += 1 }
      if Self.changed(key.row, given) { updates.insert([from, to]) }
    }
    for (section, part) in new.enumerated() where live.contains(part.group) {
      var ranks: [Int] = []
      var bystander: [Bool] = []
      for (index, row) in part.rows.enumerated() {
        let key = identity(row, part.group)
        guard let from = oldPaths[key], newPaths[key] == RowPath(section: section, row: index),
          old[from.section].group == part.group
        else { continue }
        ranks.append(from.row)
        bystander.append(
          given.old.rows[row]?.places[part.group] == given.new.rows[row]?.places[part.group])
      }
      let best = Self.longest(ranks, bystander: bystander)
      structuralCost += ranks.count - best.length
      bystanderMoves += bystander.count(where: \.self) - best.bystanders
    }
  }

  /// Whether a row's content differs, by the contract's words.
  private static func changed(_ row: RowReference, _ given: ChangeCase) -> Bool {
    guard let old = given.old.rows[row]?.content, let new = given.new.rows[row]?.content else {
      return false
    }
    let later = given.old.commit <= given.new.commit ? new : old
    return old.object != new.object || old.metadata != new.metadata
      || later.touched > min(given.old.commit, given.new.commit)
  }

  /// The longest increasing subsequence and, of those, the most bystanders one can hold. O(n^2).
  static func longest(
    _ values: [Int], bystander: [Bool]
  ) -> (length: Int, bystanders: Int) {
    var best: [(length: Int, bystanders: Int)] = []
    for (index, value) in values.enumerated() {
      var longest = (length: 0, bystanders: 0)
      for earlier in 0..<index where values[earlier] < value && best[earlier] > longest {
        longest = best[earlier]
      }
      best.append((longest.length + 1, longest.bystanders + (bystander[index] ? 1 : 0)))
    }
    return best.max(by: <) ?? (0, 0)
  }
}
