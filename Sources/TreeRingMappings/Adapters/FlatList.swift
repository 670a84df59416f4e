// A list of sections as one list of lines, for views that only have rows. The rows of each section
// follow one another, optionally behind a line for the section itself.

/// The lines of the rows of all sections, updated step by step.
public struct FlatList: Hashable, Sendable {
  /// An edit of lines, in the positions at the time it is applied.
  public enum Edit: Hashable, Sendable {
    /// Removes lines.
    case remove(Range<Int>)
    /// Inserts lines.
    case insert(Range<Int>)
    /// Takes a line out and inserts it at its final position.
    case move(from: Int, to: Int)
    /// Refreshes the line at this position, whose content changed.
    case refresh(Int)
  }

  /// Whether each section has a line of its own before its rows.
  public let showsSections: Bool
  private var counts: [Int]

  /// The lines of these sections.
  public init(_ outline: [Section] = [], showingSections showsSections: Bool) {
    self.showsSections = showsSections
    counts = outline.map(\.count)
  }

  /// The number of lines. O(sections).
  public var count: Int { start(ofSection: counts.count) }

  /// The line of a row. O(sections).
  public func line(of path: RowPath) -> Int {
    start(ofSection: path.section) + (showsSections ? 1 : 0) + path.row
  }

  /// The section of a line, and the row in it; a nil row is the section's own line. Nil if there is
  /// no such line. O(sections).
  public func place(ofLine line: Int) -> (section: Int, row: Int?)? {
    var rest = line
    if rest < 0 { return nil }
    for (section, count) in counts.enumerated() {
      let length = count + (showsSections ? 1 : 0)
      if rest < length {
        if showsSections { return (section, rest == 0 ? nil : rest - 1) }
        return (section, rest)
      }
      rest -= length
    }
    return nil
  }

  /// Applies a step of a changeset and returns its edits of the lines. O(sections), and O(rows) of
  /// a section that moves.
  public mutating func apply(_ step: Step) -> [Edit] {
    switch step {
    case .deleteRow(_, let path):
      let line = line(of: path)
      counts[path.section] -= 1
      return [.remove(line..<(line + 1))]
    case .insertRow(_, let path):
      counts[path.section] += 1
      let line = line(of: path)
      return [.insert(line..<(line + 1))]
    case .moveRow(_, let from, let to):
      let old = line(of: from)
      counts[from.section] -= 1
      counts[to.section] += 1
      let new = line(of: to)
      return old == new ? [] : [.move(from: old, to: new)]
    case .updateRow(_, let path, _): return [.refresh(line(of: path))]
    case .deleteSection(let section):
      let lines = lines(ofSection: section)
      counts.remove(at: section)
      return lines.isEmpty ? [] : [.remove(lines)]
    case .insertSection(let section, let index):
      counts.insert(section.count, at: index)
      let lines = lines(ofSection: index)
      return lines.isEmpty ? [] : [.insert(lines)]
    case .moveSection(let from, let to):
      let old = lines(ofSection: from)
      counts.insert(counts.remove(at: from), at: to)
      let new = lines(ofSection: to)
      if old == new { return [] }
      // Downward, each time the first line moves to the end; upward, each moves to its own
      // position.
      return old.indices.map { index in
        old.lowerBound < new.lowerBound
          ? .move(from: old.lowerBound, to: new.upperBound - 1)
          : .move(from: index, to: new.lowerBound + index - old.lowerBound)
      }
    }
  }

  private func start(ofSection section: Int) -> Int {
    counts[..<section].reduce(showsSections ? section : 0, +)
  }

  private func lines(ofSection section: Int) -> Range<Int> {
    let start = start(ofSection: section)
    return start..<(start + counts[section] + (showsSections ? 1 : 0))
  }
}
