// The models of a collection in order, with the indices of a filter. One order-statistic list holds
// their numbers. A model that the filter shows weighs one, any other zero. So a shown index is the
// weight before an element.

/// A model, its position in the source's order, and whether it is shown.
struct ModelEntry<Model: CollectionModel>: Sendable {
  var model: Model
  let identifier: String
  var position: ChildPosition?
  /// The insertion number: a lower one came first.
  let sequence: UInt64
  var isShown: Bool
}

/// A model in the list.
struct ListedModel: Sendable {
  let number: RowNumber
  var isShown: Bool
}

/// The measure of shown models: one each.
enum ShownMeasure: ListMeasure {
  static func weight(of model: ListedModel) -> Int { model.isShown ? 1 : 0 }
}

/// One edit of the models.
enum ModelEdit<Model: CollectionModel>: Sendable {
  /// Adds a model, or makes the one with its identifier equal to it.
  case set(Model, position: ChildPosition?)
  /// Applies some properties.
  case update(identifier: String, properties: [String: DictionaryValue])
  case remove(identifier: String)
}

/// Models in order. Single edits are O(log n).
struct SortedModels<Model: CollectionModel>: Sendable {
  private let order: CollectionOrder<Model>
  private var list = RankedList<ListedModel, ShownMeasure>(capacity: 16, leafCapacity: 128)
  private var entries = NumberedValues<ModelEntry<Model>>()
  private var numbers: [String: RowNumber] = [:]
  private var nextSequence: UInt64 = 0
  private var filter: (@Sendable (Model) -> Bool)?

  init(order: CollectionOrder<Model>) { self.order = order }

  /// The number of models shown.
  var shownCount: Int { list.weight }

  func shownModel(at index: Int) -> Model {
    entries[list.position(atWeight: index).element.number].model
  }
  func model(_ identifier: String) -> Model? { entry(identifier)?.model }

  /// The models shown. O(n).
  var shown: [Model] { list.elements.filter { $0.isShown }.map { entries[$0.number].model } }
  /// All models. O(n).
  var all: [Model] { list.elements.map { entries[$0.number].model } }

  private func entry(_ identifier: String) -> ModelEntry<Model>? {
    numbers[identifier].map { entries[$0] }
  }

  /// The shown index of a model; nil if it is not shown. O(log n).
  func shownIndex(of identifier: String) -> Int? {
    guard let entry = entry(identifier), entry.isShown else { return nil }
    return list.weight(before: position(of: entry))
  }

  private func precedes(_ a: ModelEntry<Model>, _ b: ModelEntry<Model>) -> Bool {
    switch order {
    case .identifier:
      if a.identifier != b.identifier {
        return a.identifier.utf8.lexicographicallyPrecedes(b.identifier.utf8)
      }
    case .source:
      // Models that did not come from the source follow those that did.
      switch (a.position, b.position) {
      case (let left?, let right?) where left != right: return left < right
      case (_?, nil): return true
      case (nil, _?): return false
      default: break
      }
    case .by(let precedes):
      if precedes(a.model, b.model) { return true }
      if precedes(b.model, a.model) { return false }
    }
    return a.sequence < b.sequence
  }

  private func position(of entry: ModelEntry<Model>) -> Int {
    list.firstPosition { !precedes(entries[$0.number], entry) }
  }

  // MARK: - Edits

  /// Applies edits as one change. O(k log n) for k edits.
  ///
  /// - Parameter failed: Called for a model whose update failed; it stays unchanged.
  mutating func apply(
    _ edits: [ModelEdit<Model>], failed: (String, any Error) -> Void = { _, _ in }
  ) -> CollectionChange<Model> {
    // Remove the edited models at their old positions before any model changes: it may be a class.
    var old: [String: (entry: ModelEntry<Model>, position: Int)] = [:]
    var order: [String] = []
    var seen: Set<String> = []
    for edit in edits where seen.insert(edit.identifier).inserted {
      order.append(edit.identifier)
      guard let entry = entry(edit.identifier) else { continue }
      old[edit.identifier] = (entry, position(of: entry))
    }
    let shownBefore = old.mapValues { list.weight(before: $0.position) }
    let oldCount = shownCount
    for position in old.values.map({ $0.position }).sorted().reversed() {
      list.remove(at: position)
    }
    var changed: Set<String> = []
    for edit in edits {
      do {
        if try take(edit) { changed.insert(edit.identifier) }
      } catch {
        failed(edit.identifier, error)
      }
    }
    for identifier in order {
      guard let number = numbers[identifier] else { continue }
      let entry = entries[number]
      list.insert(ListedModel(number: number, isShown: entry.isShown), at: position(of: entry))
    }
    let rows = order.map { identifier in
      let before = old[identifier].flatMap { $0.entry.isShown ? $0.entry : nil }
      // A model that was removed and added again in between is a different one.
      let isAnother = before?.sequence != entry(identifier)?.sequence
      return AffectedModels<Model>.Row(
        old: before == nil ? nil : shownBefore[identifier], before: before?.model,
        new: shownIndex(of: identifier), isUpdated: isAnother || changed.contains(identifier))
    }
    return AffectedModels(rows, oldCount: oldCount, newCount: shownCount)
      .change(shownModel(at:))
  }

  /// Applies an edit to the entries; returns whether the model changed.
  private mutating func take(_ edit: ModelEdit<Model>) throws -> Bool {
    switch edit {
    case .remove(let identifier):
      if let number = numbers.removeValue(forKey: identifier) { entries.remove(number) }
      return false
    case .update(let identifier, let properties):
      guard let number = numbers[identifier] else { return false }
      return try entries[number].take(filter) { try $0.update(with: properties) }
    case .set(let model, let position):
      guard let number = numbers[edit.identifier] else {
        numbers[edit.identifier] = entries.add(
          ModelEntry(
            model: model, identifier: edit.identifier, position: position,
            sequence: nextSequence, isShown: filter?(model) ?? true))
        nextSequence += 1
        return false
      }
      entries[number].position = position ?? entries[number].position
      return try entries[number].take(filter) { try $0.become(model) }
    }
  }

  /// Sets the filter. O(n).
  mutating func setFilter(
    _ filter: (@Sendable (Model) -> Bool)?
  ) -> CollectionChange<Model> {
    self.filter = filter
    let oldCount = shownCount
    var affected: [AffectedModels<Model>.Row] = []
    var oldIndex = 0
    var newIndex = 0
    var rows = list.elements
    for index in rows.indices {
      let (number, wasShown) = (rows[index].number, rows[index].isShown)
      let model = entries[number].model
      let isShown = filter?(model) ?? true
      if wasShown != isShown {
        rows[index].isShown = isShown
        entries[number].isShown = isShown
        affected.append(
          isShown
            ? AffectedModels.Row(new: newIndex) : AffectedModels.Row(old: oldIndex, before: model))
      }
      oldIndex += wasShown ? 1 : 0
      newIndex += isShown ? 1 : 0
    }
    list.fill(rows)
    return AffectedModels(affected, oldCount: oldCount, newCount: newIndex)
      .change(shownModel(at:))
  }
}

extension ModelEdit {
  var identifier: String {
    switch self {
    case .set(let model, _): model.identifier
    case .update(let identifier, _), .remove(let identifier): identifier
    }
  }
}

extension ModelEntry {
  /// Updates the model and evaluates the filter again.
  fileprivate mutating func take(
    _ filter: (@Sendable (Model) -> Bool)?, _ body: (inout Model) throws -> Bool
  ) throws -> Bool {
    defer { isShown = filter?(model) ?? true }
    return try body(&model)
  }
}
