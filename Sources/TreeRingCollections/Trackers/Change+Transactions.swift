// Changes of mappings as transactions of one linear list, section after section, and back.
//
// A section that comes or goes includes its rows, and a section that moves takes its rows along.
// The changeset does not list these rows; the transactions do. So the transactions are a batch for
// a consumer, and a sectioned consumer derives the same non-empty sections from it. A row that
// moves with its section is marked, so the conversion back is lossless.

public import TreeRing
internal import TreeRingLog
public import TreeRingMappings

/// The row of a transaction made from a change.
public struct ChangedRow: Hashable, Sendable {
  /// The row.
  public let row: RowID
  /// The section it is in after the change.
  public let group: GroupName
  /// The parts that changed; nil for a row that is inserted, or that moves unchanged.
  public let parts: Parts?
  /// Whether it moves only because its section does.
  public let movesWithSection: Bool

  /// A row in its section after a change.
  public init(
    row: RowID, group: GroupName, parts: Parts? = nil, movesWithSection: Bool = false
  ) {
    self.row = row
    self.group = group
    self.parts = parts
    self.movesWithSection = movesWithSection
  }
}

extension Change {
  /// The change as one batch of a list that holds the sections' rows one after the other. A reset
  /// yields one insert per row, to reset a consumer with. A row that moves and changes is listed as
  /// both. A row shown before and after is the same row, even if its section comes or goes.
  ///
  ///     let consumer = SectionedConsumer<ChangedRow, GroupName>(title: \.group)
  ///
  /// O(log n) for each operation, and for each row of a section that comes, goes or moves.
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
    if isReset {
      for section in after.sections.indices {
        for path in new.paths(in: section) { try listRow(at: path) }
      }
      return list
    }
    let continuing = try ContinuingRows(self, old, new)
    for section in sections.inserts {
      for path in new.paths(in: section) where !continuing.targets.contains(path) {
        try listRow(at: path)
      }
    }
    for section in sections.deletes {
      list += old.paths(in: section).filter { !continuing.sources.contains($0) }
        .map { .delete(index: old.index(of: $0)) }
    }
    for row in continuing.rows {
      let model = ChangedRow(row: row.row, group: new.group(of: row.to))
      let index = old.index(of: row.from)
      list.append(.move(model, index: index, newIndex: new.index(of: row.to)))
      if !row.parts.isEmpty {
        let update = ChangedRow(row: row.row, group: model.group, parts: row.parts)
        list.append(.update(update, index: index))
      }
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
    return list + rowTransactions(old, new, continuing)
  }

