// The properties of every change. Each check returns its violations; an empty result is a pass.

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// All violations by the change that the algorithm returns for a case.
///
/// - Parameter looksAfter: whether to look up every row of the new state.
func violations(_ given: ChangeCase, looksAfter: Bool = true) -> [(Property, String)] {
  do {
    return violations(of: try given.change(), in: given, looksAfter: looksAfter)
  } catch {
    return [(.reset, "\(error)")]
  }
}

/// All violations by a change.
func violations(
  of change: Change, in given: ChangeCase, looksAfter: Bool = true
) -> [(Property, String)] {
  if change.isReset { return [(.reset, "reset without need")] }
  let checker = ChangeChecker(given: given, change: change)
  var found = checker.validity().map { (Property.valid, $0) }
  found += checker.optimum()
  // An invalid script may not be applicable at all.
  guard found.allSatisfy({ $0.0 != .valid }) else { return found }
  found += checker.batch().map { (.batch, $0) }
  found += checker.steps()
  found += checker.keyed().map { (.keyed, $0) }
  found += checker.stages(.conservative).map { (.stages, $0) }
  // If both policies give the same stages, one check suffices.
  if change.changeset.stages(.combined) != change.changeset.stages(.conservative) {
    found += checker.stages(.combined).map { (.stages, $0) }
  }
  found += checker.legacy().map { (.legacy, $0) }
  found += checker.lookups(change.before, given.oldView).map { (.before, $0) }
  if looksAfter { found += checker.lookups(change.after, given.newView).map { (.after, $0) } }
  return found
}

/// All violations by the decision for a reset in a case, and by the reset.
func limitViolations(_ given: ChangeCase) -> [(Property, String)] {
  do {
    let count = try given.change().changeset.count
    var found: [(Property, String)] = []
    if try given.change(limit: count).isReset {
      found.append((.reset, "a reset at the limit, \(count)"))
    }
    guard count > 0 else { return found }
    let reset = try given.change(limit: count - 1)
    if !reset.isReset || !reset.changeset.isEmpty || reset.isEmpty {
      found.append((.reset, "no reset over the limit, \(count - 1)"))
    }
    if reset.after.outline != given.newList.sections {
      found.append((.reset, "the reset shows \(reset.after.outline)"))
    }
    return found
  } catch {
    return [(.reset, "\(error)")]
  }
}

struct ChangeChecker {
  let given: ChangeCase
  let change: Change
  let old: NaiveList
  let new: NaiveList

  init(given: ChangeCase, change: Change) {
    self.given = given
    self.change = change
    old = given.oldList
    new = given.newList
  }

  /// The validity rules of a changeset, without the order of the remaining rows (see `batch`).
  func validity() -> [String] {
    var problems: [String] = []
    let set = change.changeset
    if set.before != old.sections { problems.append("before: \(set.before) != \(old.sections)") }
    if set.after != new.sections { problems.append("after: \(set.after) != \(new.sections)") }
    let rows = set.rows
    let sections = set.sections
    func once<T: Hashable>(_ values: [T], _ what: String) {
      if Set(values).count != values.count { problems.append("\(what) twice: \(values)") }
    }
    once(sections.deletes + sections.moves.map(\.from), "old section")
    once(sections.inserts + sections.moves.map(\.to), "new section")
    once(rows.deletes.map(\.path) + rows.moves.map(\.from), "old path")
    once(rows.inserts.map(\.path) + rows.moves.map(\.to), "new path")
    once(rows.updates.map(\.to), "update")
    once(rows.updates.map(\.from), "update")
    let deleted = Set(sections.deletes)
    let inserted = Set(sections.inserts)
    func check(_ row: RowID, from: RowPath?, to: RowPath?, _ what: String) {
      if let from, deleted.contains(from.section) || old.row(from) != row.reference {
        problems.append("\(what) of \(row) from \(from)")
      }
      if let to, inserted.contains(to.section) || new.row(to) != row.reference {
        problems.append("\(what) of \(row) to \(to)")
      }
    }
    for delete in rows.deletes { check(delete.row, from: delete.path, to: nil, "delete") }
    for insert in rows.inserts { check(insert.row, from: nil, to: insert.path, "insert") }
    for move in rows.moves { check(move.row, from: move.from, to: move.to, "move") }
    for update in rows.updates { check(update.row, from: update.from, to: update.to, "update") }
    for section in sections.deletes where !old.parts.indices.contains(section) {
      problems.append("deleted section \(section)")
    }
    for section in sections.inserts where !new.parts.indices.contains(section) {
      problems.append("inserted section \(section)")
    }
    for move in sections.moves
    where !old.parts.indices.contains(move.from) || !new.parts.indices.contains(move.to)
      || old.parts[move.from].group != new.parts[move.to].group
    {
      problems.append("section move \(move)")
    }
    return problems
  }

