// A linear list shown in sections: runs of rows with equal titles.
//
// The list and its runs are one state.

public import TreeRing
public import TreeRingMappings

/// Is told what batches do to a sectioned consumer.
///
/// The order of calls: `consumerWillChange` while reads still see the old state; then the state changes at
/// once, and: row updates (ascending old path), section reloads (old position), section removals
/// (descending), section insertions (ascending), row removals (descending old path), row insertions
/// (ascending new path); then `consumerDidChange`, inside which a new batch may begin.
public protocol SectionedConsumerDelegate<Model>: AnyObject {
  /// What rows are.
  associatedtype Model
  /// A batch is about to change the list.
  func consumerWillChange()
  /// A row has a new value.
  /// - Parameters:
  ///   - model: The value now.
  ///   - path: Its path before the batch.
  func consumerDidUpdate(_ model: Model, at path: RowPath)
  /// A section has another title.
  /// - Parameter section: Its position before the batch.
  func consumerDidReload(section: Int)
  /// A section went from a position before the batch, with its rows.
  func consumerDidRemove(section: Int)
  /// A section came to a position after the batch, with its rows.
  func consumerDidInsert(section: Int)
  /// A row went from a path before the batch.
  func consumerDidRemove(at path: RowPath)
  /// A row came to a path after the batch.
  func consumerDidInsert(_ model: Model, at path: RowPath)
  /// The batch is over.
  func consumerDidChange()
  /// Receives the whole batch as a block to run at a time of its own; see
  /// ``PlainConsumerDelegate/consumer(perform:)``.
  func consumer(perform batch: @escaping () -> Void)
}

extension SectionedConsumerDelegate {
  public func consumerWillChange() {}
  public func consumerDidChange() {}
  public func consumer(perform batch: @escaping () -> Void) { batch() }
}

/// A list and its sections.
private struct SectionedRows {
  var rows = RowList.ofNumbers
  var sections = SectionRuns()
}

/// A list in sections, kept in step by batches. Reads and single changes are O(log n).
public final class SectionedConsumer<Model, Title: Hashable>: BatchConsumer {
  /// Is told of every batch.
  public weak var delegate: (any SectionedConsumerDelegate<Model>)?
  /// The batch being collected. For the library's use.
  public var _batch: OpenBatch<Model>
  private let rows: RowTable<Model>
  private let titleOfModel: (Model) -> Title
  private var titles = TitleTable<Title>()
  private let rules: ValueRules<RowNumber>
  private let identity: ((RowNumber) -> AnyHashable)?
  private let state = ShownState(SectionedRows())

  /// An empty list.
  ///
  /// - Parameters:
  ///   - title: The title of the section a row belongs to. The list should be sorted by it first.
  ///   - isEqual: Whether an update changes nothing and is to be left out.
  ///   - identity: What tells rows apart when a reset that tells compares two lists.
  public init(
    title: @escaping (Model) -> Title, isEqual: ((_ old: Model, _ new: Model) -> Bool)? = nil,
    identity: ((Model) -> AnyHashable)? = nil
  ) {
    let batch = OpenBatch<Model>()
    let rows = batch.rows
    _batch = batch
    self.rows = rows
    titleOfModel = title
    rules = rows.rules(ValueRules(carryOver: nil, isEqual: isEqual))
    self.identity = identity.map { identity in { identity(rows[$0]) } }
  }

