// Converts a batch's changes of the linear list to changes of sections and their rows.
//
//   1. Sections are matched (SectionMatching). Those without a match are deleted or inserted.
//   2. A row changes its section if it moves, or if it stays in the list but its old section does
//      not continue as its new one.
//   3. A section *lives* if it continues under its title. A row from section f to section t is
//      moved if both live, deleted if only f does, inserted if only t does; else it comes and goes
//      with them.
//   4. Rows that move between the two sides of one continuing section are decided among its rows
//      alone.
// O(k log n) for k moved or changed rows, and for each row of a section that merges into another.

internal import TreeRingMappings

/// Converts list changes to section and row changes.
struct SectionedDifference {
  private let old: SectionRuns
  private let new: SectionRuns
  private let alignment: Alignment
  private let matching: SectionMatching
  /// The sections beside a change that continue under their title.
  private var newOfOld: [Int: Int] = [:]
  /// The sections that do not continue under their title.
  private var deadOld: Set<Int> = []
  private var deadNew: Set<Int> = []
  private(set) var changes = SectionedChanges()

  /// - Parameters:
  ///   - list: The minimal changes of the list.
  ///   - retitled: The old positions of rows that do not move and have a new title.
  init(
    _ list: ListChanges, from old: SectionRuns, to new: SectionRuns, retitled: [Int]
  ) {
    self.old = old
    self.new = new
    let alignment = list.alignment
    self.alignment = alignment
    matching = SectionMatching(
      from: old, to: new, list, alignment,
      retitled: retitled.map { alignment.keptBefore(old: $0) })
    matchSections()
    addRows(list)
    changes.rowDeletes.sort()
    changes.rowInserts.sort()
    changes.rowMoves.sort { $0.to < $1.to }
    changes.rowUpdates.sort { $0.to < $1.to }
  }

  private mutating func matchSections() {
    deadOld = Set(matching.affected.removed)
    deadNew = Set(matching.affected.added)
    for unaffected in matching.displaced.joined() {
      deadOld.insert(matching.affected.oldPosition(ofKept: unaffected))
      deadNew.insert(matching.affected.newPosition(ofKept: unaffected))
    }
    let continuing = matching.chosen.map { matching.pairs[$0] }
    for pair in continuing where pair.hasSameTitle {
      newOfOld[pair.old] = pair.new
      deadOld.remove(pair.old)
      deadNew.remove(pair.new)
    }
    changes.sectionReloads = continuing.filter { !$0.hasSameTitle }
      .map { IndexMove(from: $0.old, to: $0.new) }
    changes.sectionDeletes = deadOld.subtracting(changes.sectionReloads.map(\.from)).sorted()
    changes.sectionInserts = deadNew.subtracting(changes.sectionReloads.map(\.to)).sorted()
  }

  /// Whether a section continues under its title; true for one that is not beside a change.
  private func livesOld(_ section: Int) -> Bool { !deadOld.contains(section) }
  private func livesNew(_ section: Int) -> Bool { !deadNew.contains(section) }

  private mutating func addRows(_ list: ListChanges) {
    for row in list.deletes {
      let path = old.path(ofRow: row)
      if livesOld(path.section) { changes.rowDeletes.append(path) }
    }
    for row in list.inserts {
      let path = new.path(ofRow: row)
      if livesNew(path.section) { changes.rowInserts.append(path) }
    }
    for update in list.updates {
      let path = PathMove(from: old.path(ofRow: update.from), to: new.path(ofRow: update.to))
      if livesOld(path.from.section), livesNew(path.to.section) { changes.rowUpdates.append(path) }
    }
    for move in list.moves
    where newOfOld[old.section(ofRow: move.from).index] != new.section(ofRow: move.to).index {
      addMove(from: move.from, to: move.to)
    }
    let chosen = Set(matching.chosen)
    for (index, pair) in matching.pairs.enumerated() {
      if !chosen.contains(index) {
        if livesOld(pair.old) || livesNew(pair.new) { for row in pair.shared { addKept(row) } }
      } else if pair.hasSameTitle {
        for move in pair.moves { addMove(from: move.from, to: move.to) }
      }
    }
  }

  /// Lists a row that moves within its section or to another one.
  private mutating func addMove(from row: Int, to newRow: Int) {
    let path = PathMove(from: old.path(ofRow: row), to: new.path(ofRow: newRow))
    switch (livesOld(path.from.section), livesNew(path.to.section)) {
    case (true, true): changes.rowMoves.append(path)
    case (true, false): changes.rowDeletes.append(path.from)
    case (false, true): changes.rowInserts.append(path.to)
    case (false, false): break
    }
  }

  /// Lists a row that stays in the list and goes to another section.
  private mutating func addKept(_ row: Int) {
    addMove(from: alignment.oldPosition(ofKept: row), to: alignment.newPosition(ofKept: row))
  }
}
