// The core of a consumer: its models by number, the state of its list, and the open batch.

internal import TreeRingLog

/// A list and, for sectioned consumers, its sections.
struct ConsumerState {
  var rows = RowList.ofNumbers()
  var sections = SectionRuns()
}

/// A consumer's rows, rules and open batch.
final class ConsumerCore<Model> {
  let table = RowTable<Model>()
  let rules: ValueRules<RowNumber>
  private let identity: ((RowNumber) -> AnyHashable)?
  let state = ShownState(ConsumerState())
  /// Nil while no batch is open.
  private var batch: [ListTransaction<RowNumber>]?

  init(_ rules: ValueRules<Model>, identity: ((Model) -> AnyHashable)?) {
    self.rules = table.rules(rules)
    self.identity = identity.map { [table] identity in { identity(table[$0]) } }
  }

  // MARK: - Reads

  /// The number of rows that reads see.
  var count: Int { state.shown.rows.count }
  /// The row that reads see at an index; nil if there is none. O(log n).
  func model(at index: Int) -> Model? {
    let rows = state.shown.rows
    return index >= 0 && index < rows.count ? table[rows[index]] : nil
  }
  /// The rows that reads see. O(n).
  var models: [Model] { state.shown.rows.elements.map { table[$0] } }

  // MARK: - Batches

  func beginBatch() {
    precondition(batch == nil, "a batch may not begin inside another")
    batch = []
  }

  func append(_ transactions: some Sequence<ListTransaction<Model>>) {
    precondition(batch != nil, "a consumer may be written to only inside a batch")
    for transaction in transactions { batch?.append(transaction.map(table.add)) }
  }

  /// Ends the batch.
  ///
  /// - Parameter check: Checks the batch's plan for the latest state and returns a result.
  /// - Returns: The result of `check`, and the batch's numbers that no row will use.
  /// - Throws: `invalidInput`; the batch's numbers are then free again.
  func endBatch<Checked>(
    _ check: (BatchPlan<RowNumber>) throws(TreeRingError) -> Checked
  ) throws(TreeRingError) -> (checked: Checked, unused: [RowNumber]) {
    guard let transactions = batch else { preconditionFailure("there is no open batch") }
    batch = nil
    do {
      let plan = try BatchPlan(transactions, on: state.latest.rows, rules: rules)
      let checked = try check(plan)
      return (checked, plan.unused(of: table.takeAdded()))
    } catch {
      table.remove(table.takeAdded())
      throw error
    }
  }

  /// Advances to the state after a batch.
  ///
  /// - Parameters:
  ///   - delegate: The delegate to call.
  ///   - unused: The numbers to free.
  ///   - edit: Turns the latest state into the one after the batch and returns the numbers it no
  ///     longer holds. They are freed once the batch has been shown.
  ///   - notify: Makes the calls of the batch.
  func accept(
    for delegate: (any ConsumerDelegate)?, freeing unused: [RowNumber],
    _ edit: @escaping (inout ConsumerState) -> [RowNumber], notify: @escaping () -> Void
  ) {
    var dead = unused
    state.accept(for: delegate, { dead += edit(&$0) }) { [table] in
      notify()
      table.remove(dead)
    }
  }

  // MARK: - Resets

  /// The rows of a reset, as numbers.
  func rows(for models: some Sequence<Model>) -> RowList {
    precondition(batch == nil, "a consumer may not be reset inside a batch")
    return RowList.ofNumbers(models.map(table.add))
  }

  /// Replaces the content without calling the delegate.
  func replace(with next: ConsumerState) {
    _ = table.takeAdded()
    table.remove(state.replace(with: next).rows.elements)
  }

  /// Compares the latest rows with those of a reset; `unused` are the numbers that no row will use.
  func comparison(
    with new: RowList
  ) -> (comparison: ListComparison<RowNumber>, unused: [RowNumber]) {
    let comparison = ListComparison(state.latest.rows, new, identity, rules)
    let kept = Set(comparison.rows.elements)
    return (comparison, table.takeAdded().filter { !kept.contains($0) })
  }
}

extension ConsumerState {
  /// Becomes another state; returns the numbers it no longer holds. O(n).
  mutating func become(_ next: ConsumerState) -> [RowNumber] {
    let kept = Set(next.rows.elements)
    defer { self = next }
    return rows.elements.filter { !kept.contains($0) }
  }
}
