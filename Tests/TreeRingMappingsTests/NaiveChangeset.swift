// The slow and obvious way to a changeset: both lists in full and a textbook longest increasing
// subsequence. It shares no arithmetic with the algorithm.

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// The rows of one state, listed in full.
struct NaiveList: Equatable {
  struct Part: Equatable {
    var group: GroupName
    var rows: [RowReference]
    /// Whether the section shows all groups. Such a section never equals the section of a group.
    var isConsolidated = false

    static func == (a: Part, b: Part) -> Bool { a.group == b.group && a.rows == b.rows }

    /// The identity of a section.
    struct Identity: Hashable {
      let group: GroupName
      let isConsolidated: Bool
    }
    var identity: Identity { Identity(group: group, isConsolidated: isConsolidated) }
  }
  var parts: [Part]

  init(_ parts: [Part]) { self.parts = parts }

  func row(_ path: RowPath) -> RowReference? {
    guard parts.indices.contains(path.section) else { return nil }
    let rows = parts[path.section].rows
    return rows.indices.contains(path.row) ? rows[path.row] : nil
  }

  var sections: [Section] {
    parts.map {
      Section(group: $0.group, count: $0.rows.count, isConsolidated: $0.isConsolidated)
    }
  }
}

/// Two states, the view of each, and the rows affected in between.
struct ChangeCase {
  let old: ModelIndex
  let new: ModelIndex
  let oldView: NaiveView
  let newView: NaiveView
  let edits: [RangeChange]
  let affected: AffectedRows

  /// A change directly after the first state.
  init(
    old: ModelIndex, new: ModelIndex, oldMappings: Mappings, newMappings: Mappings,
    affected: AffectedRows, edits: [RangeChange] = []
  ) {
    self.init(
      from: NaiveView(oldMappings, old), to: new, mappings: newMappings, affected: affected,
      edits: edits)
  }

  /// A change after earlier changes.
  init(
    from view: NaiveView, to new: ModelIndex, mappings: Mappings? = nil,
    affected: AffectedRows? = nil, edits: [RangeChange] = [], isDefinedAnew: Bool = false
  ) {
    old = view.index
    self.new = new
    oldView = view
    newView =
      isDefinedAnew
      ? view.clipped(to: new)
      : view.advanced(to: new, mappings: mappings ?? view.mappings, edits: edits)
    self.edits = edits
    self.affected = affected ?? affectedRows(from: view.index, to: new)
  }

  var oldMappings: Mappings { oldView.mappings }
  /// The requested mappings; range edits may apply to them.
  var newMappings: Mappings { newView.asked }
  var oldList: NaiveList { oldView.list }
  var newList: NaiveList { newView.list }

  /// The change directly after the reset to the old state.
  func change(limit: Int = .max) throws -> Change {
    var cursor = MappingCursor(oldMappings)
    _ = try cursor.reset(to: old, at: old.commit)
    return try cursor.advance(
      to: new, by: affected, mappings: newMappings, edits: edits, limit: limit)
  }
}

/// The identity of a row in a case: the row alone if it has at most one place on either side, else
/// the row in each group.
private struct Identity: Hashable {
  let row: RowReference
  let group: GroupName?
}

/// A row whose content must be drawn again.
struct ExpectedUpdate: Hashable {
  let from: RowPath
  let to: RowPath
  let parts: UInt8

  init(_ from: RowPath, _ to: RowPath, _ parts: Parts) {
    self.from = from
    self.to = to
    self.parts = parts.rawValue
  }
}

/// The expected result of a case, found by listing everything.
struct Expectation {
  private(set) var structuralCost = 0
  private(set) var updates: Set<ExpectedUpdate> = []
  private(set) var bystanderMoves = 0