  /// Checks that no valid changeset has fewer operations, and that no bystander moves needlessly.
  func optimum() -> [(Property, String)] {
    var found: [(Property, String)] = []
    let expected = Expectation(given)
    let rows = change.rows
    let structural = change.changeset.count - rows.updates.count
    if structural != expected.structuralCost {
      found.append((.minimal, "\(structural) operations, not \(expected.structuralCost)"))
    }
    let updates = Set(rows.updates.map { ExpectedUpdate($0.from, $0.to, $0.parts) })
    if updates != expected.updates {
      found.append((.updates, "\(updates), not \(expected.updates)"))
    }
    let bystanders = rows.moves.count { move in
      guard old.row(move.from) != nil, new.row(move.to) != nil else { return false }
      let group = given.oldView.owner(move.from)
      return given.newView.owner(move.to) == group
        && given.old.rows[move.row.reference]?.places[group] != nil
        && given.old.rows[move.row.reference]?.places[group]
          == given.new.rows[move.row.reference]?.places[group]
        && Expectation.parts(move.row.reference, given).isEmpty
    }
    if bystanders > expected.bystanderMoves {
      found.append((.bystanders, "\(bystanders) moved, not \(expected.bystanderMoves)"))
    }
    return found
  }

  /// Applies structural operations as a set.
  func batch() -> [String] {
    let result = BatchList(old).applying(change.sections, change.rows) { new.parts[$0] }
    switch result {
    case .failure(let problem): return [problem.text]
    case .success(let list): return list == new ? [] : ["gives \(list), not \(new)"]
    }
  }

  /// Applies the steps in order.
  func steps() -> [(Property, String)] {
    let steps = change.changeset.steps()
    var found: [(Property, String)] = []
    if steps.count != change.changeset.count {
      found.append((.stepCount, "\(steps.count) steps for \(change.changeset.count) operations"))
    }
    var parts = old.parts
    func holds(_ path: RowPath, room: Int) -> Bool {
      parts.indices.contains(path.section) && path.row >= 0
        && path.row < parts[path.section].rows.count + room
    }
    for step in steps {
      let problem = (Property.steps, "cannot apply \(step)")
      switch step {
      case .deleteRow(let row, let path):
        guard holds(path, room: 0) else { return found + [problem] }
        if parts[path.section].rows.remove(at: path.row) != row.reference { found.append(problem) }
      case .deleteSection(let section):
        guard parts.indices.contains(section) else { return found + [problem] }
        parts.remove(at: section)
      case .insertSection(let section, let index):
        guard index <= parts.count, let part = new.parts.first(where: { $0.group == section.group })
        else { return found + [problem] }
        parts.insert(part, at: index)
      case .moveSection(let from, let to):
        guard parts.indices.contains(from), to < parts.count else { return found + [problem] }
        if from == to { found.append(problem) }
        parts.insert(parts.remove(at: from), at: to)
      case .insertRow(let row, let path):
        guard holds(path, room: 1) else { return found + [problem] }
        parts[path.section].rows.insert(row.reference, at: path.row)
      case .moveRow(let row, let from, let to):
        guard holds(from, room: 0), from != to else { return found + [problem] }
        let taken = parts[from.section].rows.remove(at: from.row)
        guard taken == row.reference, holds(to, room: 1) else { return found + [problem] }
        parts[to.section].rows.insert(taken, at: to.row)
      case .updateRow(let row, let path, _):
        guard new.row(path) == row.reference else { return found + [problem] }
      }
    }
    if NaiveList(parts) != new { found.append((.steps, "give \(parts), not \(new.parts)")) }
    return found
  }

