// A batch of transactions, checked and sorted: its application to a list and its net changes.
//
// The check finds every error of a batch before it is applied.

internal import TreeRingLog
internal import TreeRingMappings

/// A consumer's rules for values.
struct ValueRules<Model> {
  /// Returns the value kept for an updated or moved row, from the old one and the given one.
  var carryOver: ((_ old: Model, _ new: Model) -> Model)?
  /// Whether a new value equals the old one, so that the update can be omitted.
  var isEqual: ((_ old: Model, _ new: Model) -> Bool)?

  /// Whether a row's new value depends on its old one.
  var askOldValues: Bool { carryOver != nil || isEqual != nil }

  /// The new value of a row, and whether it must be shown again.
  func value(of new: Model, for old: Model) -> (value: Model, isChanged: Bool) {
    let value = carryOver?(old, new) ?? new
    return (value, !(isEqual?(old, value) ?? false))
  }
}

/// A batch, checked against its list.
struct BatchPlan<Model> {
  /// The value of an inserted or updated row.
  struct Row {
    let index: Int
    let model: Model
  }
  struct Move {
    let ends: IndexMove
    var model: Model
    var isChanged: Bool
    var from: Int { ends.from }
    var to: Int { ends.to }
  }

  let oldCount: Int
  /// The old positions of deleted rows, ascending.
  private(set) var deletes: [Int] = []
  /// The inserts, by ascending new position.
  private(set) var inserts: [Row] = []
  /// The moves, by ascending old position.
  private(set) var moves: [Move] = []
  /// The updates, by ascending old position, without those that have no effect and those of moved
  /// rows.
  private(set) var updates: [Row] = []
  /// The old positions of removed or moved rows, and the new ones of inserted or moved rows.
  let alignment: Alignment

  var newCount: Int { oldCount - deletes.count + inserts.count }

  /// Checks a batch. O(k log n) for k transactions.
  ///
  /// - Throws: `invalidInput` for an index out of range, a row removed or updated twice, a row both
  ///   removed and updated, and two rows at one new index.
  init(
    _ transactions: [ListTransaction<Model>], on rows: RankedList<Model, Weightless<Model>>,
    rules: ValueRules<Model>
  ) throws(TreeRingError) {
    self.init(transactions, oldCount: rows.count)
    try check()
    let moved = Set(moves.map { $0.from })
    updates.removeAll { moved.contains($0.index) }
    guard rules.askOldValues else { return }
    for index in moves.indices {
      let (value, isChanged) = rules.value(of: moves[index].model, for: rows[moves[index].from])
      moves[index].model = value
      moves[index].isChanged = isChanged
    }
    updates = updates.compactMap { update in
      let (value, isChanged) = rules.value(of: update.model, for: rows[update.index])
      return isChanged ? Row(index: update.index, model: value) : nil
    }
  }

  /// A sorted batch, not checked and without evaluated values.
  init(_ transactions: [ListTransaction<Model>], oldCount: Int) {
    self.oldCount = oldCount
    for transaction in transactions {
      switch transaction {
      case .insert(let model, let index): inserts.append(Row(index: index, model: model))
      case .delete(let index): deletes.append(index)
      case .update(let model, let index): updates.append(Row(index: index, model: model))
      case .move(let model, let from, let to):
        moves.append(Move(ends: IndexMove(from: from, to: to), model: model, isChanged: true))
      }
    }
    deletes.sort()
    inserts.sort { $0.index < $1.index }
    moves.sort { $0.from < $1.from }
    updates.sort { $0.index < $1.index }
    alignment = Alignment(
      removed: (deletes + moves.map { $0.from }).sorted(),
      added: (inserts.map { $0.index } + moves.map { $0.to }).sorted())
  }

  /// Checks positions against the counts and each other. O(k).
  ///
  /// - Throws: `invalidInput` for an index out of range, a row removed or updated twice, a row both
  ///   removed and updated, and two rows at one new index. A row may be moved and updated.
  func check() throws(TreeRingError) {
    let updated = updates.map { $0.index }
    try Self.checkRange(alignment.removed, below: oldCount, "before the batch")
    try Self.checkRange(updated, below: oldCount, "before the batch")
    try Self.checkOnce(alignment.removed) { "the row at index \($0) is removed or moved twice" }
    try Self.checkOnce(updated) { "the row at index \($0) is updated twice" }
    try Self.checkRange(alignment.added, below: newCount, "after the batch")
    try Self.checkOnce(alignment.added) { "two rows come to index \($0)" }
    let deleted = Set(deletes)
    if let both = updated.first(where: { deleted.contains($0) }) {
      throw .refusedBatch("the row at index \(both) is updated and removed")
    }
  }

  private static func checkRange(
    _ positions: [Int], below count: Int, _ moment: String
  ) throws(TreeRingError) {
    for position in positions where position < 0 || position >= count {
      throw .refusedBatch("index \(position) is out of range: \(count) rows \(moment)")
    }
  }

  private static func checkOnce(
    _ ascending: [Int], _ reason: (_ index: Int) -> String
  ) throws(TreeRingError) {
    for (index, next) in zip(ascending, ascending.dropFirst()) where index == next {
      throw .refusedBatch(reason(index))
    }
  }

  /// Applies the batch to the list it was checked against. O(k log n); O(k) if that is empty.
  ///
  /// - Returns: The values it removes or replaces.
  func apply(to rows: inout RankedList<Model, Weightless<Model>>) -> [Model] {
    if rows.count == 0 {
      rows.fill(inserts.map { $0.model })
      return []
    }
    var replaced = updates.map { rows.replace(at: $0.index, with: $0.model) }
    for index in alignment.removed.reversed() { replaced.append(rows.remove(at: index)) }
    for insert in comers { rows.insert(insert.model, at: insert.index) }
    return replaced
  }

  /// The inserted or moved rows, by ascending new position.
  var comers: [Row] {
    (inserts + moves.map { Row(index: $0.to, model: $0.model) }).sorted { $0.index < $1.index }
  }

  /// The net changes of the batch, in the fewest operations. O(k log k).
  var changes: ListChanges {
    let updatesInPlace = updates.map { update in
      let kept = alignment.keptBefore(old: update.index)
      return IndexMove(from: update.index, to: alignment.newPosition(ofKept: kept))
    }
    return ListChanges(
      oldCount: oldCount, newCount: newCount, deletes: deletes, inserts: inserts.map { $0.index },
      moves: alignment.fewestMoves(
        of: moves.map { $0.ends }, among: 0..<oldCount - alignment.removed.count),
      updates: moves.filter { $0.isChanged }.map { $0.ends } + updatesInPlace)
  }
}

extension TreeRingError {
  /// The refusal of a whole batch.
  static func refusedBatch(_ reason: String) -> TreeRingError {
    TreeRingError(.invalidInput, "The batch was refused and nothing applied: \(reason).")
  }
}
