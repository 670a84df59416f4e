// Changesets as `treering changes` prints them.

import TreeRing
import TreeRingLog
import TreeRingMappings

/// Prints one change in one of its forms.
struct ChangePrinter {
  let output: Output
  let change: Change

  // MARK: - Pieces of JSON

  private func json(_ path: RowPath) -> String { "[\(path.section),\(path.row)]" }
  private func json(_ row: RowID) -> String { JSONText.quoted(key: row.key.bytes) }
  private func json(_ group: GroupName) -> String { JSONText.quoted(key: group.bytes) }
  private func json(_ parts: Parts) -> String {
    JSONText.array(names(of: parts).map { JSONText.quoted($0) })
  }
  private func json(_ sections: [Section]) -> String {
    JSONText.array(sections.map { "[\(json($0.group)),\($0.count)]" })
  }
  private func names(of parts: Parts) -> [String] {
    let all: [(Parts, String)] = [
      (.object, "object"), (.metadata, "metadata"), (.touched, "touched"),
      (.dependency, "dependency"),
    ]
    return all.filter { parts.contains($0.0) }.map(\.1)
  }

  private func head(_ object: inout JSONObject) {
    object.number("from", change.before.commit)
    object.number("to", change.after.commit)
    object.bool("reset", change.isReset)
  }

  private func tail(_ object: inout JSONObject) {
    object.raw("before", json(change.changeset.before))
    object.raw("after", json(change.changeset.after))
  }

  // MARK: - Forms

  /// All operations at once, with old paths in the state before and new paths in the state after.
  func batch() throws {
    guard output.isJSON else { return try text() }
    let (sections, rows) = (change.sections, change.rows)
    try output.object {
      head(&$0)
      let moves = sections.moves.map { "[\($0.from),\($0.to)]" }
      $0.raw(
        "sections",
        "{\"delete\":\(JSONText.array(sections.deletes.map { "\($0)" })),"
          + "\"insert\":\(JSONText.array(sections.inserts.map { "\($0)" })),"
          + "\"move\":\(JSONText.array(moves))}")
      let deletes = rows.deletes.map { json($0.path) }
      let inserts = rows.inserts.map { "[\($0.path.section),\($0.path.row),\(json($0.row))]" }
      let rowMoves = rows.moves.map { "[\(json($0.from)),\(json($0.to)),\(json($0.row))]" }
      let updates = rows.updates.map {
        "[\(json($0.from)),\(json($0.to)),\(json($0.row)),\(json($0.parts))]"
      }
      $0.raw(
        "rows",
        "{\"delete\":\(JSONText.array(deletes)),\"insert\":\(JSONText.array(inserts)),"
          + "\"move\":\(JSONText.array(rowMoves)),\"update\":\(JSONText.array(updates))}")
      tail(&$0)
    }
  }

  /// One operation after the other, with the positions at the moment of each.
  func steps() throws {
    let steps = change.changeset.steps()
    guard output.isJSON else {
      try title()
      for step in steps { try output.line(json(step)) }
      return
    }
    try output.object {
      head(&$0)
      $0.raw("steps", JSONText.array(steps.map { json($0) }))
      tail(&$0)
    }
  }

  private func json(_ step: Step) -> String {
    switch step {
    case .deleteRow(_, let path): "[\"deleteRow\",\(json(path))]"
    case .deleteSection(let section): "[\"deleteSection\",\(section)]"
    case .insertSection(let section, let index):
      "[\"insertSection\",\(index),\(json(section.group)),\(section.count)]"
    case .moveSection(let from, let to): "[\"moveSection\",\(from),\(to)]"
    case .insertRow(let row, let path): "[\"insertRow\",\(json(path)),\(json(row))]"
    case .moveRow(let row, let from, let to):
      "[\"moveRow\",\(json(from)),\(json(to)),\(json(row))]"
    case .updateRow(let row, let path, let parts):
      "[\"updateRow\",\(json(path)),\(json(row)),\(json(parts))]"
    }
  }

  /// Removals by key, and placements before a neighbour.
  func placements() throws {
    let placements = try change.placements()
    let remove = placements.remove.map { "[\(json($0.group)),\(json($0.row))]" }
    let sections = placements.placeSections.map {
      "[\(json($0.group)),\($0.isNew),\($0.before.map { json($0) } ?? "null")]"
    }
    let place = placements.place.map {
      "[\(json($0.section)),\(json($0.member.row)),\($0.from.map { json($0) } ?? "null"),"
        + "\($0.before.map { json($0.row) } ?? "null")]"
    }
    let update = placements.update.map {
      "[\(json($0.member.group)),\(json($0.member.row)),\(json($0.parts))]"
    }
    let parts = [
      ("remove", remove), ("removeSections", placements.removeSections.map { json($0) }),
      ("placeSections", sections), ("place", place), ("update", update),
    ]
    guard output.isJSON else {
      try title()
      for (name, lines) in parts { for line in lines { try output.line("\(name) \(line)") } }
      return
    }
    try output.object {
      head(&$0)
      for (name, lines) in parts { $0.raw(name, JSONText.array(lines)) }
      tail(&$0)
    }
  }

  /// The change in the form of YapDatabase's views.
  func yap() throws {
    let legacy = try change.legacy()
    func optional(_ text: String?) -> String { text ?? "null" }
    let sections = legacy.sections.map {
      "[\(JSONText.quoted($0.kind.rawValue)),\(json($0.group)),"
        + "\(optional($0.originalSection.map { "\($0)" })),"
        + "\(optional($0.finalSection.map { "\($0)" }))]"
    }
    let rows = legacy.rows.map {
      "[\(JSONText.quoted($0.kind.rawValue)),\(json($0.row)),"
        + "\(optional($0.originalGroup.map { json($0) })),"
        + "\(optional($0.original.map { json($0) })),"
        + "\(optional($0.finalGroup.map { json($0) })),\(optional($0.final.map { json($0) })),"
        + "\(json($0.parts))]"
    }
    guard output.isJSON else {
      try title()
      for line in sections { try output.line("section \(line)") }
      for line in rows { try output.line("row \(line)") }
      return
    }
    try output.object {
      head(&$0)
      $0.raw("sections", JSONText.array(sections))
      $0.raw("rows", JSONText.array(rows))
      tail(&$0)
    }
  }

  // MARK: - For people

  private func title() throws {
    try output.line(
      "Commit \(change.before.commit) to \(change.after.commit): "
        + (change.isReset ? "reset" : Units.count(change.changeset.count, "operation")))
  }

  private func text() throws {
    try title()
    let (sections, rows) = (change.sections, change.rows)
    let (old, new) = (change.changeset.before, change.changeset.after)
    for index in sections.deletes { try output.line("- section \(index) \(old[index].group)") }
    for index in sections.inserts {
      try output.line(
        "+ section \(index) \(new[index].group), \(Units.count(new[index].count, "row"))")
    }
    for move in sections.moves {
      try output.line("> section \(move.from) → \(move.to) \(new[move.to].group)")
    }
    for delete in rows.deletes { try output.line("- \(delete.path) \(delete.row)") }
    for insert in rows.inserts { try output.line("+ \(insert.path) \(insert.row)") }
    for move in rows.moves { try output.line("> \(move.from) → \(move.to) \(move.row)") }
    for update in rows.updates {
      try output.line(
        "* \(update.to) \(update.row): \(names(of: update.parts).joined(separator: ", "))")
    }
    let shown = new.map { "\($0.group) \($0.count)" }.joined(separator: ", ")
    try output.line("Now: " + (shown.isEmpty ? "nothing" : shown))
  }
}
