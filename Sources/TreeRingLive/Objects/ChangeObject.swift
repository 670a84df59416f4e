// A changeset as a JSON object, in one of four forms.

package import TreeRing
package import TreeRingLog
package import TreeRingMappings

/// The form of a changeset.
package enum ChangeForm: String, CaseIterable, Sendable { case batch, steps, placements, yap }

/// A change, and its pieces as JSON.
package struct ChangeObject {
  package let change: Change

  package init(_ change: Change) { self.change = change }

  // MARK: - Pieces

  package func json(_ path: RowPath) -> String { "[\(path.section),\(path.row)]" }
  package func json(_ row: RowID) -> String { JSONText.quoted(key: row.key.bytes) }
  package func json(_ group: GroupName) -> String { JSONText.quoted(key: group.bytes) }
  package func json(_ parts: Parts) -> String {
    JSONText.array(Self.names(of: parts).map { JSONText.quoted($0) })
  }
  private func json(_ sections: [Section]) -> String {
    JSONText.array(sections.map { "[\(json($0.group)),\($0.count)]" })
  }
  package static func names(of parts: Parts) -> [String] {
    let all: [(Parts, String)] = [
      (.object, "object"), (.metadata, "metadata"), (.touched, "touched"),
      (.dependency, "dependency"),
    ]
    return all.filter { parts.contains($0.0) }.map(\.1)
  }

  package func json(_ step: Step) -> String {
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

  // MARK: - Forms

  /// The members of the object in a form.
  package func members(_ form: ChangeForm) throws(TreeRingError) -> [(name: String, json: String)] {
    switch form {
    case .batch: batch()
    case .steps: [("steps", JSONText.array(change.changeset.steps().map { json($0) }))]
    case .placements:
      try placements().map { ($0.name, JSONText.array($0.elements)) }
    case .yap: try yap().map { ($0.name, JSONText.array($0.elements)) }
    }
  }

  /// Adds the whole change, with the members of a form.
  package func add(
    _ members: [(name: String, json: String)], to object: inout JSONObject
  ) {
    object.number("from", change.before.commit)
    object.number("to", change.after.commit)
    object.bool("reset", change.isReset)
    for (name, json) in members { object.raw(name, json) }
    object.raw("before", json(change.changeset.before))
    object.raw("after", json(change.changeset.after))
  }

  /// All operations at once, with old paths in the state before and new paths in the state after.
  private func batch() -> [(name: String, json: String)] {
    let (sections, rows) = (change.sections, change.rows)
    let moves = sections.moves.map { "[\($0.from),\($0.to)]" }
    let deletes = rows.deletes.map { json($0.path) }
    let inserts = rows.inserts.map { "[\($0.path.section),\($0.path.row),\(json($0.row))]" }
    let rowMoves = rows.moves.map { "[\(json($0.from)),\(json($0.to)),\(json($0.row))]" }
    let updates = rows.updates.map {
      "[\(json($0.from)),\(json($0.to)),\(json($0.row)),\(json($0.parts))]"
    }
    return [
      (
        "sections",
        "{\"delete\":\(JSONText.array(sections.deletes.map { "\($0)" })),"
          + "\"insert\":\(JSONText.array(sections.inserts.map { "\($0)" })),"
          + "\"move\":\(JSONText.array(moves))}"
      ),
      (
        "rows",
        "{\"delete\":\(JSONText.array(deletes)),\"insert\":\(JSONText.array(inserts)),"
          + "\"move\":\(JSONText.array(rowMoves)),\"update\":\(JSONText.array(updates))}"
      ),
    ]
  }

  /// Removals by key, and placements before a neighbour.
  package func placements() throws(TreeRingError) -> [(name: String, elements: [String])] {
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
    return [
      ("remove", remove), ("removeSections", placements.removeSections.map { json($0) }),
      ("placeSections", sections), ("place", place), ("update", update),
    ]
  }

  /// The change in the form of YapDatabase's views.
  package func yap() throws(TreeRingError) -> [(name: String, elements: [String])] {
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
    return [("sections", sections), ("rows", rows)]
  }
}