  /// Applies the placements to a keyed list, like a web page.
  func keyed() -> [String] {
    typealias Member = Placements.Member
    guard let placements = try? change.placements() else { return ["cannot be read"] }
    func keyed(_ view: NaiveView) -> [(group: GroupName, members: [Member])] {
      view.list.parts.enumerated().map { section, part in
        let members = part.rows.enumerated().map { index, row in
          Member(group: view.owner(RowPath(section: section, row: index)), row: RowID(row))
        }
        return (part.group, members)
      }
    }
    var parts = keyed(given.oldView)
    let goal = keyed(given.newView)
    func list(_ group: GroupName) -> Int? { parts.firstIndex { $0.group == group } }
    func take(_ member: Member) -> Bool {
      for section in parts.indices {
        guard let index = parts[section].members.firstIndex(of: member) else { continue }
        parts[section].members.remove(at: index)
        return true
      }
      return false
    }
    for member in placements.remove where !take(member) { return ["cannot remove \(member)"] }
    parts.removeAll { placements.removeSections.contains($0.group) }
    for placement in placements.placeSections {
      var part = goal.first { $0.group == placement.group }
      if !placement.isNew {
        guard let index = list(placement.group) else { return ["cannot move \(placement)"] }
        part = parts.remove(at: index)
      }
      guard let part else { return ["no section for \(placement)"] }
      guard let before = placement.before else {
        parts.append(part)
        continue
      }
      guard let anchor = list(before) else { return ["no anchor for \(placement)"] }
      parts.insert(part, at: anchor)
    }
    for placement in placements.place {
      if let group = placement.from, !take(Member(group: group, row: placement.member.row)) {
        return ["cannot move \(placement)"]
      }
      guard let section = list(placement.section) else { return ["no section for \(placement)"] }
      var index = parts[section].members.count
      if let before = placement.before {
        guard let anchor = parts[section].members.firstIndex(of: before) else {
          return ["no anchor for \(placement)"]
        }
        index = anchor
      }
      parts[section].members.insert(placement.member, at: index)
    }
    let isSame = parts.elementsEqual(goal) { $0.group == $1.group && $0.members == $1.members }
    return isSame ? [] : ["gives \(parts), not \(goal)"]
  }

  /// Applies the stages to a model of a table view that makes the checks of table views. The state
  /// of each stage is the data source.
  func stages(_ policy: StagePolicy) -> [String] {
    var view = BatchList(old)
    for stage in change.changeset.stages(policy) {
      if let problem = view.refuses(stage.sections, stage.rows, policy: policy) {
        return [problem]
      }
      var source: [NaiveList.Part] = []
      for (section, shown) in stage.state.sections.enumerated() {
        var part = NaiveList.Part(group: shown.group, rows: [])
        for row in 0..<shown.count {
          let path = RowPath(section: section, row: row)
          var found: RowReference?
          switch stage.state.source(of: path) {
          case .before(let old): found = try? change.before.row(at: old)?.reference
          case .after(let new): found = try? change.after.row(at: new)?.reference
          case nil: break
          }
          guard let found else { return ["stage shows nothing at \(path)"] }
          part.rows.append(found)
        }
        source.append(part)
      }
      switch view.applying(stage.sections, stage.rows, inserted: { source[$0] }) {
      case .failure(let problem): return [problem.text]
      case .success(let list):
        guard list == NaiveList(source) else {
          return ["stage \(stage) gives \(list), its state says \(source)"]
        }
        view = BatchList(list)
      }
    }
    return view.list == new ? [] : ["stages give \(view.list), not \(new)"]
  }

