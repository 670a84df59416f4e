// One list, fed by transactions.
//
// Who owns what: `latest` is the list after every batch that was accepted; `shown` is what reads see. They
// differ only between the end of a batch and the moment its delegate runs the block it asked for. Both
// share their nodes, so the difference costs what changed.

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
  typealias Rows = RankedList<Model, Weightless<Model>>

  /// Is told of every batch.
  public weak var delegate: (any PlainConsumerDelegate<Model>)?
  public var _batch = OpenBatch<Model>()
  private let rules: ValueRules<Model>
  private let identity: ((Model) -> AnyHashable)?
  private var latest = Rows()
  private var shown = Rows()
  private var deliveries = Deliveries()

  /// An empty list.
  ///
  /// - Parameters:
  ///   - isEqual: Whether an update changes nothing and is to be left out; nil takes every update for
  ///     a change.
  ///   - identity: What tells rows apart when ``reset(with:notifying:)`` compares two lists. Without
  ///     it, or if it is not unique, every row goes and every new one comes.
  public convenience init(
    isEqual: ((_ old: Model, _ new: Model) -> Bool)? = nil,
    identity: ((Model) -> AnyHashable)? = nil
  ) {
    self.init(rules: ValueRules(carryOver: nil, isEqual: isEqual), identity: identity)
  }

  init(rules: ValueRules<Model>, identity: ((Model) -> AnyHashable)?) {
    self.rules = rules
    self.identity = identity
  }

  @discardableResult
  public func didChange(returnChanges: Bool) throws(TreeRingError) -> ListChanges? {
    let plan = try BatchPlan(_batch.end(), on: latest, rules: rules)
    let changes = plan.changes
    plan.apply(to: &latest)
    deliver(changes)
    return returnChanges ? changes : nil
  }

  /// Replaces the content.
  ///
  /// - Parameter notifying: Whether the delegate is told, of the one minimal batch that leads from the
  ///   old content to the new; else nobody is.
  public func reset(with models: some Sequence<Model>, notifying: Bool = false) {
    _batch.requireClosed()
    let rows = Rows(models)
    let comparison = notifying ? ListComparison(latest, rows, identity, rules) : nil
    latest = comparison?.rows ?? rows
    if let comparison {
      deliver(comparison.changes)
    } else {
      run(through: .max)
      shown = latest
    }
  }

  /// Replaces the content by what these transactions make of an empty list.
  ///
  /// - Throws: `invalidInput` unless they are inserts at the indexes from 0 on; nothing is changed then.
  public func reset(
    with transactions: [ListTransaction<Model>], notifying: Bool = false
  ) throws(TreeRingError) {
    let plan = try BatchPlan(transactions, on: Rows(), rules: ValueRules())
    reset(with: plan.inserts.map(\.model), notifying: notifying)
  }

  private func deliver(_ changes: ListChanges) {
    let after = latest
    guard let delegate else {
      run(through: .max)
      shown = after
      return
    }
    delegate.consumerWillChange()
    let number = deliveries.append { [weak self] in self?.show(after, changes) }
    delegate.consumer(perform: { [weak self] in self?.run(through: number) })
  }

  /// Runs the batches not run yet up to one of them.
  private func run(through number: Int) {
    while let body = deliveries.next(through: number) { body() }
  }

  private func show(_ rows: Rows, _ changes: ListChanges) {
    shown = rows
    guard let delegate else { return }
    let changes = LegacyListChanges(changes)
    for update in changes.updates {
      delegate.consumerDidUpdate(rows[update.to], at: update.from)
    }
    for index in changes.removals { delegate.consumerDidRemove(at: index) }
    for index in changes.insertions { delegate.consumerDidInsert(rows[index], at: index) }
    delegate.consumerDidChange()
  }

  // MARK: - Reads

  /// How many rows there are. O(1).
  public var numberOfItems: Int { shown.count }
  /// The row at an index; nil if there is none. O(log n).
  public func object(at index: Int) -> Model? {
    index >= 0 && index < shown.count ? shown[index] : nil
  }
  /// All rows. O(n).
  public var items: [Model] { shown.elements }
  /// The index of the first row that fits; nil if none does. O(n).
  public func indexOfItem(where fits: (Model) throws -> Bool) rethrows -> Int? {
    try shown.index(where: fits)
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
