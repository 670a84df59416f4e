// The models of a consumer, by number. A number is given to each value that a batch brings or makes. It is free
// again when the batch has been refused, or when no state holds it any more: a batch's last use of what it
// replaces ends when it has been shown.

/// Models by number.
final class RowTable<Model> {
  private var models = NumberedValues<Model>()
  /// The numbers given since a batch ended.
  private var added: [RowNumber] = []

  /// Gives a model a number.
  func add(_ model: Model) -> RowNumber {
    let row = models.add(model)
    added.append(row)
    return row
  }

  /// The model of a number.
  subscript(row: RowNumber) -> Model { models[row] }

  /// The numbers given in the batch that ends, which from here on are the caller's to free.
  func takeAdded() -> [RowNumber] {
    defer { added = [] }
    return added
  }

  /// Frees numbers.
  func remove(_ rows: some Sequence<RowNumber>) {
    for row in rows { models.remove(row) }
  }

  /// How many numbers are in use.
  var count: Int { models.count }

  /// Rules for models as rules for numbers.
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
  /// Those of the numbers given in the batch that nothing stands for once it has been applied.
  func unused(of added: [RowNumber]) -> [RowNumber] {
    var kept = Set(inserts.map { $0.model })
    kept.formUnion(moves.map { $0.model })
    kept.formUnion(updates.map { $0.model })
    return kept.count == added.count ? [] : added.filter { !kept.contains($0) }
  }
}
