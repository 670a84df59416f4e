// Changesets as `treering changes` prints them.

import TreeRing
import TreeRingLive
import TreeRingLog
import TreeRingMappings

/// Prints one change in one of its forms.
struct ChangePrinter {
  let output: Output
  let change: Change

  func print(_ form: ChangeForm) throws {
    let object = ChangeObject(change)
    if output.isJSON {
      let members = try object.members(form)
      return try output.object { object.add(members, to: &$0) }
    }
    switch form {
    case .batch: try text()
    case .steps:
      try title()
      for step in change.changeset.steps() { try output.line(object.json(step)) }
    case .placements:
      try title()
      for (name, lines) in try object.placements() {
        for line in lines { try output.line("\(name) \(line)") }
      }
    case .yap:
      try title()
      // The singular of `sections` and `rows`.
      for (name, lines) in try object.yap() {
        for line in lines { try output.line("\(name.dropLast()) \(line)") }
      }
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
      let parts = ChangeObject.names(of: update.parts).joined(separator: ", ")
      try output.line(
        "* \(update.to) \(update.row): \(parts)"
      )
    }
    let shown = new.map { "\($0.group) \($0.count)" }.joined(separator: ", ")
    try output.line("Now: " + (shown.isEmpty ? "nothing" : shown))
  }
}
