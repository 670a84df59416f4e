// Batches of transactions: a tracker's output and a consumer's input.
//
// A batch is a set: the order of its transactions has no meaning. `index` is always a position
// before the batch, `newIndex` one after it.

internal import TreeRingLog

/// One operation of a batch.
public enum ListTransaction<Model> {
  /// Inserts a row.
  case insert(Model, newIndex: Int)
  /// Deletes a row.
  case delete(index: Int)
  /// Gives a row a new value.
  case update(Model, index: Int)
  /// Moves a row and gives it this value.
  case move(Model, index: Int, newIndex: Int)

  /// The same transaction with another type of model.
  public func map<Other, Failure>(
    _ transform: (Model) throws(Failure) -> Other
  ) throws(Failure) -> ListTransaction<Other> {
    switch self {
    case .insert(let model, let newIndex): .insert(try transform(model), newIndex: newIndex)
    case .delete(let index): .delete(index: index)
    case .update(let model, let index): .update(try transform(model), index: index)
    case .move(let model, let index, let newIndex):
      .move(try transform(model), index: index, newIndex: newIndex)
    }
  }
}

extension ListTransaction: Sendable where Model: Sendable {}
extension ListTransaction: Equatable where Model: Equatable {}
extension ListTransaction: Hashable where Model: Hashable {}

extension Sequence {
  /// These rows as one insert each, which fill an empty consumer. O(n).
  public var transactionsForCurrentState: [ListTransaction<Element>] {
    enumerated().map { .insert($1, newIndex: $0) }
  }
}

extension Array {
  /// The result of transactions on an empty list.
  ///
  /// - Throws: `invalidInput` unless they are inserts at the indexes from 0 on.
  func rowsFromNothing<Model>() throws(TreeRingError) -> [Model]
  where Element == ListTransaction<Model> {
    let plan = BatchPlan(self, oldCount: 0)
    try plan.check()
    return plan.inserts.map { $0.model }
  }
}
