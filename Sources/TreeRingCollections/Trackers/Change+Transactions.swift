// Changes of mappings as transactions of one linear list, section after section, and back.
//
// A section that comes or goes brings or takes its rows, and one that moves takes its rows along, which the
// changeset does not list and the transactions do. So they are a batch for a consumer, and a sectioned consumer
// makes the same sections of it again (those that have rows). What came along with its section says so, by
// which the way back is without loss.

public import TreeRing
public import TreeRingMappings

/// What a transaction made from a change says of its row.
public struct ChangedRow: Hashable, Sendable {
  /// Which row.
  public let row: RowID
  /// The section it is in after the change.
  public let group: GroupName
  /// What of it changed; nil for a row that comes, or that moves and is as it was.
  public let parts: Parts?
  /// Whether it moves only because its section does.
  public let movesWithSection: Bool

  init(row: RowID, group: GroupName, parts: Parts? = nil, movesWithSection: Bool = false) {
    self.row = row
    self.group = group
    self.parts = parts
    self.movesWithSection = movesWithSection
  }
}

extension Change {
  /// The change as one batch of a list that holds the sections' rows one after the other; a reset as one
  /// insert per row, for a consumer to be reset with. A row that moves and changes is listed as both.
  ///
  ///     let consumer = SectionedConsumer<ChangedRow, GroupName>(title: \.group)
  ///
  /// O(log n) for each operation, and each row of a section that comes, goes or moves.
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func transactions() throws(TreeRingError) -> [ListTransaction<ChangedRow>] {
    let oldSections = changeset.before
    let (old, new) = (LinearOutline(oldSections), LinearOutline(changeset.after))
    var list: [ListTransaction<ChangedRow>] = []
    func listRow(at path: RowPath, from index: Int? = nil) throws(TreeRingError) {
      guard let row = try after.row(at: path) else { return }
      let model = ChangedRow(
        row: row, group: new.group(of: path), movesWithSection: index != nil)
      let newIndex = new.index(of: path)
      list.append(
        index.map { .move(model, index: $0, newIndex: newIndex) }
          ?? .insert(model, newIndex: newIndex))
    }
    for section in isReset ? Array(after.sections.indices) : sections.inserts {
      for path in new.paths(in: section) { try listRow(at: path) }
    }
    if isReset { return list }
    for section in sections.deletes {
      list += old.paths(in: section).map { .delete(index: old.index(of: $0)) }
    }
    let staying = StayingInSections(rows)
    for section in sections.moves {
      let alignment = staying.alignment(of: section)
      let kept = alignment.kept(inOld: 0..<oldSections[section.from].count)
      for kept in kept {
        let from = RowPath(section: section.from, row: alignment.oldPosition(ofKept: kept))
        let to = RowPath(section: section.to, row: alignment.newPosition(ofKept: kept))
        try listRow(at: to, from: old.index(of: from))
      }
    }
    return list + rowTransactions(old, new)
  }

  private func rowTransactions(
    _ old: LinearOutline, _ new: LinearOutline
  ) -> [ListTransaction<ChangedRow>] {
    func model(_ row: RowID, _ path: RowPath, _ parts: Parts? = nil) -> ChangedRow {
      ChangedRow(row: row, group: new.group(of: path), parts: parts)
    }
    let deletes = rows.deletes.map {
      ListTransaction<ChangedRow>.delete(index: old.index(of: $0.path))
    }
    let inserts = rows.inserts.map {
      ListTransaction.insert(model($0.row, $0.path), newIndex: new.index(of: $0.path))
    }
    let moves = rows.moves.map {
      ListTransaction.move(
        model($0.row, $0.to), index: old.index(of: $0.from), newIndex: new.index(of: $0.to))
    }
    let updates = rows.updates.map {
      ListTransaction.update(model($0.row, $0.to, $0.parts), index: old.index(of: $0.from))
    }
    return deletes + inserts + moves + updates
  }
}

