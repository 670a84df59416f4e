// A linear list in sections: runs of rows with equal titles.

public import TreeRing
internal import TreeRingLog
public import TreeRingMappings

/// Receives the changes of a sectioned consumer.
///
/// The order of calls:
///   1. `consumerWillChange`, while reads still see the old state.
///   2. The state changes at once. Then follow row updates (ascending old path), section reloads
///      (old position), section removals (descending), section insertions (ascending), row removals
///      (descending old path), row insertions (ascending new path).
///   3. `consumerDidChange`, inside which a new batch may begin.
public protocol SectionedConsumerDelegate<Model>: ConsumerDelegate {
  /// The type of the rows.
  associatedtype Model
  /// Called for a row with a new value.
  /// - Parameters:
  ///   - model: The new value.
  ///   - path: Its path before the batch.
  func consumerDidUpdate(_ model: Model, at path: RowPath)
  /// Called for a section whose title changed.
  /// - Parameter section: Its position before the batch.
  func consumerDidReload(section: Int)
  /// Called for a section removed, with its rows, from a position before the batch.
  func consumerDidRemove(section: Int)
  /// Called for a section inserted, with its rows, at a position after the batch.
  func consumerDidInsert(section: Int)
  /// Called for a row removed from a path before the batch.
  func consumerDidRemove(at path: RowPath)
  /// Called for a row inserted at a path after the batch.
  func consumerDidInsert(_ model: Model, at path: RowPath)
}

/// A list in sections, updated by batches. Reads and single changes are O(log n).
public final class SectionedConsumer<Model, Title: Hashable>: BatchConsumer {
  /// The delegate, called for every batch.
  public weak var delegate: (any SectionedConsumerDelegate<Model>)?
  let core: ConsumerCore<Model>
  private let titleOfModel: (Model) -> Title
  private var titles = TitleTable<Title>()

  /// An empty list.
  ///
  /// - Parameters:
  ///   - title: The title of a row's section. Sort the list by it first.
  ///   - isEqual: Whether an update has no effect and is omitted.
  ///   - identity: The identity of a row, used when a notifying reset compares two lists.
  public init(
    title: @escaping (Model) -> Title, isEqual: ((_ old: Model, _ new: Model) -> Bool)? = nil,
    identity: ((Model) -> AnyHashable)? = nil
  ) {
    core = ConsumerCore(ValueRules(carryOver: nil, isEqual: isEqual), identity: identity)
    titleOfModel = title
  }

  public func willChange() { core.beginBatch() }
  public func consume(_ transactions: some Sequence<ListTransaction<Model>>) {
    core.append(transactions)
  }

  /// - Throws: `invalidInput` also for a row inserted between two rows of one section under another
  ///   title. An existing row that changes its title splits the section.
  @discardableResult
  public func didChange(returnChanges: Bool) throws(TreeRingError) -> SectionedChanges? {
    let (plan, unused) = try core.endBatch { (rows) throws(TreeRingError) in
      try SectionedPlan(rows, on: core.state.latest.sections, title: title)
    }
    accept(plan.changes, freeing: unused) {
      $0.sections = plan.sections
      return plan.rows.apply(to: &$0.rows)
    }
    return returnChanges ? plan.changes : nil
  }

  public func reset(with models: some Sequence<Model>, notifying: Bool) {
    let new = core.rows(for: models)
    guard notifying else {
      return core.replace(
        with: ConsumerState(rows: new, sections: SectionRuns(new.elements.map(title))))
    }
    let old = core.state.latest
    let (comparison, unused) = core.comparison(with: new)
    let moving = Set(comparison.changes.moves.map(\.from))
    let next = ConsumerState(
      rows: comparison.rows, sections: SectionRuns(comparison.rows.elements.map(title)))
    let retitled = comparison.common.filter {
      !moving.contains($0.from) && title(old.rows[$0.from]) != title(next.rows[$0.to])
    }
    let changes = SectionedDifference(
      comparison.changes, from: old.sections, to: next.sections, retitled: retitled.map(\.from)
    ).changes
    accept(changes, freeing: unused) { $0.become(next) }
  }

  private func title(_ row: RowNumber) -> TitleNumber {
    titles.number(of: titleOfModel(core.table[row]))
  }

  private func accept(
    _ changes: SectionedChanges, freeing unused: [RowNumber],
    _ edit: @escaping (inout ConsumerState) -> [RowNumber]
  ) {
    core.accept(for: delegate, freeing: unused, edit) { [weak self] in self?.notify(of: changes) }
  }

  private func notify(of changes: SectionedChanges) {
    guard let delegate else { return }
    let state = core.state.shown
    func model(at path: RowPath) -> Model {
      core.table[state.rows[state.sections.rows(of: path.section).lowerBound + path.row]]
    }
    let moved = Set(changes.rowMoves.map { $0.from })
    let updates = changes.rowUpdates.filter { !moved.contains($0.from) }
    for update in updates.sorted(by: { $0.from < $1.from }) {
      delegate.consumerDidUpdate(model(at: update.to), at: update.from)
    }
    for reload in changes.sectionReloads { delegate.consumerDidReload(section: reload.from) }
    for section in changes.sectionDeletes.reversed() {
      delegate.consumerDidRemove(section: section)
    }
    for section in changes.sectionInserts { delegate.consumerDidInsert(section: section) }
    for path in (changes.rowDeletes + moved).sorted().reversed() {
      delegate.consumerDidRemove(at: path)
    }
    for path in (changes.rowInserts + changes.rowMoves.map { $0.to }).sorted() {
      delegate.consumerDidInsert(model(at: path), at: path)
    }
    delegate.consumerDidChange()
  }

  // MARK: - Reads

  public var numberOfItems: Int { core.count }
  public func object(at index: Int) -> Model? { core.model(at: index) }
  public var items: [Model] { core.models }

  private var sections: SectionRuns { core.state.shown.sections }
  /// The number of sections. O(1).
  public var sectionsCount: Int { sections.count }
  /// The number of rows in a section; 0 if there is no such section. O(log sections).
  public func numberOfItems(inSection section: Int) -> Int { rows(inSection: section)?.count ?? 0 }
  /// The title of a section; nil if there is none. O(log sections).
  public func title(ofSection section: Int) -> Title? {
    rows(inSection: section).map { _ in titles.titles[sections.title(of: section)] }
  }
  /// The row at a path; nil if there is none. O(log n).
  public func object(at path: RowPath) -> Model? {
    linearIndex(at: path).flatMap { object(at: $0) }
  }
  /// The linear index of a path; nil if there is no such row. O(log sections).
  public func linearIndex(at path: RowPath) -> Int? {
    guard let rows = rows(inSection: path.section), path.row >= 0, path.row < rows.count else {
      return nil
    }
    return rows.lowerBound + path.row
  }
  /// The path of a row of the linear list; nil if there is none. O(log sections).
  public func path(at index: Int) -> RowPath? {
    index >= 0 && index < numberOfItems ? sections.path(ofRow: index) : nil
  }

  /// The rows of a section by their indexes in the linear list; nil if there is none.
  private func rows(inSection section: Int) -> Range<Int>? {
    let sections = sections
    return section >= 0 && section < sections.count ? sections.rows(of: section) : nil
  }
}
