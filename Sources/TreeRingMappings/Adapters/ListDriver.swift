// Applies changes to a view that takes batches. All decisions are made here, so that tests can run
// them on a model of such views. The adapters for real views only pass calls on.
//
//   1. The view shows the displayed state. That state changes only inside the view's batches, so
//      the view never sees a state its batch does not lead to.
//   2. Before a batch the driver compares the view's counts with the state before the change. It
//      reloads everything if they differ, for example after a reload in between. It also reloads if
//      a row that goes, moves or changes is not the one displayed there, for example after a
//      dropped change. Nothing ever traps.
//   3. Content is refreshed after the structure, at new paths, outside any batch.

public import TreeRing
public import TreeRingLog

/// A view that shows sections of rows and takes batches of changes, like a table view.
@MainActor
public protocol BatchListView: AnyObject {
  /// The view's own count of its sections.
  var displayedSectionCount: Int { get }
  /// The view's own count of a section's rows.
  func displayedRowCount(inSection section: Int) -> Int
  /// Whether batches can be animated: the view is in a window.
  var isOnScreen: Bool { get }
  /// Performs the operations of a stage in one batch. Calls `swap` once inside it, before the view
  /// reads its data source.
  func performBatch(_ stage: Stage, swap: @escaping () -> Void)
  /// Redraws the rows at these paths, without a batch and without reloading them.
  func refresh(_ updates: [RowUpdate])
  /// Reads all data again.
  func reloadEverything()
}

/// The rows a view shows at the moment: the state after a change, or an intermediate one.
public struct DisplayedRows: Sendable {
  private let before: ShownRows
  private let after: ShownRows
  /// An intermediate stage; nil once the change is complete.
  private let stage: StageState?

  /// The name and the number of rows of each section, in order.
  public let outline: [Section]

  /// A complete state.
  public init(_ shown: ShownRows = .nothing) {
    before = shown
    after = shown
    stage = nil
    outline = shown.outline
  }

  init(_ stage: StageState, of change: Change) {
    before = change.before
    after = change.after
    self.stage = stage
    outline = stage.sections
  }

  /// The row at a path; nil if there is none. O(log n).
  ///
  /// - Throws: `TreeRingError` if the index cannot be read.
  public func row(at path: RowPath) throws(TreeRingError) -> RowID? {
    guard let stage else { return try after.row(at: path) }
    switch stage.source(of: path) {
    case .before(let path): return try before.row(at: path)
    case .after(let path): return try after.row(at: path)
    case nil: return nil
    }
  }
}

/// Applies changes to one view; the view's data source reads it.
@MainActor
public final class ListDriver {
  /// The displayed rows.
  public private(set) var displayed = DisplayedRows()
  /// The policy for splitting structure into several batches.
  public var policy: StagePolicy

  /// A driver with nothing shown.
  public init(policy: StagePolicy = .conservative) { self.policy = policy }

  /// Applies a change to a view; reloads everything if the view does not show the state before.
  public func apply(_ change: Change, to view: some BatchListView) {
    guard !change.isReset, view.isOnScreen, displayed.outline == change.before.outline,
      shows(displayed.outline, view),
      change.rows.fit(displayed.row(at:))
    else {
      displayed = DisplayedRows(change.after)
      view.reloadEverything()
      return
    }
    let stages = change.changeset.stages(policy)
    for stage in stages where stage.rows.updates.isEmpty {
      view.performBatch(stage) { self.displayed = DisplayedRows(stage.state, of: change) }
    }
    displayed = DisplayedRows(change.after)
    for stage in stages where !stage.rows.updates.isEmpty { view.refresh(stage.rows.updates) }
  }

  private func shows(_ outline: [Section], _ view: some BatchListView) -> Bool {
    view.displayedSectionCount == outline.count
      && outline.indices.allSatisfy {
        view.displayedRowCount(inSection: $0) == outline[$0].count
      }
  }
}

extension RowChanges {
  /// Whether every deleted, moved or updated row is the one displayed at its old path. O(operations
  /// · log n).
  func fit(_ row: (RowPath) throws(TreeRingError) -> RowID?) -> Bool {
    func isThere(_ expected: RowID, _ path: RowPath) -> Bool { (try? row(path)) == expected }
    return deletes.allSatisfy { isThere($0.row, $0.path) }
      && moves.allSatisfy { isThere($0.row, $0.from) }
      && updates.allSatisfy { isThere($0.row, $0.from) }
  }
}
