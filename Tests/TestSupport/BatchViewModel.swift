// A model of the checks that table and collection views make of update batches. It tests the code
// that drives such views on systems without them.
//
// It refuses every batch to which UIKit responds with an exception or a corrupt display:
//   - positions out of range: old positions for deletes, new positions for inserts;
//   - the same position twice among deletes, or among inserts;
//   - rows addressed in a section that is itself deleted or inserted;
//   - a number of sections, or of rows of a surviving section, that is not the old number plus
//     inserts less deletes;
//   - reloads beside moves in a batch (a reload is a delete and an insert at a position that
//     ignores moves), and rows that change in a section that moves in the same batch.
// The model keeps the displayed items. So it also detects a batch that passes the counts and
// displays the wrong item at a position.

/// A position of a row in a section.
package struct ModelPath: Hashable, Sendable {
  package var section: Int
  package var row: Int
  package init(_ section: Int, _ row: Int) {
    self.section = section
    self.row = row
  }
}

/// The reason why a view refuses a batch.
package struct BatchRefusal: Error, Equatable, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}

/// The operations of a batch.
package struct ModelBatch: Sendable {
  package var deletedSections: [Int] = []
  package var insertedSections: [Int] = []
  package var movedSections: [(from: Int, to: Int)] = []
  package var deletedRows: [ModelPath] = []
  package var insertedRows: [ModelPath] = []
  package var movedRows: [(from: ModelPath, to: ModelPath)] = []
  package var reloadedRows: [ModelPath] = []
  package init() {}
}

/// The displayed items of a view.
package struct BatchViewModel<Item: Hashable & Sendable>: Sendable {
  package private(set) var sections: [[Item]] = []

  package init() {}

  /// Reloads everything from the data source.
  package mutating func reload(_ source: [[Item]]) { sections = source }

  /// Performs a batch; `source` is the content of the data source afterwards.
  package mutating func perform(_ batch: ModelBatch, source: [[Item]]) throws(BatchRefusal) {
    try checkSections(batch, source.count)
    try checkRows(batch, source)
    let result = try arranged(batch, source)
    for (section, rows) in result.enumerated() where rows != source[section] {
      throw BatchRefusal("section \(section) displays \(rows), not \(source[section])")
    }
    sections = result
  }

  private func checkUnique<T: Hashable>(_ values: [T], _ what: String) throws(BatchRefusal) {
    if Set(values).count != values.count { throw BatchRefusal("\(what) twice: \(values)") }
  }

  private func checkSections(_ batch: ModelBatch, _ newCount: Int) throws(BatchRefusal) {
    let going = batch.deletedSections + batch.movedSections.map(\.from)
    let coming = batch.insertedSections + batch.movedSections.map(\.to)
    try checkUnique(going, "deleted section")
    try checkUnique(coming, "inserted section")
    if let bad = going.first(where: { !sections.indices.contains($0) }) {
      throw BatchRefusal("section \(bad) does not exist before the update")
    }
    if let bad = coming.first(where: { $0 < 0 || $0 >= newCount }) {
      throw BatchRefusal("section \(bad) does not exist after the update")
    }
    let count = sections.count - batch.deletedSections.count + batch.insertedSections.count
    if count != newCount {
      throw BatchRefusal("\(newCount) sections after the update, \(count) by the operations")
    }
  }

  private func checkRows(_ batch: ModelBatch, _ source: [[Item]]) throws(BatchRefusal) {
    let going = batch.deletedRows + batch.movedRows.map(\.from)
    let coming = batch.insertedRows + batch.movedRows.map(\.to)
    try checkUnique(going + batch.reloadedRows, "deleted row")
    try checkUnique(coming, "inserted row")
    if !batch.reloadedRows.isEmpty, !batch.movedRows.isEmpty || !batch.movedSections.isEmpty {
      throw BatchRefusal("reloads beside moves")
    }
    for path in going + batch.reloadedRows {
      guard sections.indices.contains(path.section),
        sections[path.section].indices.contains(path.row)
      else { throw BatchRefusal("row \(path) does not exist before the update") }
      if batch.deletedSections.contains(path.section) {
        throw BatchRefusal("\(path) is in a deleted section")
      }
      if batch.movedSections.contains(where: { $0.from == path.section }) {
        throw BatchRefusal("\(path) changes in a section that moves")
      }
    }
    for path in coming {
      guard source.indices.contains(path.section),
        source[path.section].indices.contains(path.row)
      else { throw BatchRefusal("row \(path) does not exist after the update") }
      if batch.insertedSections.contains(path.section) {
        throw BatchRefusal("\(path) is in an inserted section")
      }
      if batch.movedSections.contains(where: { $0.to == path.section }) {
        throw BatchRefusal("\(path) changes in a section that moves")
      }
    }
  }

  /// The displayed items after the operations; new items come from the data source.
  private func arranged(
    _ batch: ModelBatch, _ source: [[Item]]
  ) throws(BatchRefusal) -> [[Item]] {
    var remaining = sections.map { $0.map(Optional.some) }
    var arrivals: [ModelPath: Item] = [:]
    for path in batch.deletedRows { remaining[path.section][path.row] = nil }
    for (from, to) in batch.movedRows {
      arrivals[to] = remaining[from.section][from.row]
      remaining[from.section][from.row] = nil
    }
    for path in batch.insertedRows { arrivals[path] = source[path.section][path.row] }
    for path in batch.reloadedRows {
      remaining[path.section][path.row] = source[path.section][path.row]
    }
    let going = Set(batch.deletedSections + batch.movedSections.map(\.from))
    var staying = sections.indices.filter { !going.contains($0) }.makeIterator()
    var result: [[Item]] = []
    for section in source.indices {
      if batch.insertedSections.contains(section) {
        result.append(source[section])
        continue
      }
      let moved = batch.movedSections.first { $0.to == section }?.from
      guard let old = moved ?? staying.next() else { throw BatchRefusal("no section \(section)") }
      var kept = remaining[old].compactMap(\.self)[...]
      let comers = arrivals.keys.filter { $0.section == section }.count
      guard kept.count + comers == source[section].count else {
        throw BatchRefusal(
          "section \(section) has \(source[section].count) rows after the update, "
            + "\(kept.count + comers) by the operations")
      }
      result.append(
        source[section].indices.map { row in
          arrivals[ModelPath(section, row)] ?? kept.removeFirst()
        })
    }
    return result
  }
}