extension Changeset {
  /// The changeset that transactions were made of.
  ///
  /// - Parameters:
  ///   - transactions: What ``TreeRingMappings/Change/transactions()`` said, in any order.
  ///   - before: The sections before.
  ///   - after: The sections after.
  ///   - sections: What happened to them.
  ///   - oldRow: Which row was shown at a path before; asked for rows that go.
  /// - Throws: `invalidInput` for transactions that contradict themselves or the sections, or an update
  ///   that does not say which parts changed.
  public init(
    _ transactions: [ListTransaction<ChangedRow>], from before: [Section], to after: [Section],
    sections: SectionChanges, oldRow: (RowPath) -> RowID
  ) throws(TreeRingError) {
    let (old, new) = (LinearOutline(before), LinearOutline(after))
    let plan = BatchPlan(transactions, oldCount: old.count)
    guard plan.newCount == new.count else {
      throw BatchCheck.refusal(
        "it leads to \(plan.newCount) rows, and the sections have \(new.count)")
    }
    try plan.check()
    let gone = Set(sections.deletes)
    let come = Set(sections.inserts)
    let alignment = plan.alignment
    let targets = Dictionary(uniqueKeysWithValues: plan.moves.map { ($0.from, $0.to) })
    var updates: [(row: RowID, from: RowPath, to: RowPath, parts: Parts)] = []
    for update in plan.updates {
      guard let parts = update.model.parts else {
        throw BatchCheck.refusal("an update does not say what changed")
      }
      let kept = alignment.keptBefore(old: update.index)
      let to = targets[update.index] ?? alignment.newPosition(ofKept: kept)
      updates.append((update.model.row, old.path(of: update.index), new.path(of: to), parts))
    }
    self.init(
      before: before, after: after, sections: sections,
      deletes: plan.deletes.map(old.path(of:)).filter { !gone.contains($0.section) }
        .map { (oldRow($0), $0) },
      inserts: plan.inserts.map { ($0.model.row, new.path(of: $0.index)) }
        .filter { !come.contains($0.1.section) },
      moves: plan.moves.filter { !$0.model.movesWithSection }
        .map { ($0.model.row, old.path(of: $0.from), new.path(of: $0.to)) },
      updates: updates)
  }
}

/// Sections as one list: where each begins.
private struct LinearOutline {
  private let sections: [Section]
  private let starts: [Int]
  /// How many rows there are in all.
  let count: Int

  init(_ sections: [Section]) {
    self.sections = sections
    var starts: [Int] = []
    var count = 0
    for section in sections {
      starts.append(count)
      count += section.count
    }
    self.starts = starts
    self.count = count
  }

  func group(of path: RowPath) -> GroupName { sections[path.section].group }

  func index(of path: RowPath) -> Int { starts[path.section] + path.row }

  func paths(in section: Int) -> [RowPath] {
    (0..<sections[section].count).map { RowPath(section: section, row: $0) }
  }

  /// The path of a row; there is one. O(log sections).
  func path(of index: Int) -> RowPath {
    var low = 0
    var high = starts.count
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] <= index { low = middle + 1 } else { high = middle }
    }
    return RowPath(section: low - 1, row: index - starts[low - 1])
  }
}

/// The rows that do not stay in their sections.
private struct StayingInSections {
  private var leaving: [Int: [Int]] = [:]
  private var coming: [Int: [Int]] = [:]

  init(_ rows: RowChanges) {
    for path in rows.deletes.map(\.path) + rows.moves.map(\.from) {
      leaving[path.section, default: []].append(path.row)
    }
    for path in rows.inserts.map(\.path) + rows.moves.map(\.to) {
      coming[path.section, default: []].append(path.row)
    }
  }

  /// Which rows of a section stay in it.
  func alignment(of section: SectionMove) -> Alignment {
    Alignment(
      removed: leaving[section.from, default: []].sorted(),
      added: coming[section.to, default: []].sorted())
  }
}
