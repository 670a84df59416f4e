// Batch updates, for views that take a set of operations at once.
//
// Structure comes first, content after it: a view that is told to reload a row inside a batch makes it
// a delete and an insert, at an index that ignores moves. A row that moved and changed is therefore
// moved in a batch and refreshed after it, at its new path.
//
// When a moved section also has rows that come, go or move, the structure is split in three, so that
// no batch holds both: (a) deletes of sections and rows, (b) section moves and inserts, (c) row
// inserts and moves. Every stage brings the state its view is in once it is applied.

/// When the structure of a changeset is split into several batches.
public enum StagePolicy: Hashable, Sendable {
  /// Only where a moved section also changes.
  case combined
  /// Also where rows move while sections come or go. For views that are not reliable there.
  case conservative
}

/// One batch of operations, and the state it leads to.
public struct Stage: Hashable, Sendable {
  /// Section operations, from the state before this stage to the one after it.
  public let sections: SectionChanges
  /// Row operations of this stage, in its paths. A stage with updates has nothing else: they are to be
  /// refreshed in place.
  public let rows: RowChanges
  /// What is shown once the stage is applied.
  public let state: StageState
}

/// What is shown after a stage.
public struct StageState: Hashable, Sendable {
  /// Where to look a row up that a stage shows.
  public enum Source: Hashable, Sendable {
    /// At this path of the state before the change.
    case before(RowPath)
    /// At this path of the state after the change.
    case after(RowPath)
  }

  /// The sections, in order.
  public let sections: [Section]
  /// Per section the old section it is, with its deleted rows; empty for the final state.
  fileprivate let origins: [Origin]

  fileprivate enum Origin: Hashable, Sendable {
    case old(section: Int, gone: [Int])
    case new(section: Int)
  }

  /// Where to look up the row shown at a path; nil if there is none. O(log k).
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
  /// The changeset as batches, to be applied one after the other: structure, then content.
  /// O(operations + sections).
  public func stages(_ policy: StagePolicy = .conservative) -> [Stage] {
    stages(policy, flaw: .none)
  }

  package func stages(_ policy: StagePolicy, flaw: Flaw) -> [Stage] {
    let final = StageState(sections: after, origins: [])
    var structure = rows
    structure.updates = []
    var stages: [Stage] = []
    if needsSplit(policy), flaw != .stagesUnsplit {
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
        Section(group: before[section].group, count: before[section].count - gone.count),
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
  /// A stage being put together.
  fileprivate struct Draft {
    var sections = SectionChanges()
    var rows = RowChanges()

    /// The stage; nil if it does nothing.
    func stage(_ state: StageState) -> Stage? {
      sections.isEmpty && rows.isEmpty ? nil : Stage(sections: sections, rows: rows, state: state)
    }
  }
}

/// Which section became which.
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
