// The interface of all consumers: batches that collect transactions and apply them together, and
// reads of the linear list.

public import TreeRing

/// A copy of a list, updated by batches of transactions.
///
///     consumer.willChange()
///     consumer.consume(transactions)
///     try consumer.didChange()
///
/// A batch is a set, so the order of calls within it has no meaning: `index` is a position before
/// the batch, `newIndex` one after it. Writing outside a batch, or beginning one inside another, is
/// a programming error and traps. A consumer belongs to one isolation domain, like the view it
/// feeds.
public protocol BatchConsumer<Model>: AnyObject {
  /// The type of the rows.
  associatedtype Model
  /// The type of a batch's net changes.
  associatedtype Changes

  /// Begins a batch.
  func willChange()

  /// Adds transactions to the batch.
  func consume(_ transactions: some Sequence<ListTransaction<Model>>)

  /// Ends the batch: checks it, applies it, and calls the delegate.
  ///
  /// - Parameter returnChanges: Whether to return the net changes of the batch. The delegate is
  ///   called either way.
  /// - Returns: The changes; nil unless requested.
  /// - Throws: `invalidInput` for a batch that contradicts itself or the list. Then nothing is
  ///   applied, the delegate is not called, and the batch is over.
  @discardableResult
  func didChange(returnChanges: Bool) throws(TreeRingError) -> Changes?

  /// Replaces the content.
  ///
  /// - Parameters:
  ///   - models: The new rows.
  ///   - notifying: Whether the delegate is called, with the one minimal batch that leads from the
  ///     old content to the new.
  func reset(with models: some Sequence<Model>, notifying: Bool)

  /// The number of rows in total. O(1).
  var numberOfItems: Int { get }
  /// The row at an index; nil if there is none. O(log n).
  func object(at index: Int) -> Model?
  /// All rows in order. O(n).
  var items: [Model] { get }
}

extension BatchConsumer {
  /// Inserts a row at an index after the batch.
  public func add(_ model: Model, at newIndex: Int) {
    consume(CollectionOfOne(.insert(model, newIndex: newIndex)))
  }
  /// Gives the row at an index before the batch a new value.
  public func update(_ model: Model, at index: Int) {
    consume(CollectionOfOne(.update(model, index: index)))
  }
  /// Removes the row at an index before the batch.
  public func remove(at index: Int) { consume(CollectionOfOne(.delete(index: index))) }
  /// Moves the row at an index before the batch to one after it, with this value.
  public func move(_ model: Model, from index: Int, to newIndex: Int) {
    consume(CollectionOfOne(.move(model, index: index, newIndex: newIndex)))
  }
  /// Ends the batch; see ``didChange(returnChanges:)``.
  public func didChange() throws(TreeRingError) { try didChange(returnChanges: false) }

  /// Replaces the content without calling the delegate.
  public func reset(with models: some Sequence<Model>) { reset(with: models, notifying: false) }

  /// Replaces the content by the result of these transactions on an empty list.
  ///
  /// - Throws: `invalidInput` unless they are inserts at the indexes from 0 on; the content is then
  ///   unchanged.
  public func reset(
    applying transactions: [ListTransaction<Model>], notifying: Bool = false
  ) throws(TreeRingError) {
    reset(with: try transactions.rowsFromNothing(), notifying: notifying)
  }

  /// The index of the first row that satisfies `fits`; nil if there is none. O(n).
  public func indexOfItem(where fits: (Model) throws -> Bool) rethrows -> Int? {
    try items.firstIndex(where: fits)
  }
  /// The rows as one insert each. O(n).
  public var transactionsForCurrentState: [ListTransaction<Model>] {
    items.transactionsForCurrentState
  }
}

/// Receives the begin and the end of batches: the common part of all consumers' delegates.
public protocol ConsumerDelegate: AnyObject {
  /// Called before a batch changes the list; reads see the old one. No batch may end or run here.
  func consumerWillChange()
  /// Called after the batch. A new batch may begin here.
  func consumerDidChange()
  /// Receives the whole batch as a block, to run at once or later. The block includes everything
  /// from `consumerWillChange` to `consumerDidChange`: the list change and the calls between them.
  /// Until then reads see the old list. Running a block first runs the earlier ones; running it
  /// again has no effect. By default it runs at once.
  func consumer(perform batch: @escaping () -> Void)
}

extension ConsumerDelegate {
  public func consumerWillChange() {}
  public func consumerDidChange() {}
  public func consumer(perform batch: @escaping () -> Void) { batch() }
}
