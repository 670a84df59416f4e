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
    var stages: [Stage] = []
    if needsSplit(policy) {
      stages = splitStructure(into: final)
    } else if !sections.isEmpty || !structure.isEmpty {
      stages = [Stage(sections: sections, rows: structure, state: final)]
    }
    if !rows.updates.isEmpty {
      var content = RowChanges()
      content.updates = rows.updates.map {
        RowUpdate(row: $0.row, from: $0.to, to: $0.to, parts: $0.parts)
      }
      stages.append(Stage(sections: SectionChanges(), rows: content, state: final))
    }
    return stages
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
    var gone: [Int: [Int]] = [:]
    for delete in rows.deletes { gone[delete.path.section, default: []].append(delete.path.row) }
    let (before, after) = (before, after)
    func surviving(_ section: Int) -> (Section, StageState.Origin) {
      let gone = gone[section] ?? []
      return (
        Section(
          group: before[section].group, count: before[section].count - gone.count,
          isConsolidated: before[section].isConsolidated),
        .old(section: section, gone: gone)
      )
    }
    let deleted = Set(sections.deletes)
    let remaining = before.indices.filter { !deleted.contains($0) }
    let position = Dictionary(uniqueKeysWithValues: remaining.enumerated().map { ($1, $0) })
    let shrunk = remaining.map(surviving)
    let correspondence = SectionCorrespondence(self)
    let arranged = after.indices.map { section in
      correspondence.old(ofNew: section).map(surviving) ?? (after[section], .new(section: section))
    }

    var departures = Stage.Draft()
    departures.sections.deletes = sections.deletes
    departures.rows.deletes = rows.deletes
    var arrangement = Stage.Draft()
    arrangement.sections.inserts = sections.inserts
    arrangement.sections.moves = sections.moves.map {
      SectionMove(from: position[$0.from] ?? $0.from, to: $0.to)
    }
    var arrivals = Stage.Draft()
    arrivals.rows.inserts = rows.inserts
    arrivals.rows.moves = rows.moves.map { move in
      let alignment = Alignment(removed: gone[move.from.section] ?? [])
      let from = RowPath(
        section: correspondence.new(ofOld: move.from.section) ?? move.from.section,
        row: alignment.keptBefore(old: move.from.row))
      return RowMove(row: move.row, from: from, to: move.to)
    }
    return [
      departures.stage(StageState(sections: shrunk.map(\.0), origins: shrunk.map(\.1))),
      arrangement.stage(StageState(sections: arranged.map(\.0), origins: arranged.map(\.1))),
      arrivals.stage(final),
    ].compactMap(\.self)
  }
}

extension Stage {
  /// A stage under construction.
  fileprivate struct Draft {
    var sections = SectionChanges()
    var rows = RowChanges()

    /// The stage; nil if it has no operations.
    func stage(_ state: StageState) -> Stage? {
      sections.isEmpty && rows.isEmpty ? nil : Stage(sections: sections, rows: rows, state: state)
    }
  }
}

/// The correspondence of old and new sections.
struct SectionCorrespondence {
  private var newOfOld: [Int: Int] = [:]
  private var oldOfNew: [Int: Int] = [:]

  init(_ changeset: Changeset) {
    let moved = changeset.sections.moves
    let alignment = Alignment(
      removed: (changeset.sections.deletes + moved.map(\.from)).sorted(),
      added: (changeset.sections.inserts + moved.map(\.to)).sorted())
    for kept in 0..<(changeset.oldOutline.count - alignment.removed.count) {
      pair(alignment.oldPosition(ofKept: kept), alignment.newPosition(ofKept: kept))
    }
    for move in moved { pair(move.from, move.to) }
  }

  private mutating func pair(_ old: Int, _ new: Int) {
    newOfOld[old] = new
    oldOfNew[new] = old
  }

  /// The new position of an old section; nil if it was deleted.
  func new(ofOld section: Int) -> Int? { newOfOld[section] }
  /// The old position of a new section; nil if it was inserted.
  func old(ofNew section: Int) -> Int? { oldOfNew[section] }
}
