// Brings changes onto a view that takes batches. All that an adapter decides is decided here, so that
// it can be tried on a model of such views; the adapters for real views only pass calls on.
//
//   1. The view shows a state of its own, the displayed one. It changes inside the view's batches and
//      nowhere else, so that the view never sees a state its batch does not lead to.
//   2. Before a batch the view is asked what it shows. If that is not the state before the change, as
//      when it was reloaded meanwhile, everything is reloaded; so it is if a row that goes, moves or
//      changes is not the one displayed there, as when a change was dropped. Nothing ever traps.
//   3. Content is refreshed after the structure, at new paths, outside any batch.

public import TreeRing
public import TreeRingLog

/// A view that shows sections of rows and takes batches of changes, as table and collection views do.
@MainActor
public protocol BatchListView: AnyObject {
  /// How many sections the view believes to show.
  var displayedSectionCount: Int { get }
  /// How many rows the view believes to show in a section.
  func displayedRowCount(inSection section: Int) -> Int
  /// Whether batches can be animated at all: the view is in a window.
  var isOnScreen: Bool { get }
  /// Performs the operations of a stage in one batch, and calls `swap` inside it, once and before the
  /// view asks its data source anything.
  func performBatch(_ stage: Stage, swap: @escaping () -> Void)
  /// Draws the rows at these paths anew, without a batch and without reloading them.
  func refresh(_ updates: [RowUpdate])
  /// Reads everything anew.
  func reloadEverything()
}

/// What a view shows at the moment: the state after a change, or one on the way to it.
public struct DisplayedRows: Sendable {
  private let before: ShownRows
  private let after: ShownRows
  /// A stage on the way; nil once the change is complete.
  private let stage: StageState?

  /// Each section's name and number of rows, in order.
  public let outline: [Section]

  /// A state as such.
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

/// Brings changes onto one view, and is what its data source asks.
@MainActor
public final class ListDriver {
  /// What the view shows.
  public private(set) var displayed = DisplayedRows()
  /// When structure is split into several batches.
  public var policy: StagePolicy

  /// Begins with nothing shown.
  public init(policy: StagePolicy = .conservative) { self.policy = policy }

  /// Brings a change onto a view; everything is reloaded if the view does not show the state before.
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
    for (index, stage) in stages.enumerated() where stage.rows.updates.isEmpty {
      view.performBatch(stage) {
        let isLast = !stages[(index + 1)...].contains { $0.rows.updates.isEmpty }
        self.displayed =
          isLast ? DisplayedRows(change.after) : DisplayedRows(stage.state, of: change)
      }
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
  /// Whether every row that goes, moves or changes is the one displayed where it is said to be.
  /// O(operations · log n).
  func fit(_ row: (RowPath) throws(TreeRingError) -> RowID?) -> Bool {
    func isThere(_ expected: RowID, _ path: RowPath) -> Bool { (try? row(path)) == expected }
    return deletes.allSatisfy { isThere($0.row, $0.path) }
      && moves.allSatisfy { isThere($0.row, $0.from) }
      && updates.allSatisfy { isThere($0.row, $0.from) }
  }
}
