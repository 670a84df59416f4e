// One list, fed by transactions.

public import TreeRing
internal import TreeRingLog

/// Is told what batches do to a plain consumer's list.
///
/// The order of calls: `consumerWillChange` while reads still see the old list; then the list changes at
/// once, and the row calls follow while reads see the new one: updates by ascending old index, removals by
/// descending old index, insertions by ascending new index; then `consumerDidChange`, inside which a new
/// batch may begin. A moved row is removed and inserted; ``PlainConsumer/didChange(returnChanges:)`` tells
/// of moves.
public protocol PlainConsumerDelegate<Model>: AnyObject {
  /// What rows are.
  associatedtype Model
  /// A batch is about to change the list.
  func consumerWillChange()
  /// A row has a new value.
  /// - Parameters:
  ///   - model: The value now.
  ///   - index: Its position before the batch.
  func consumerDidUpdate(_ model: Model, at index: Int)
  /// A row went from a position before the batch.
  func consumerDidRemove(at index: Int)
  /// A row came to a position after the batch.
  func consumerDidInsert(_ model: Model, at index: Int)
  /// The batch is over.
  func consumerDidChange()
  /// Receives the whole batch, list change and calls, as a block to run at a time of its own. Until
  /// then reads see the old list. Running a block first runs those before it; running it again does
  /// nothing. By default it is run at once.
  func consumer(perform batch: @escaping () -> Void)
}

extension PlainConsumerDelegate {
  public func consumerWillChange() {}
  public func consumerDidChange() {}
  public func consumer(perform batch: @escaping () -> Void) { batch() }
}

/// A list kept in step by batches. Reads and single changes are O(log n).
public class PlainConsumer<Model>: BatchConsumer {
  /// Is told of every batch.
  public weak var delegate: (any PlainConsumerDelegate<Model>)?
  /// The batch being collected. For the library's use.
  public var _batch: OpenBatch<Model>
  private let rows: RowTable<Model>
  private let rules: ValueRules<RowNumber>
  private let identity: ((RowNumber) -> AnyHashable)?
  private let state = ShownState(RowList.ofNumbers)

  /// An empty list.
  ///
  /// - Parameters:
  ///   - isEqual: Whether an update changes nothing and is to be left out; nil takes every update for
  ///     a change.
  ///   - identity: What tells rows apart when a reset that tells compares two lists. Without
  ///     it, or if it is not unique, every row goes and every new one comes.
  public convenience init(
    isEqual: ((_ old: Model, _ new: Model) -> Bool)? = nil,
    identity: ((Model) -> AnyHashable)? = nil
  ) {
    self.init(rules: ValueRules(carryOver: nil, isEqual: isEqual), identity: identity)
  }

  init(rules: ValueRules<Model>, identity: ((Model) -> AnyHashable)?) {
    let batch = OpenBatch<Model>()
    let rows = batch.rows
    _batch = batch
    self.rows = rows
    self.rules = rows.rules(rules)
    self.identity = identity.map { identity in { identity(rows[$0]) } }
  }

  @discardableResult
  public func didChange(returnChanges: Bool) throws(TreeRingError) -> ListChanges? {
    let latest = state.latest
    let plan: BatchPlan<RowNumber>
    do {
      plan = try BatchPlan(_batch.end(), on: latest, rules: rules)
    } catch {
      rows.remove(rows.takeAdded())
      throw error
    }
    let changes = plan.changes
    var after = latest
    plan.apply(to: &after)
    accept(after, changes, freeing: plan.dead(in: latest, added: rows.takeAdded()))
    return returnChanges ? changes : nil
  }

  /// Replaces the content.
  ///
  /// - Parameters:
  ///   - models: The rows from now on.
  ///   - notifying: Whether the delegate is told, of the one minimal batch that leads from the
  ///     old content to the new; else nobody is.
  public func reset(with models: some Sequence<Model>, notifying: Bool = false) {
    _batch.requireClosed()
    let (old, new) = (state.latest, RowList.ofNumbers(models.map(rows.add)))
    if notifying {
      let comparison = ListComparison(old, new, identity, rules)
      let kept = Set(comparison.rows.elements)
      let dead = (old.elements + rows.takeAdded()).filter { !kept.contains($0) }
      accept(comparison.rows, comparison.changes, freeing: dead)
    } else {
      _ = rows.takeAdded()
      state.replace(with: new)
      rows.remove(old.elements)
    }
  }

  /// Replaces the content by what these transactions make of an empty list.
  ///
  /// - Throws: `invalidInput` unless they are inserts at the indexes from 0 on; nothing is changed then.
  public func reset(
    with transactions: [ListTransaction<Model>], notifying: Bool = false
  ) throws(TreeRingError) {
    reset(with: try transactions.rowsFromNothing(), notifying: notifying)
  }

  /// Goes on to the list after a batch, and frees numbers when that has been shown.
  private func accept(_ after: RowList, _ changes: ListChanges, freeing dead: [RowNumber]) {
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

  private func tell(of changes: ListChanges, in list: RowList) {
    guard let delegate else { return }
    let changes = LegacyListChanges(changes)
    for update in changes.updates {
      delegate.consumerDidUpdate(rows[list[update.to]], at: update.from)
    }
    for index in changes.removals { delegate.consumerDidRemove(at: index) }
    for index in changes.insertions { delegate.consumerDidInsert(rows[list[index]], at: index) }
    delegate.consumerDidChange()
  }

  // MARK: - Reads

  private var shown: RowList { state.shown }
  /// How many rows there are. O(1).
  public var numberOfItems: Int { shown.count }
  /// The row at an index; nil if there is none. O(log n).
  public func object(at index: Int) -> Model? {
    index >= 0 && index < shown.count ? rows[shown[index]] : nil
  }
  /// All rows. O(n).
  public var items: [Model] { shown.elements.map { rows[$0] } }
  /// The index of the first row that fits; nil if none does. O(n).
  public func indexOfItem(where fits: (Model) throws -> Bool) rethrows -> Int? {
    try shown.index { try fits(rows[$0]) }
  }
  /// The rows as one insert each. O(n).
  public var transactionsForCurrentState: [ListTransaction<Model>] {
    items.transactionsForCurrentState
  }
}

/// A plain consumer that carries values over from a row's old value to its new one, on every update and
/// move. Its equality check asks about the value after that.
public final class RecurrentConsumer<Model>: PlainConsumer<Model> {
  /// An empty list.
  ///
  /// - Parameters:
  ///   - isEqual: Whether an update changes nothing and is to be left out.
  ///   - identity: What tells rows apart when two lists are compared.
  ///   - carryOver: Makes the value to keep from the old one and the one given.
  public init(
    isEqual: ((_ old: Model, _ new: Model) -> Bool)? = nil,
    identity: ((Model) -> AnyHashable)? = nil,
    carryingOver carryOver: @escaping (_ old: Model, _ new: Model) -> Model
  ) {
    super.init(rules: ValueRules(carryOver: carryOver, isEqual: isEqual), identity: identity)
  }
}

extension RankedList {
  /// The first position whose element fits. O(n).
  func index(where fits: (Element) throws -> Bool) rethrows -> Int? {
    var index = 0
    var isFound = false
    try forEach {
      isFound = try fits($0)
      if !isFound { index += 1 }
      return !isFound
    }
    return isFound ? index : nil
  }
}
