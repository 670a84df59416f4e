// A single list, updated by transactions.

public import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

/// Receives the changes of a plain consumer's list.
///
/// The order of calls:
///   1. `consumerWillChange`, while reads still see the old list.
///   2. The list changes at once. The row calls follow while reads see the new one: updates by
///      ascending old index, removals by descending old index, insertions by ascending new index.
///   3. `consumerDidChange`, inside which a new batch may begin.
/// A moved row is removed and inserted; ``PlainConsumer/didChange(returnChanges:)`` reports moves.
public protocol PlainConsumerDelegate<Model>: ConsumerDelegate {
  /// The type of the rows.
  associatedtype Model
  /// Called for a row with a new value.
  /// - Parameters:
  ///   - model: The new value.
  ///   - index: Its position before the batch.
  func consumerDidUpdate(_ model: Model, at index: Int)
  /// Called for a row removed from a position before the batch.
  func consumerDidRemove(at index: Int)
  /// Called for a row inserted at a position after the batch.
  func consumerDidInsert(_ model: Model, at index: Int)
}

/// A list updated by batches. Reads and single changes are O(log n).
public class PlainConsumer<Model>: BatchConsumer {
  /// The delegate, called for every batch.
  public weak var delegate: (any PlainConsumerDelegate<Model>)?
  let core: ConsumerCore<Model>

  /// An empty list.
  ///
  /// - Parameters:
  ///   - isEqual: Whether an update has no effect and is omitted; with nil every update counts as a
  ///     change.
  ///   - identity: The identity of a row, used when a notifying reset compares two lists. Without
  ///     it, or if it is not unique, every old row is removed and every new one inserted.
  public convenience init(
    isEqual: ((_ old: Model, _ new: Model) -> Bool)? = nil,
    identity: ((Model) -> AnyHashable)? = nil
  ) {
    self.init(rules: ValueRules(carryOver: nil, isEqual: isEqual), identity: identity)
  }

  init(rules: ValueRules<Model>, identity: ((Model) -> AnyHashable)?) {
    core = ConsumerCore(rules, identity: identity)
  }

  public func willChange() { core.beginBatch() }
  public func consume(_ transactions: some Sequence<ListTransaction<Model>>) {
    core.append(transactions)
  }

  @discardableResult
  public func didChange(returnChanges: Bool) throws(TreeRingError) -> ListChanges? {
    let (plan, unused) = try core.endBatch { $0 }
    let changes = plan.changes
    accept(changes, freeing: unused) { plan.apply(to: &$0.rows) }
    return returnChanges ? changes : nil
  }

  public func reset(with models: some Sequence<Model>, notifying: Bool) {
    let rows = core.rows(for: models)
    guard notifying else { return core.replace(with: ConsumerState(rows: rows)) }
    let (comparison, unused) = core.comparison(with: rows)
    accept(comparison.changes, freeing: unused) {
      $0.become(ConsumerState(rows: comparison.rows))
    }
  }

  public var numberOfItems: Int { core.count }
  public func object(at index: Int) -> Model? { core.model(at: index) }
  public var items: [Model] { core.models }

  private func accept(
    _ changes: ListChanges, freeing unused: [RowNumber],
    _ edit: @escaping (inout ConsumerState) -> [RowNumber]
  ) {
    core.accept(for: delegate, freeing: unused, edit) { [weak self] in self?.notify(of: changes) }
  }

  private func notify(of changes: ListChanges) {
    guard let delegate else { return }
    let (rows, alignment) = (core.state.shown.rows, changes.alignment)
    let moved = Set(changes.moves.map { $0.from })
    let updates = changes.updates.filter { !moved.contains($0.from) }
    for update in updates.sorted(by: { $0.from < $1.from }) {
      delegate.consumerDidUpdate(core.table[rows[update.to]], at: update.from)
    }
    for index in alignment.removed.reversed() { delegate.consumerDidRemove(at: index) }
    for index in alignment.added {
      delegate.consumerDidInsert(core.table[rows[index]], at: index)
    }
    delegate.consumerDidChange()
  }
}

/// A plain consumer that carries values over from a row's old value to its new one, on every update
/// and move. Its equality check receives the carried-over value.
public final class RecurrentConsumer<Model>: PlainConsumer<Model> {
  /// An empty list.
  ///
  /// - Parameters:
  ///   - isEqual: Whether an update has no effect and is omitted.
  ///   - identity: The identity of a row, used when two lists are compared.
  ///   - carryOver: Returns the value to keep, from the old one and the given one.
  public init(
    isEqual: ((_ old: Model, _ new: Model) -> Bool)? = nil,
    identity: ((Model) -> AnyHashable)? = nil,
    carryingOver carryOver: @escaping (_ old: Model, _ new: Model) -> Model
  ) {
    super.init(rules: ValueRules(carryOver: carryOver, isEqual: isEqual), identity: identity)
  }
}
