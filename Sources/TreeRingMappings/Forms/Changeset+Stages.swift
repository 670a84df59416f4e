// Batch updates, for views that take a set of operations at once.
//
// Structure comes before content. A view that reloads a row inside a batch turns it into a delete
// and an insert, at an index that ignores moves. So a row that moved and changed is moved in a
// batch and refreshed afterwards, at its new path.
//
// If a moved section also has rows that come, go or move, the structure is split in three, so that
// no batch holds both: (a) deletes of sections and rows, (b) section moves and inserts, (c) row
// inserts and moves. Every stage carries the state of the view after it.

/// The conditions for splitting the structure of a changeset into several batches.
public enum StagePolicy: Hashable, Sendable {
  /// Splits only if a moved section also changes.
  case combined
  /// Splits also if rows move while sections come or go, for views that are unreliable there.
  case conservative
}

/// One batch of operations, and the state it leads to.
public struct Stage: Hashable, Sendable {
  /// The section operations, from the state before this stage to the one after it.
  public let sections: SectionChanges
  /// The row operations, in the paths of this stage. A stage with updates has no other operations;
  /// refresh its rows in place.
  public let rows: RowChanges
  /// The state after the stage.
  public let state: StageState
}

/// The rows shown after a stage.
public struct StageState: Hashable, Sendable {
  /// The location of a row that a stage shows.
  public enum Source: Hashable, Sendable {
    /// The row at this path of the state before the change.
    case before(RowPath)
    /// The row at this path of the state after the change.
    case after(RowPath)
  }

  /// The sections, in order.
  public let sections: [Section]
  /// Per section its old section and the deleted rows of that; empty for the final state.
  fileprivate let origins: [Origin]

  fileprivate enum Origin: Hashable, Sendable {
    case old(section: Int, gone: [Int])
    case new(section: Int)
  }

  /// The source of the row at a path; nil if there is none. O(log k).
  public func source(of path: RowPath) -> Source? {
    guard sections.indices.contains(path.section), path.row >= 0,
      path.row < sections[path.section].count
    else { return nil }
    guard !origins.isEmpty else { return .after(path) }
    switch origins[path.section] {
    case .old(let section, let gone):
      let alignment = Alignment(removed: gone)
      return .before(RowPath(section: section, row: alignment.oldPosition(ofKept: path.row)))
    case .new(let section):
      return .after(RowPath(section: section, row: path.row))
    }
  }
}

extension Changeset {
  /// The changeset as batches to apply in order: structure, then content. O(operations + sections).
  public func stages(_ policy: StagePolicy = .conservative) -> [Stage] {
    let final = StageState(sections: after, origins: [])
    var structure = rows
    structure.updates = []
    var stages = [Stage(sections: sections, rows: structure, state: final)]
    if needsSplit(policy) { stages = splitStructure(into: final) }
    let content = rows.updates.map {
      RowUpdate(row: $0.row, from: $0.to, to: $0.to, parts: $0.parts)
    }
    stages.append(
      Stage(sections: SectionChanges(), rows: RowChanges(updates: content), state: final))
    return stages.filter { !$0.sections.isEmpty || !$0.rows.isEmpty }
  }

  private func needsSplit(_ policy: StagePolicy) -> Bool {
    if policy == .conservative, !rows.moves.isEmpty,
      !sections.deletes.isEmpty || !sections.inserts.isEmpty
    {
      return true
    }
    guard !sections.moves.isEmpty else { return false }
    let movedFrom = Set(sections.moves.map(\.from))
    let movedTo = Set(sections.moves.map(\.to))
    return rows.deletes.contains { movedFrom.contains($0.path.section) }
      || rows.inserts.contains { movedTo.contains($0.path.section) }
      || rows.moves.contains {
        movedFrom.contains($0.from.section) || movedTo.contains($0.to.section)
      }
  }

  private func splitStructure(into final: StageState) -> [Stage] {
    let (before, after) = (before, after)
    let arrangement = Arrangement(of: self)
    func surviving(_ section: Int) -> (Section, StageState.Origin) {
      let gone = arrangement.gone[section] ?? []
      return (
        Section(
          group: before[section].group, count: before[section].count - gone.count,
          isConsolidated: before[section].isConsolidated),
        .old(section: section, gone: gone)
      )
    }
    let deletes = Alignment(removed: sections.deletes)
    let shrunk = (0..<(before.count - sections.deletes.count)).map {
      surviving(deletes.oldPosition(ofKept: $0))
    }
    let arranged = after.indices.map { section in
      arrangement.section(before: section).map(surviving)
        ?? (after[section], .new(section: section))
    }
    let sectionMoves = sections.moves.map {
      SectionMove(from: deletes.keptBefore(old: $0.from), to: $0.to)
    }
    let rowMoves = rows.moves.map {
      RowMove(row: $0.row, from: arrangement.path(of: $0.from), to: $0.to)
    }
    return [
      Stage(
        sections: SectionChanges(deletes: sections.deletes),
        rows: RowChanges(deletes: rows.deletes),
        state: StageState(sections: shrunk.map(\.0), origins: shrunk.map(\.1))),
      Stage(
        sections: SectionChanges(inserts: sections.inserts, moves: sectionMoves),
        rows: RowChanges(),
        state: StageState(sections: arranged.map(\.0), origins: arranged.map(\.1))),
      Stage(
        sections: SectionChanges(), rows: RowChanges(inserts: rows.inserts, moves: rowMoves),
        state: final),
    ]
  }
}

/// The rows and sections of the old state once deleted rows are gone and the sections are the new
/// ones.
struct Arrangement {
  /// The deleted rows of each old section, ascending.
  let gone: [Int: [Int]]
  /// The sections that neither move nor come nor go.
  private let staying: Alignment
  private let newOfMoved: [Int: Int]
  private let oldOfMoved: [Int: Int]

  init(of changeset: Changeset) {
    gone = Dictionary(grouping: changeset.rows.deletes, by: \.path.section)
      .mapValues { $0.map(\.path.row) }
    let (sections, moves) = (changeset.sections, changeset.sections.moves)
    staying = Alignment(
      removed: (sections.deletes + moves.map(\.from)).sorted(),
      added: (sections.inserts + moves.map(\.to)).sorted())
    newOfMoved = Dictionary(uniqueKeysWithValues: moves.map { ($0.from, $0.to) })
    oldOfMoved = Dictionary(uniqueKeysWithValues: moves.map { ($0.to, $0.from) })
  }

  /// The path of an old row that leaves a surviving section.
  func path(of row: RowPath) -> RowPath {
    let kept = staying.keptBefore(old: row.section)
    return RowPath(
      section: newOfMoved[row.section] ?? staying.newPosition(ofKept: kept),
      row: Alignment(removed: gone[row.section] ?? []).keptBefore(old: row.row))
  }

  /// The old position of a new section; nil if it was inserted.
  func section(before section: Int) -> Int? {
    switch staying.newElement(at: section) {
    case .unmatched: oldOfMoved[section]
    case .kept(let kept): staying.oldPosition(ofKept: kept)
    }
  }
}