  init(_ given: ChangeCase) {
    let old = given.oldList.parts
    let new = given.newList.parts
    let oldSections = old.map(\.identity)
    let newSections = new.map(\.identity)
    let live = Set(oldSections).intersection(newSections)
    let common = newSections.compactMap { oldSections.firstIndex(of: $0) }
    structuralCost =
      old.count - live.count + new.count - live.count + common.count
      - Self.longest(common, bystander: common.map { _ in false }).length
    func identity(_ row: RowReference, _ group: GroupName) -> Identity {
      let single =
        (given.old.rows[row]?.places.count ?? 0) <= 1
        && (given.new.rows[row]?.places.count ?? 0) <= 1
      return Identity(row: row, group: single ? nil : group)
    }
    func listing(_ view: NaiveView) -> [Identity: RowPath] {
      var paths: [Identity: RowPath] = [:]
      for (section, part) in view.list.parts.enumerated() where live.contains(part.identity) {
        for (index, row) in part.rows.enumerated() {
          let path = RowPath(section: section, row: index)
          paths[identity(row, view.owner(path))] = path
        }
      }
      return paths
    }
    let oldPaths = listing(given.oldView)
    let newPaths = listing(given.newView)
    for key in oldPaths.keys where newPaths[key] == nil { structuralCost += 1 }
    for (key, to) in newPaths {
      guard let from = oldPaths[key] else {
        structuralCost += 1
        continue
      }
      if oldSections[from.section] != newSections[to.section] { structuralCost += 1 }
      var parts = Self.parts(key.row, given)
      if Self.isDependent(key.row, from, to, given) { parts.insert(.dependency) }
      if !parts.isEmpty { updates.insert(ExpectedUpdate(from, to, parts)) }
    }
    for (section, part) in new.enumerated() where live.contains(part.identity) {
      var ranks: [Int] = []
      var bystander: [Bool] = []
      for (index, row) in part.rows.enumerated() {
        let to = RowPath(section: section, row: index)
        let group = given.newView.owner(to)
        guard let from = oldPaths[identity(row, group)],
          newPaths[identity(row, group)] == to,
          oldSections[from.section] == newSections[section]
        else { continue }
        ranks.append(from.row)
        bystander.append(
          given.oldView.owner(from) == group
            && given.old.rows[row]?.places[group] == given.new.rows[row]?.places[group]
            && Self.parts(row, given).isEmpty)
      }
      let best = Self.longest(ranks, bystander: bystander)
      structuralCost += ranks.count - best.length
      bystanderMoves += bystander.count(where: \.self) - best.bystanders
    }
  }

  /// The differing parts of a row's content, by the words of the contract.
  static func parts(_ row: RowReference, _ given: ChangeCase) -> Parts {
    guard let old = given.old.rows[row]?.content, let new = given.new.rows[row]?.content,
      given.old.rows[row]?.places.isEmpty == false, given.new.rows[row]?.places.isEmpty == false
    else { return [] }
    var parts: Parts = []
    let later = given.old.commit <= given.new.commit ? new : old
    if old.object != new.object { parts.insert(.object) }
    if old.metadata != new.metadata { parts.insert(.metadata) }
    if later.touched > min(given.old.commit, given.new.commit) { parts.insert(.touched) }
    return parts
  }

  /// Whether a row is drawn with a different or changed neighbour, by the words of the contract.
  private static func isDependent(
    _ row: RowReference, _ from: RowPath, _ to: RowPath, _ given: ChangeCase
  ) -> Bool {
    let oldGroup = given.oldView.owner(from)
    let newGroup = given.newView.owner(to)
    func neighbor(_ view: NaiveView, _ group: GroupName, _ offset: Int) -> RowReference? {
      let rows = view.rows(of: group)
      guard let index = rows.firstIndex(of: row) else { return nil }
      return rows.indices.contains(index + offset) ? rows[index + offset] : nil
    }
    return given.newView.mappings.neighbors(of: newGroup).contains { offset in
      let old = neighbor(given.oldView, oldGroup, offset)
      let new = neighbor(given.newView, newGroup, offset)
      if old != new { return true }
      return new.map { !parts($0, given).isEmpty } ?? false
    }
  }

  /// The length of the longest increasing subsequence and, among those, the largest number of
  /// bystanders in one. O(n^2).
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
