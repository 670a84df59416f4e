// What all consumers share: batches that collect transactions and apply them together, and reads of the
// linear list.

public import TreeRing

/// A copy of a list, kept in step by batches of transactions.
///
///     consumer.willChange()
///     consumer.consume(transactions)
///     try consumer.didChange()
///
/// A batch is a set, so the order of calls within it carries no meaning: `index` is a position before
/// the batch, `newIndex` one after it. Writing outside a batch, or beginning one inside another, is a
/// mistake of the program and traps. A consumer belongs to one isolation domain, as the view it feeds.
///
/// For code that takes any of the library's consumers; other types cannot conform.
public protocol BatchConsumer<Model>: AnyObject {
  /// What rows are.
  associatedtype Model
  /// What a batch amounts to.
  associatedtype Changes
  /// The rows and the batch being collected. For the library's use.
  var _core: ConsumerCore<Model> { get }

  /// Ends the batch: checks it, applies it, and tells the delegate.
  ///
  /// - Parameter returnChanges: Whether to return what the batch amounts to; the delegate is told
  ///   either way.
  /// - Returns: The changes; nil unless asked for.
  /// - Throws: `invalidInput` for a batch that contradicts itself or the list; nothing is applied then,
  ///   nobody is told, and the batch is over.
  @discardableResult
  func didChange(returnChanges: Bool) throws(TreeRingError) -> Changes?

  /// Replaces the content.
  ///
  /// - Parameters:
  ///   - models: The rows from now on.
  ///   - notifying: Whether the delegate is told, of the one minimal batch that leads from the
  ///     old content to the new; else nobody is.
  func reset(with models: some Sequence<Model>, notifying: Bool)
}

/// Is told when batches begin and end: what the delegates of all consumers share.
public protocol ConsumerDelegate: AnyObject {
  /// A batch is about to change the list; reads see the old one.
  func consumerWillChange()
  /// The batch is over. A new one may begin here.
  func consumerDidChange()
  /// Receives the whole batch, list change and calls, as a block to run at a time of its own. Until
  /// then reads see the old list. Running a block first runs those before it; running it again does
  /// nothing. By default it is run at once.
  func consumer(perform batch: @escaping () -> Void)
}

extension ConsumerDelegate {
  public func consumerWillChange() {}
  public func consumerDidChange() {}
  public func consumer(perform batch: @escaping () -> Void) { batch() }
}

extension BatchConsumer {
  // MARK: - Batches

  /// Begins a batch.
  public func willChange() { _core.beginBatch() }
  /// A row comes to an index after the batch.
  public func add(_ model: Model, at newIndex: Int) {
    _core.append(.insert(model, newIndex: newIndex))
  }
  /// The row at an index before the batch has a new value.
  public func update(_ model: Model, at index: Int) {
    _core.append(.update(model, index: index))
  }
  /// The row at an index before the batch goes.
  public func remove(at index: Int) { _core.append(.delete(index: index)) }
  /// The row at an index before the batch goes to one after it, and has this value there.
  public func move(_ model: Model, from index: Int, to newIndex: Int) {
    _core.append(.move(model, index: index, newIndex: newIndex))
  }
  /// All of this happens.
  public func consume(_ transactions: some Sequence<ListTransaction<Model>>) {
    _core.requireOpen()
    for transaction in transactions { _core.append(transaction) }
  }
  /// Ends the batch; see ``didChange(returnChanges:)``.
  public func didChange() throws(TreeRingError) { try didChange(returnChanges: false) }

  /// Replaces the content and tells nobody.
  public func reset(with models: some Sequence<Model>) { reset(with: models, notifying: false) }

  /// Replaces the content by what these transactions make of an empty list.
  ///
  /// - Throws: `invalidInput` unless they are inserts at the indexes from 0 on; nothing is changed then.
  public func reset(
    with transactions: [ListTransaction<Model>], notifying: Bool = false
  ) throws(TreeRingError) {
    reset(with: try transactions.rowsFromNothing(), notifying: notifying)
  }

  // MARK: - Reads

  /// How many rows there are in all. O(1).
  public var numberOfItems: Int { _core.shown.rows.count }
  /// The row at an index; nil if there is none. O(log n).
  public func object(at index: Int) -> Model? {
    let rows = _core.shown.rows
    return index >= 0 && index < rows.count ? _core.table[rows[index]] : nil
  }
  /// All rows in order. O(n).
  public var items: [Model] { _core.shown.rows.elements.map { _core.table[$0] } }
  /// The index of the first row that fits; nil if none does. O(n).
  public func indexOfItem(where fits: (Model) throws -> Bool) rethrows -> Int? {
    try _core.shown.rows.index { try fits(_core.table[$0]) }
  }
  /// The rows as one insert each. O(n).
  public var transactionsForCurrentState: [ListTransaction<Model>] {
    items.transactionsForCurrentState
  }
}

extension RankedList {
  /// The first position whose element fits. O(n).
  fileprivate func index(where fits: (Element) throws -> Bool) rethrows -> Int? {
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