  /// Applies the legacy list as a set, including rows of deleted and inserted sections.
  func legacy() -> [String] {
    guard let legacy = try? change.legacy() else { return ["cannot be read"] }
    var problems: [String] = []
    // While one section shows all groups, its name stands for them.
    var kept = Dictionary(
      uniqueKeysWithValues: old.parts.map { ($0.identity, $0.rows.map(Optional.some)) })
    var arrivals: [RowPath: RowReference] = [:]
    for change in legacy.rows {
      if let path = change.original {
        if old.row(path) != change.row.reference
          || given.oldView.owner(path) != change.originalGroup
        {
          problems.append("\(change) does not start there")
        } else if change.kind != .update {
          let taken = kept[old.parts[path.section].identity]?[path.row]
          if taken == nil { problems.append("\(change) is taken twice") }
          kept[old.parts[path.section].identity]?[path.row] = nil
        }
      }
      if let path = change.final {
        if new.row(path) != change.row.reference
          || given.newView.owner(path) != change.finalGroup
        {
          problems.append("\(change) does not end there")
        } else if change.kind != .update {
          if arrivals[path] != nil { problems.append("\(change) is put twice") }
          arrivals[path] = change.row.reference
        }
      }
    }
    for (section, part) in new.parts.enumerated() {
      var staying = (kept[part.identity] ?? []).compactMap(\.self).makeIterator()
      let rows = part.rows.indices.map { row in
        arrivals[RowPath(section: section, row: row)] ?? staying.next()
      }
      if rows != part.rows { problems.append("\(part.group): \(rows), not \(part.rows)") }
      if staying.next() != nil { problems.append("\(part.group) keeps too many rows") }
    }
    for update in change.rows.updates where update.parts.contains(.dependency) {
      if legacy.rows.count(where: { $0.final == update.to && $0.parts == update.parts }) != 1 {
        problems.append("\(update) is not listed")
      }
    }
    return problems
  }

  /// Every lookup of a state, both ways, against the full list.
  func lookups(_ shown: ShownRows, _ view: NaiveView) -> [String] {
    let list = view.list
    var problems: [String] = []
    if shown.outline != list.sections { problems.append("sections \(shown.outline)") }
    if shown.isConsolidated != (list.parts.first?.isConsolidated ?? false) {
      problems.append("is it consolidated?")
    }
    if shown.isEmpty != list.parts.allSatisfy(\.rows.isEmpty) { problems.append("is it empty?") }
    if shown.rowCount != list.parts.reduce(0, { $0 + $1.rows.count }) {
      problems.append("\(shown.rowCount) rows")
    }
    if shown.sections.map({ $0.map(\.reference) }) != list.parts.map(\.rows) {
      problems.append("the collections differ")
    }
    var paths: [RowReference: [RowPath]] = [:]
    for (section, part) in list.parts.enumerated() {
      if shown.section(of: part.group) != section || shown.group(ofSection: section) != part.group {
        problems.append("section \(section)")
      }
      for (index, row) in part.rows.enumerated() {
        let path = RowPath(section: section, row: index)
        paths[row, default: []].append(path)
        if (try? shown.row(at: path))?.reference != row { problems.append("row at \(path)") }
        if shown.group(at: path) != view.owner(path) { problems.append("group at \(path)") }
      }
      let end = RowPath(section: section, row: part.rows.count)
      if (try? shown.row(at: end)) != nil { problems.append("row behind the end of \(section)") }
    }
    for row in Set(given.old.rows.keys).union(given.new.rows.keys) {
      if (try? shown.paths(of: RowID(row))) != paths[row] ?? [] {
        problems.append("paths of \(row)")
      }
      if (try? shown.nearestPath(to: RowID(row))) != view.nearestPath(to: row) {
        problems.append("nearest path to \(row)")
      }
    }
    for group in Set(view.index.entries.keys).union(view.mappings.groups ?? []) {
      if shown.rangePosition(of: group) != view.rangePosition(of: group) {
        problems.append("range of \(group)")
      }
    }
    return problems
  }
}
