// The lines of a board: a heading for each section and a line for each row. They are built once,
// from the first state; after that only steps of changesets modify them.

import TreeRing
import TreeRingLive
import TreeRingMappings

/// The lines of a board.
struct BoardLines {
  /// A change of the lines; its positions are those at the moment of the step.
  enum Edit: Equatable {
    case insert(Int)
    case delete(Int)
    case rewrite(Int)
  }

  struct Line {
    var text: String
    /// The row shown; nil for a heading.
    var row: RowID?
    /// The number of the change that inserted or rewrote the line.
    fileprivate(set) var change = 0
    var isHeading: Bool { row == nil }
  }

  /// Returns the text of a new or changed row.
  typealias Text = (RowID) throws -> String

  private var sections: [[Line]] = []
  /// The number of lines.
  private(set) var count = 0
  /// The number of changes so far.
  private var change = 0
  /// The rows that the last change inserted, deleted, moved or rewrote; after a reset all rows.
  private(set) var affected: Set<RowID> = []

  /// The lines at the positions that exist. O(sections + positions).
  func lines(at positions: Range<Int>) -> [Line] {
    var found: [Line] = []
    var first = 0
    for section in sections {
      let part = positions.clamped(to: first..<(first + section.count))
      if !part.isEmpty { found += section[(part.lowerBound - first)..<(part.upperBound - first)] }
      first += section.count
    }
    return found
  }

  /// Whether the last change inserted or rewrote a line; no line is new after a reset.
  func isNew(_ line: Line) -> Bool { line.change == change }

  /// Replaces all lines by those of a state: the first state, or one after a reset.
  mutating func reset(to shown: ShownRows, _ text: Text) throws {
    sections = []
    count = 0
    affected = []
    for section in shown.sections {
      sections.append(try lines(of: section, in: shown, text))
      count += section.count + 1
    }
    change += 1
  }

  /// Applies a changeset.
  /// - Returns: the edits of the lines, in order.
  mutating func apply(_ change: Change, _ text: Text) throws -> [Edit] {
    var edits: [Edit] = []
    affected = []
    self.change += 1
    for step in change.changeset.steps() {
      try apply(step, of: change.after, text, &edits)
    }
    let outline = change.after.outline
    for index in sections.indices {
      let heading = Self.heading(outline[index])
      if !sections[index][0].text.isSameName(as: heading) {
        sections[index][0] = Line(text: heading, change: self.change)
        edits.append(.rewrite(line(index, -1)))
      }
    }
    return edits
  }

  private mutating func apply(
    _ step: Step, of after: ShownRows, _ text: Text, _ edits: inout [Edit]
  ) throws {
    switch step {
    case .deleteRow(let row, let path):
      affected.insert(row)
      remove(path, &edits)
    case .insertRow(let row, let path):
      affected.insert(row)
      insert(Line(text: try text(row), row: row), path, &edits)
    case .moveRow(let row, let from, let to):
      affected.insert(row)
      insert(remove(from, &edits), to, &edits)
    case .updateRow(let row, let path, _):
      affected.insert(row)
      sections[path.section][path.row + 1] = Line(text: try text(row), row: row, change: change)
      edits.append(.rewrite(line(path.section, path.row)))
    case .deleteSection(let index):
      affected.formUnion(removeSection(index, &edits).compactMap(\.row))
    case .moveSection(let from, let to): insertSection(removeSection(from, &edits), to, &edits)
    case .insertSection(let section, let index):
      // The new section has all the rows it has in the state after the change.
      guard let shown = after.sections.first(where: { $0.group == section.group }) else { return }
      insertSection(try lines(of: shown, in: after, text), index, &edits)
    }
  }

  // MARK: Parts

  private static func heading(_ section: Section) -> String {
    "\(JSONText.shown(key: section.group.bytes))  (\(Units.count(section.count, "row")))"
  }

  /// The lines of a section with all its rows; adds the rows to `affected`. It finds rows by path,
  /// because a section as a collection cannot throw when the index is unreadable.
  private mutating func lines(
    of section: ShownSection, in shown: ShownRows, _ text: Text
  ) throws -> [Line] {
    let heading = Self.heading(Section(group: section.group, count: section.count))
    let rows = try section.indices.compactMap {
      try shown.row(at: RowPath(section: section.index, row: $0))
    }
    affected.formUnion(rows)
    return try [Line(text: heading)] + rows.map { Line(text: try text($0), row: $0) }
  }

  /// The position of a row's line, or of the heading for row -1. O(sections).
  private func line(_ section: Int, _ row: Int) -> Int {
    sections[..<section].reduce(0) { $0 + $1.count } + row + 1
  }

  @discardableResult
  private mutating func remove(_ path: RowPath, _ edits: inout [Edit]) -> Line {
    edits.append(.delete(line(path.section, path.row)))
    count -= 1
    return sections[path.section].remove(at: path.row + 1)
  }

  private mutating func insert(_ line: Line, _ path: RowPath, _ edits: inout [Edit]) {
    var line = line
    line.change = change
    edits.append(.insert(self.line(path.section, path.row)))
    count += 1
    sections[path.section].insert(line, at: path.row + 1)
  }

  @discardableResult
  private mutating func removeSection(_ index: Int, _ edits: inout [Edit]) -> [Line] {
    let first = line(index, -1)
    let lines = sections.remove(at: index)
    edits += lines.map { _ in .delete(first) }
    count -= lines.count
    return lines
  }

  private mutating func insertSection(_ lines: [Line], _ index: Int, _ edits: inout [Edit]) {
    let first = line(index, -1)
    sections.insert(lines, at: index)
    for row in lines.indices { sections[index][row].change = change }
    edits += lines.indices.map { .insert(first + $0) }
    count += lines.count
  }
}