  /// - Throws: `invalidInput` also for a row that is put between two rows of one section and has another
  ///   title; a row that is there already and changes its title parts the section.
  @discardableResult
  public func didChange(returnChanges: Bool) throws(TreeRingError) -> SectionedChanges? {
    let latest = state.latest
    let plan: BatchPlan<RowNumber>
    var after = latest
    do {
      plan = try BatchPlan(_batch.end(), on: latest.rows, rules: rules)
      plan.apply(to: &after.rows)
      try refuseForeignTitles(plan, from: latest.sections, to: after.rows)
    } catch {
      rows.remove(rows.takeAdded())
      throw error
    }
    let list = plan.changes
    let moving = Set(list.moves.map(\.from))
    let valued = plan.moves.map(\.from) + plan.updates.map(\.index)
    let alignment = list.alignment
    let retitled = valued.filter { index in
      guard !moving.contains(index) else { return false }
      let place = alignment.newPosition(ofKept: alignment.keptBefore(old: index))
      return title(latest.rows[index]) != title(after.rows[place])
    }
    updateSections(of: &after, alignment, retitled)
    let changes = SectionedDifference(
      list, from: latest.sections, to: after.sections, retitled: retitled
    ).changes
    accept(after, changes, freeing: plan.dead(in: latest.rows, added: rows.takeAdded()))
    return returnChanges ? changes : nil
  }

  /// Replaces the content.
  ///
  /// - Parameters:
  ///   - models: The rows from now on.
  ///   - notifying: Whether the delegate is told, of the one batch that leads from the old
  ///     content to the new.
  public func reset(with models: some Sequence<Model>, notifying: Bool = false) {
    _batch.requireClosed()
    let (latest, new) = (state.latest, RowList.ofNumbers(models.map(rows.add)))
    guard notifying else {
      _ = rows.takeAdded()
      let sections = SectionRuns(new.elements.map(title))
      state.replace(with: SectionedRows(rows: new, sections: sections))
      rows.remove(latest.rows.elements)
      return
    }
    let comparison = ListComparison(latest.rows, new, identity, rules)
    let moving = Set(comparison.changes.moves.map(\.from))
    let after = SectionedRows(
      rows: comparison.rows, sections: SectionRuns(comparison.rows.elements.map(title)))
    let retitled = comparison.common.filter {
      !moving.contains($0.from) && title(latest.rows[$0.from]) != title(after.rows[$0.to])
    }
    let changes = SectionedDifference(
      comparison.changes, from: latest.sections, to: after.sections, retitled: retitled.map(\.from)
    ).changes
    let kept = Set(after.rows.elements)
    let dead = (latest.rows.elements + rows.takeAdded()).filter { !kept.contains($0) }
    accept(after, changes, freeing: dead)
  }

  /// Replaces the content by what these transactions make of an empty list.
  ///
  /// - Throws: `invalidInput` unless they are inserts at the indexes from 0 on; nothing is changed then.
  public func reset(
    with transactions: [ListTransaction<Model>], notifying: Bool = false
  ) throws(TreeRingError) {
    reset(with: try transactions.rowsFromNothing(), notifying: notifying)
  }

  private func title(_ row: RowNumber) -> TitleNumber {
    titles.number(of: titleOfModel(rows[row]))
  }

  /// Refuses a row that is put between two rows of one section under another title.
  private func refuseForeignTitles(
    _ plan: BatchPlan<RowNumber>, from sections: SectionRuns,
    to rows: RowList
  ) throws(TreeRingError) {
    let alignment = plan.alignment
    let keptCount = plan.oldCount - alignment.removed.count
    for index in alignment.added {
      let next = alignment.keptBefore(new: index)
      guard next > 0, next < keptCount else { continue }
      let section = sections.section(ofRow: alignment.oldPosition(ofKept: next))
      guard
        section.rows.contains(alignment.oldPosition(ofKept: next - 1)),
        title(rows[index]) != section.title
      else { continue }
      // Neighbours that change their title part the section themselves.
      let neighbors = [next - 1, next].map { rows[alignment.newPosition(ofKept: $0)] }
      if neighbors.allSatisfy({ title($0) == section.title }) {
        throw BatchCheck.refusal(
          "the row at index \(index) after the batch has another title than the section around it; "
            + "sort the list by section first")
      }
    }
  }

