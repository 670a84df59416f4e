// A batch of transactions, checked and in order: what is applied to a list, and what it amounts to.
//
// Everything that can be wrong with a batch is found here, before anything is applied (BatchCheck).

internal import TreeRingLog
internal import TreeRingMappings

/// How a consumer treats values.
struct ValueRules<Model> {
  /// Makes the value kept of an updated or moved row, from the old one and the one given.
  var carryOver: ((_ old: Model, _ new: Model) -> Model)?
  /// Whether a new value says the same as the old one, so that the update can be left out.
  var isEqual: ((_ old: Model, _ new: Model) -> Bool)?

  /// Whether what a row is to become depends on what it is.
  var askOldValues: Bool { carryOver != nil || isEqual != nil }

  /// The value that a row gets, and whether it is to be shown anew.
  func value(of new: Model, for old: Model) -> (value: Model, isChanged: Bool) {
    let value = carryOver?(old, new) ?? new
    return (value, !(isEqual?(old, value) ?? false))
  }
}

/// A batch, checked against the list it is for.
struct BatchPlan<Model> {
  struct Insert {
    let index: Int
    let model: Model
  }
  struct Move {
    let from: Int
    let to: Int
    var model: Model
    var isChanged: Bool
  }
  struct Update {
    let index: Int
    let model: Model
  }

  let oldCount: Int
  /// Old positions, ascending.
  private(set) var deletes: [Int] = []
  /// By ascending new position.
  private(set) var inserts: [Insert] = []
  /// By ascending old position.
  private(set) var moves: [Move] = []
  /// By ascending old position, without those that change nothing and those of rows that move.
  private(set) var updates: [Update] = []
  /// The old positions of rows that go or are placed, and the new ones of those that come or are placed.
  let alignment: Alignment

  var newCount: Int { oldCount - deletes.count + inserts.count }

  /// Checks a batch. O(k log n) for k transactions.
  ///
  /// - Throws: `invalidInput` for an index out of range, a row that is removed or updated twice, or
  ///   both, and two rows that come to one index.
  init(
    _ transactions: [ListTransaction<Model>], on rows: RankedList<Model, Weightless<Model>>,
    rules: ValueRules<Model>
  ) throws(TreeRingError) {
    self.init(transactions, oldCount: rows.count)
    try check()
    let moved = Set(moves.map { $0.from })
    updates.removeAll { moved.contains($0.index) }
    guard rules.askOldValues else { return }
    for place in moves.indices {
      let (value, isChanged) = rules.value(of: moves[place].model, for: rows[moves[place].from])
      moves[place].model = value
      moves[place].isChanged = isChanged
    }
    let given = updates
    updates = []
    for update in given {
      let (value, isChanged) = rules.value(of: update.model, for: rows[update.index])
      if isChanged { updates.append(Update(index: update.index, model: value)) }
    }
  }

  /// A batch in order, neither checked nor asked about values.
  init(_ transactions: [ListTransaction<Model>], oldCount: Int) {
    self.oldCount = oldCount
    for transaction in transactions {
      switch transaction {
      case .insert(let model, let index): inserts.append(Insert(index: index, model: model))
      case .delete(let index): deletes.append(index)
      case .update(let model, let index): updates.append(Update(index: index, model: model))
      case .move(let model, let from, let to):
        moves.append(Move(from: from, to: to, model: model, isChanged: true))
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
  func check() throws(TreeRingError) {
    try BatchCheck(oldCount: oldCount, newCount: newCount).check(
      alignment, deletes: deletes, updates: updates.map { $0.index })
  }

  /// Applies the batch to the list it was checked against. O(k log n); O(k) if that is empty.
  ///
  /// - Returns: What it takes out or replaces.
  func apply(to rows: inout RankedList<Model, Weightless<Model>>) -> [Model] {
    if rows.count == 0 {
      rows.fill(inserts.map { $0.model })
      return []
    }
    var replaced = updates.map { rows.replace(at: $0.index, with: $0.model) }
    for index in alignment.removed.reversed() { replaced.append(rows.remove(at: index)) }
    for insert in coming { rows.insert(insert.model, at: insert.index) }
    return replaced
  }

  /// The rows that come or are placed, by ascending new position.
  var coming: [Insert] {
    (inserts + moves.map { Insert(index: $0.to, model: $0.model) }).sorted { $0.index < $1.index }
  }

  /// What the batch amounts to, in as few operations as possible. O(k log k).
  var changes: ListChanges {
    var changes = ListChanges(oldCount: oldCount, newCount: newCount)
    let keptCount = oldCount - alignment.removed.count
    let staying = StayingRows(
      moves.map { PlacedRow(from: $0.from, to: $0.to) }, alignment: alignment,
      window: 0..<keptCount)
    changes.deletes = deletes
    changes.inserts = inserts.map { $0.index }
    for (move, stays) in zip(moves, staying.stays) {
      let place = IndexMove(from: move.from, to: move.to)
      if !stays { changes.moves.append(place) }
      if move.isChanged { changes.updates.append(place) }
    }
    for kept in staying.displaced.joined() {
      changes.moves.append(
        IndexMove(
          from: alignment.oldPosition(ofKept: kept), to: alignment.newPosition(ofKept: kept)))
    }
    for update in updates {
      let kept = alignment.keptBefore(old: update.index)
      changes.updates.append(
        IndexMove(from: update.index, to: alignment.newPosition(ofKept: kept)))
    }
    changes.moves.sort { $0.to < $1.to }
    changes.updates.sort { $0.to < $1.to }
    return changes
  }
}
