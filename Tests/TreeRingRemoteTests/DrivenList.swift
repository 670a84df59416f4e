// A view driven by changes, on the model of views that take batches: it refuses every batch that
// such a view does not accept.

import TestSupport
import TreeRing
import TreeRingMappings

/// A driven view.
@MainActor
final class DrivenList: BatchListView {
  private var model = BatchViewModel<RowID>()
  let driver = ListDriver()
  private(set) var refusals: [String] = []
  private(set) var reloads = 0
  private(set) var batches = 0
  var isOnScreen: Bool { true }

  var displayedSectionCount: Int { model.sections.count }
  func displayedRowCount(inSection section: Int) -> Int { model.sections[section].count }

  /// The rows displayed.
  var displayed: [[RowID]] { model.sections }

  func apply(_ change: Change) { driver.apply(change, to: self) }

  private var source: [[RowID]] {
    let displayed = driver.displayed
    return displayed.outline.enumerated().map { section, part in
      (0..<part.count).compactMap { try? displayed.row(at: RowPath(section: section, row: $0)) }
    }
  }

  func performBatch(_ stage: Stage, swap: @escaping () -> Void) {
    batches += 1
    var batch = ModelBatch()
    func path(_ path: RowPath) -> ModelPath { ModelPath(path.section, path.row) }
    batch.deletedSections = stage.sections.deletes
    batch.insertedSections = stage.sections.inserts
    batch.movedSections = stage.sections.moves.map { ($0.from, $0.to) }
    batch.deletedRows = stage.rows.deletes.map { path($0.path) }
    batch.insertedRows = stage.rows.inserts.map { path($0.path) }
    batch.movedRows = stage.rows.moves.map { (path($0.from), path($0.to)) }
    swap()
    do {
      try model.perform(batch, source: source)
    } catch {
      refusals.append(error.description)
      model.reload(source)
    }
  }

  func refresh(_ updates: [RowUpdate]) {}

  func reloadEverything() {
    reloads += 1
    model.reload(source)
  }
}