  private func updateSections(
    of state: inout SectionedRows, _ alignment: Alignment, _ retitled: [Int]
  ) {
    for row in (alignment.removed + retitled).sorted().reversed() {
      state.sections.remove(row: row)
    }
    let back = retitled.map { alignment.newPosition(ofKept: alignment.keptBefore(old: $0)) }
    for row in (alignment.added + back).sorted() {
      state.sections.insert(title(state.rows[row]), row: row)
    }
  }

  /// Goes on to the state after a batch, and frees numbers when that has been shown.
  private func accept(
    _ after: SectionedRows, _ changes: SectionedChanges, freeing dead: [RowNumber]
  ) {
    guard let delegate else {
      state.replace(with: after)
      rows.remove(dead)
      return
    }
    state.accept(
      after, willChange: delegate.consumerWillChange, perform: delegate.consumer(perform:)
    ) { [weak self] in
      self?.tell(of: changes, in: after)
      self?.rows.remove(dead)
    }
  }

  private func tell(of changes: SectionedChanges, in state: SectionedRows) {
    guard let delegate else { return }
    func model(at path: RowPath) -> Model {
      rows[state.rows[state.sections.rows(of: path.section).lowerBound + path.row]]
    }
    let changes = LegacySectionedChanges(changes)
    for update in changes.rowUpdates {
      delegate.consumerDidUpdate(model(at: update.to), at: update.from)
    }
    for reload in changes.sectionReloads { delegate.consumerDidReload(section: reload.from) }
    for section in changes.sectionRemovals { delegate.consumerDidRemove(section: section) }
    for section in changes.sectionInsertions { delegate.consumerDidInsert(section: section) }
    for path in changes.rowRemovals { delegate.consumerDidRemove(at: path) }
    for path in changes.rowInsertions { delegate.consumerDidInsert(model(at: path), at: path) }
    delegate.consumerDidChange()
  }

  // MARK: - Reads

  private var shown: SectionedRows { state.shown }
  /// How many rows there are in all. O(1).
  public var numberOfItems: Int { shown.rows.count }
  /// How many sections there are. O(1).
  public var sectionsCount: Int { shown.sections.count }
  /// How many rows a section has; 0 if there is none. O(log sections).
  public func numberOfItems(inSection section: Int) -> Int {
    isSection(section) ? shown.sections.rows(of: section).count : 0
  }
  /// The title of a section; nil if there is none. O(log sections).
  public func title(ofSection section: Int) -> Title? {
    isSection(section) ? titles.titles[shown.sections.title(of: section)] : nil
  }
  /// The row at an index of the linear list; nil if there is none. O(log n).
  public func object(at index: Int) -> Model? {
    index >= 0 && index < shown.rows.count ? rows[shown.rows[index]] : nil
  }
  /// The row at a path; nil if there is none. O(log n).
  public func object(at path: RowPath) -> Model? {
    linearIndex(at: path).map { rows[shown.rows[$0]] }
  }
  /// Where a path is in the linear list; nil if there is no such row. O(log sections).
  public func linearIndex(at path: RowPath) -> Int? {
    guard isSection(path.section) else { return nil }
    let rows = shown.sections.rows(of: path.section)
    return path.row >= 0 && path.row < rows.count ? rows.lowerBound + path.row : nil
  }
  /// The path of a row of the linear list; nil if there is none. O(log sections).
  public func path(at index: Int) -> RowPath? {
    guard index >= 0, index < shown.rows.count else { return nil }
    return shown.sections.path(ofRow: index)
  }
  /// All rows in order. O(n).
  public var items: [Model] { shown.rows.elements.map { rows[$0] } }
  /// The linear index of the first row that fits; nil if none does. O(n).
  public func indexOfItem(where fits: (Model) throws -> Bool) rethrows -> Int? {
    try shown.rows.index { try fits(rows[$0]) }
  }
  /// The rows as one insert each. O(n).
  public var transactionsForCurrentState: [ListTransaction<Model>] {
    items.transactionsForCurrentState
  }

  private func isSection(_ section: Int) -> Bool {
    section >= 0 && section < shown.sections.count
  }
}