  private func rowTransactions(
    _ old: LinearOutline, _ new: LinearOutline, _ continuing: ContinuingRows
  ) -> [ListTransaction<ChangedRow>] {
    func model(_ row: RowID, _ path: RowPath, _ parts: Parts? = nil) -> ChangedRow {
      ChangedRow(row: row, group: new.group(of: path), parts: parts)
    }
    let deletes = rows.deletes.filter { !continuing.sources.contains($0.path) }.map {
      ListTransaction<ChangedRow>.delete(index: old.index(of: $0.path))
    }
    let inserts = rows.inserts.filter { !continuing.targets.contains($0.path) }.map {
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
  /// The changeset that transactions were made from.
  ///
  /// - Parameters:
  ///   - transactions: The result of ``TreeRingMappings/Change/transactions()``, in any order.
  ///   - before: The sections before.
  ///   - after: The sections after.
  ///   - sections: The operations on sections.
  ///   - oldRow: Returns the row at an old path; called for deleted rows.
  /// - Throws: `invalidInput` for transactions that contradict themselves or the sections, or for
  ///   an update without parts.
  public init(
    _ transactions: [ListTransaction<ChangedRow>], from before: [Section], to after: [Section],
    sections: SectionChanges, oldRow: (RowPath) -> RowID
  ) throws(TreeRingError) {
    let (old, new) = (LinearOutline(before), LinearOutline(after))
    let plan = BatchPlan(transactions, oldCount: old.count)
    guard plan.newCount == new.count else {
      throw .refusedBatch(
        "it leads to \(plan.newCount) rows, and the sections have \(new.count)")
    }
    try plan.check()
    let gone = Set(sections.deletes)
    let come = Set(sections.inserts)
    let alignment = plan.alignment
    let targets = Dictionary(uniqueKeysWithValues: plan.moves.map { ($0.from, $0.to) })
    let moves = plan.moves.filter { !$0.model.movesWithSection }.map {
      (row: $0.model.row, from: old.path(of: $0.from), to: new.path(of: $0.to))
    }
    func leaves(_ path: RowPath) -> Bool { gone.contains(path.section) }
    func comes(_ path: RowPath) -> Bool { come.contains(path.section) }
    var updates: [(row: RowID, from: RowPath, to: RowPath, parts: Parts)] = []
    for update in plan.updates {
      guard let parts = update.model.parts else {
        throw .refusedBatch("an update has no parts that changed")
      }
      let kept = alignment.keptBefore(old: update.index)
      let to = targets[update.index] ?? alignment.newPosition(ofKept: kept)
      let paths = (from: old.path(of: update.index), to: new.path(of: to))
      if leaves(paths.from) || comes(paths.to) { continue }
      updates.append((update.model.row, paths.from, paths.to, parts))
    }
    self.init(
      before: before, after: after, sections: sections,
      deletes: plan.deletes.map(old.path(of:)).filter { !leaves($0) }.map { (oldRow($0), $0) }
        + moves.filter { !leaves($0.from) && comes($0.to) }.map { ($0.row, $0.from) },
      inserts: plan.inserts.map { ($0.model.row, new.path(of: $0.index)) }
        .filter { !comes($0.1) }
        + moves.filter { leaves($0.from) && !comes($0.to) }.map { ($0.row, $0.to) },
      moves: moves.filter { !leaves($0.from) && !comes($0.to) },
      updates: updates)
  }
}

/// Sections as one list, with the start of each.
private struct LinearOutline {
  private let sections: [Section]
  private let starts: [Int]
  /// The number of rows in total.
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

  /// The path of an existing row. O(log sections).
  func path(of index: Int) -> RowPath {
    let section = starts.partitioningIndex { $0 > index } - 1
    return RowPath(section: section, row: index - starts[section])
  }
}

/// The rows shown before and after with one side in a deleted or inserted section. The changeset
/// has no moves for them; a list has.
private struct ContinuingRows {
  struct Row {
    let row: RowID
    let from: RowPath
    let to: RowPath
    let parts: Parts
  }
  /// A row in one of its groups.
  private struct Member: Hashable {
    let group: GroupName?
    let row: RowID
  }
  private(set) var rows: [Row] = []
  private(set) var sources: Set<RowPath> = []
  private(set) var targets: Set<RowPath> = []

  init(
    _ change: Change, _ old: LinearOutline, _ new: LinearOutline
  ) throws(TreeRingError) {
    let sections = change.sections
    if sections.deletes.isEmpty, sections.inserts.isEmpty { return }
    var leaving: [(member: Member, path: RowPath)] = []
    for path in sections.deletes.flatMap(old.paths) + change.rows.deletes.map(\.path) {
      guard let row = try change.before.row(at: path) else { continue }
      leaving.append((Member(group: change.before.group(at: path), row: row), path))
    }
    var coming: [Member: RowPath] = [:]
    var groups: [RowID: GroupName?] = [:]
    for path in sections.inserts.flatMap(new.paths) + change.rows.inserts.map(\.path) {
      guard let row = try change.after.row(at: path) else { continue }
      let group = change.after.group(at: path)
      coming[Member(group: group, row: row)] = path
      groups[row] = group
    }
    for (member, from) in leaving {
      let record = change.record(of: member.row)
      var to = coming[member]
      if to == nil, record.isOneRow, let group = groups[member.row] {
        to = coming[Member(group: group, row: member.row)]
      }
      guard let to else { continue }
      rows.append(Row(row: member.row, from: from, to: to, parts: record.parts))
      sources.insert(from)
      targets.insert(to)
    }
  }
}

/// The rows that leave or join their sections.
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

  /// The correspondence of a section's staying rows.
  func alignment(of section: SectionMove) -> Alignment {
    Alignment(
      removed: leaving[section.from, default: []].sorted(),
      added: coming[section.to, default: []].sorted())
  }
}
