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
    let (old, new) = (LinearOutline(changeset.before), LinearOutline(changeset.after))
    func model(
      _ row: RowID, _ path: RowPath, _ parts: Parts? = nil, movesWithSection: Bool = false
    ) -> ChangedRow {
      ChangedRow(
        row: row, group: new.group(of: path), parts: parts, movesWithSection: movesWithSection)
    }
    let newSections = isReset ? Array(after.sections.indices) : sections.inserts
    let leaving = try Self.list(rows.deletes, withSections: sections.deletes, of: before)
    let coming = try Self.list(rows.inserts, withSections: newSections, of: after)
    let continuing = continuingRows(leaving, coming)
    let sources = Set(continuing.map(\.from))
    let targets = Set(continuing.map(\.to))
    var list: [ListTransaction<ChangedRow>] = []
    for (_, path) in leaving where !sources.contains(path) {
      list.append(.delete(index: old.index(of: path)))
    }
    for (row, path) in coming where !targets.contains(path) {
      list.append(.insert(model(row, path), newIndex: new.index(of: path)))
    }
    let moves =
      continuing.map { ($0.row, $0.from, $0.to) } + rows.moves.map { ($0.row, $0.from, $0.to) }
    for (row, from, to) in moves {
      list.append(.move(model(row, to), index: old.index(of: from), newIndex: new.index(of: to)))
    }
    for (row, from, to, parts) in continuing where !parts.isEmpty {
      list.append(.update(model(row, to, parts), index: old.index(of: from)))
    }
    for update in rows.updates {
      list.append(
        .update(model(update.row, update.to, update.parts), index: old.index(of: update.from)))
    }
    let left = Dictionary(
      grouping: rows.deletes.map(\.path) + rows.moves.map(\.from), by: \.section)
    let taken = Dictionary(grouping: rows.inserts.map(\.path) + rows.moves.map(\.to), by: \.section)
    for section in sections.moves {
      let alignment = Alignment(
        removed: left[section.from, default: []].map(\.row).sorted(),
        added: taken[section.to, default: []].map(\.row).sorted())
      for kept in alignment.kept(inOld: before.sections[section.from].indices) {
        let from = RowPath(section: section.from, row: alignment.oldPosition(ofKept: kept))
        let to = RowPath(section: section.to, row: alignment.newPosition(ofKept: kept))
        guard let row = try after.row(at: to) else { continue }
        list.append(
          .move(
            model(row, to, movesWithSection: true), index: old.index(of: from),
            newIndex: new.index(of: to)))
      }
    }
    return list
  }

  /// These rows and those of whole sections.
  private static func list(
    _ rows: [ListedRow], withSections sections: [Int], of shown: ShownRows
  ) throws(TreeRingError) -> [(row: RowID, path: RowPath)] {
    var list = rows.map { (row: $0.row, path: $0.path) }
    for section in sections {
      for row in shown.sections[section].indices {
        let path = RowPath(section: section, row: row)
        if let row = try shown.row(at: path) { list.append((row, path)) }
      }
    }
    return list
  }

  /// The rows shown before and after with one side in a deleted or inserted section. The changeset
  /// has no moves for them; a list has.
  private func continuingRows(
    _ leaving: [(row: RowID, path: RowPath)], _ coming: [(row: RowID, path: RowPath)]
  ) -> [(row: RowID, from: RowPath, to: RowPath, parts: Parts)] {
    if sections.deletes.isEmpty, sections.inserts.isEmpty { return [] }
    var targets: [RowID: [(group: GroupName?, path: RowPath)]] = [:]
    for (row, path) in coming {
      targets[row, default: []].append((after.group(at: path), path))
    }
    return leaving.compactMap { row, from in
      let record = record(of: row)
      let group = before.group(at: from)
      let inGroup = targets[row]?.first { $0.group == group }
      let target = inGroup ?? (record.isOneRow ? targets[row]?.last : nil)
      return target.map { (row, from, $0.path, record.parts) }
    }
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

  /// The path of an existing row. O(log sections).
  func path(of index: Int) -> RowPath {
    let section = starts.partitioningIndex { $0 > index } - 1
    return RowPath(section: section, row: index - starts[section])
  }
}
