// The models of a consumer, by number.
//
// Generics end here. Lists and batches hold numbers, so there is one kind of them, for which the compiler makes
// code in this module; generic code that serves models of other modules looks its types up at run time, again
// and again. And a copy of a list's node is a copy of bytes, which counts no references.
//
// A number is given to each value that a batch brings or makes. It is free again when the batch has been refused,
// or when no state holds it any more: a batch's last use of what it replaces ends when it has been shown.

/// What stands for a value of a row.
typealias RowNumber = Int32

/// A consumer's list.
typealias RowList = RankedList<RowNumber, Weightless<RowNumber>>

extension RowList {
  /// An empty list. Its leaves are long, since they are copied as bytes, and its inner nodes short, whose
  /// copies count the references to their children.
  static var ofNumbers: RowList { RowList(capacity: 16, leafCapacity: 256) }

  /// A list of these rows. O(n).
  static func ofNumbers(_ rows: [RowNumber]) -> RowList {
    RowList(rows, capacity: 16, leafCapacity: 256)
  }
}

/// Models by number.
final class RowTable<Model> {
  private var models: [Model?] = []
  private var free: [RowNumber] = []
  /// The numbers given since a batch ended.
  private var added: [RowNumber] = []

  /// Gives a model a number.
  func add(_ model: Model) -> RowNumber {
    let row: RowNumber
    if let last = free.popLast() {
      row = last
      models[Int(row)] = model
    } else {
      row = RowNumber(models.count)
      models.append(model)
    }
    added.append(row)
    return row
  }

  /// The model of a number.
  subscript(row: RowNumber) -> Model {
    guard let model = models[Int(row)] else { preconditionFailure("the number \(row) is free") }
    return model
  }

  /// The numbers given in the batch that ends, which from here on are the caller's to free.
  func takeAdded() -> [RowNumber] {
    defer { added = [] }
    return added
  }

  /// Frees numbers.
  func remove(_ rows: some Sequence<RowNumber>) {
    for row in rows {
      models[Int(row)] = nil
      free.append(row)
    }
  }

  /// How many numbers are in use.
  var count: Int { models.count - free.count }

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
