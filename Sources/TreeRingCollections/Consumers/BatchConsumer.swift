// What all consumers share: batches that collect transactions and apply them together.

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
public protocol BatchConsumer<Model>: AnyObject {
  /// What rows are.
  associatedtype Model
  /// What a batch amounts to.
  associatedtype Changes
  /// The batch being collected. For the library's use.
  var _batch: OpenBatch<Model> { get set }

  /// Ends the batch: checks it, applies it, and tells the delegate.
  ///
  /// - Parameter returnChanges: Whether to return what the batch amounts to; the delegate is told
  ///   either way.
  /// - Returns: The changes; nil unless asked for.
  /// - Throws: `invalidInput` for a batch that contradicts itself or the list; nothing is applied then,
  ///   nobody is told, and the batch is over.
  @discardableResult
  func didChange(returnChanges: Bool) throws(TreeRingError) -> Changes?
}

/// The transactions of a batch that has begun.
public struct OpenBatch<Model> {
  /// The consumer's models.
  let rows = RowTable<Model>()
  /// Nil while no batch is open.
  private var transactions: [ListTransaction<RowNumber>]?

  init() {}

  mutating func begin() {
    precondition(transactions == nil, "a batch may not begin inside another")
    transactions = []
  }

  /// Traps unless a batch is open.
  func requireOpen() {
    precondition(transactions != nil, "a consumer may be written to only inside a batch")
  }

  mutating func append(_ transaction: ListTransaction<Model>) {
    requireOpen()
    transactions?.append(transaction.map(rows.add))
  }

  mutating func end() -> [ListTransaction<RowNumber>] {
    precondition(transactions != nil, "no batch has begun")
    defer { transactions = nil }
    return transactions ?? []
  }

  /// Traps if a batch is open.
  func requireClosed() {
    precondition(transactions == nil, "a consumer may not be reset inside a batch")
  }
}

extension BatchConsumer {
  /// Begins a batch.
  public func willChange() { _batch.begin() }
  /// A row comes to an index after the batch.
  public func add(_ model: Model, at newIndex: Int) {
    _batch.append(.insert(model, newIndex: newIndex))
  }
  /// The row at an index before the batch has a new value.
  public func update(_ model: Model, at index: Int) {
    _batch.append(.update(model, index: index))
  }
  /// The row at an index before the batch goes.
  public func remove(at index: Int) { _batch.append(.delete(index: index)) }
  /// The row at an index before the batch goes to one after it, and has this value there.
  public func move(_ model: Model, from index: Int, to newIndex: Int) {
    _batch.append(.move(model, index: index, newIndex: newIndex))
  }
  /// All of this happens.
  public func consume(_ transactions: some Sequence<ListTransaction<Model>>) {
    _batch.requireOpen()
    for transaction in transactions { _batch.append(transaction) }
  }
  /// Ends the batch; see ``didChange(returnChanges:)``.
  public func didChange() throws(TreeRingError) { try didChange(returnChanges: false) }
}
