// Changes of models, by rows: the form in which changes are merged.
//
// Two consecutive changes merge by arithmetic alone. A row listed by only one of them is a kept row
// of the other, which gives its old or new position. The rows to move are determined only at the
// end, since a minimal change may move a row that no edit affected.

internal import TreeRingMappings

/// The affected models, with their shown positions before and after.
struct AffectedModels<Model: CollectionModel>: Sendable {
  struct Row: Sendable {
    /// The old shown position and the old model; nil if it was not shown.
    var old: Int?
    var before: Model?
    /// The new shown position and the new model; nil if it is not shown.
    var new: Int?
    var after: Model?
    /// Whether it is shown before and after, and differs.
    var isUpdated = false
  }

  private(set) var oldCount: Int
  private(set) var newCount: Int
  private(set) var rows: [Row] = []

  /// Rows of a list of shown models; rows shown on neither side are dropped.
  init(_ rows: [Row], oldCount: Int, newCount: Int) {
    self.oldCount = oldCount
    self.newCount = newCount
    self.rows = rows.filter { $0.old != nil || $0.new != nil }
  }

  /// The rows of a change.
  init(_ change: CollectionChange<Model>) {
    let changes = change.changes
    oldCount = changes.oldCount
    newCount = changes.newCount
    rows = zip(changes.deletes, change.removed).map { Row(old: $0, before: $1) }
    rows += zip(changes.inserts, change.added).map { Row(new: $0, after: $1) }
    var updated = Dictionary(uniqueKeysWithValues: zip(changes.updates, change.updated))
    for (move, model) in zip(changes.moves, change.moved) {
      let isUpdated = updated.removeValue(forKey: move) != nil
      rows.append(Row(old: move.from, new: move.to, after: model, isUpdated: isUpdated))
    }
    rows += updated.map { Row(old: $0.from, new: $0.to, after: $1, isUpdated: true) }
  }

  /// The number of rows.
  var count: Int { rows.count }

  /// The correspondence of the unlisted rows of both lists.
  private var alignment: Alignment {
    Alignment(
      removed: rows.compactMap { $0.old }.sorted(), added: rows.compactMap { $0.new }.sorted())
  }

  /// The merged change of this one and then `next`. O(k log k) for k rows of both.
  func followed(by next: AffectedModels) -> AffectedModels {
    let (first, second) = (alignment, next.alignment)
    var later: [Int: Row] = [:]
    for row in next.rows { if let old = row.old { later[old] = row } }
    var result: [Row] = []
    var gone: [String: Row] = [:]
    for row in rows {
      guard let middle = row.new else {
        if let before = row.before { gone[before.identifier] = row }
        continue
      }
      var both = row
      if let then = later.removeValue(forKey: middle) {
        both.new = then.new
        both.after = then.after
        both.before = row.before ?? then.before
        both.isUpdated = row.old != nil && then.new != nil && (row.isUpdated || then.isUpdated)
      } else {
        both.new = second.newPosition(ofKept: second.keptBefore(old: middle))
      }
      result.append(both)
    }
    for (middle, row) in later {
      var both = row
      both.old = first.oldPosition(ofKept: first.keptBefore(new: middle))
      result.append(both)
    }
    for row in next.rows where row.old == nil {
      var both = row
      // A model removed and added again may have changed in between.
      if let before = row.after.flatMap({ gone.removeValue(forKey: $0.identifier) }) {
        both.old = before.old
        both.isUpdated = true
      }
      result.append(both)
    }
    return AffectedModels(
      result + gone.values, oldCount: oldCount, newCount: next.newCount)
  }

  /// The minimal change. O(k log k) for k rows.
  ///
  /// - Parameter model: Returns the model shown at a position after this change.
  func change(_ model: (Int) -> Model) -> CollectionChange<Model> {
    var transactions: [ListTransaction<Void>] = []
    var updated: Set<Int> = []
    var before: [Int: Model] = [:]
    for row in rows {
      switch (row.old, row.new) {
      case (let old?, let new?):
        transactions.append(.move((), index: old, newIndex: new))
        if row.isUpdated { updated.insert(new) }
      case (let old?, nil):
        transactions.append(.delete(index: old))
        before[old] = row.before
      case (nil, let new?): transactions.append(.insert((), newIndex: new))
      case (nil, nil): break
      }
    }
    var changes = BatchPlan(transactions, oldCount: oldCount).changes
    changes.updates.removeAll { !updated.contains($0.to) }
    return CollectionChange(
      changes: changes, removed: changes.deletes.compactMap { before[$0] },
      added: changes.inserts.map(model), moved: changes.moves.map { model($0.to) },
      updated: changes.updates.map { model($0.to) })
  }
}
