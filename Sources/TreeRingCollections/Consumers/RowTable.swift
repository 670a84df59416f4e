// The models of a consumer, by number. Each value that a batch brings or creates gets a number. The
// number is free again when the batch is refused, or when no state holds it any more. A batch uses
// the values it replaces until it has been shown.

/// Models by number.
final class RowTable<Model> {
  private var models = NumberedValues<Model>()
  /// The numbers assigned since the last batch ended.
  private var added: [RowNumber] = []

  /// Assigns a number to a model.
  func add(_ model: Model) -> RowNumber {
    let row = models.add(model)
    added.append(row)
    return row
  }

  /// The model of a number.
  subscript(row: RowNumber) -> Model { models[row] }

  /// The numbers assigned in the ending batch; the caller becomes responsible for freeing them.
  func takeAdded() -> [RowNumber] {
    defer { added = [] }
    return added
  }

  /// Frees numbers.
  func remove(_ rows: some Sequence<RowNumber>) {
    for row in rows { models.remove(row) }
  }

  /// The number of numbers in use.
  var count: Int { models.count }

  /// Converts rules for models to rules for numbers.
  func rules(_ rules: ValueRules<Model>) -> ValueRules<RowNumber> {
    var numbered = ValueRules<RowNumber>()
    if let carryOver = rules.carryOver {
      numbered.carryOver = { self.add(carryOver(self[$0], self[$1])) }
    }
    if let isEqual = rules.isEqual { numbered.isEqual = { isEqual(self[$0], self[$1]) } }
    return numbered
  }
}

extension BatchPlan<RowNumber> {
  /// The numbers assigned in the batch that no row uses once it has been applied.
  func unused(of added: [RowNumber]) -> [RowNumber] {
    var kept = Set(inserts.map { $0.model })
    kept.formUnion(moves.map { $0.model })
    kept.formUnion(updates.map { $0.model })
    return kept.count == added.count ? [] : added.filter { !kept.contains($0) }
  }
}
