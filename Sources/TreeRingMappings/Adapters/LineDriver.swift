// Applies changes to a view that only has rows and takes edits one after the other. As in
// ListDriver, all decisions are made here; the adapter of a real view only passes calls on.

/// A view of lines that takes edits one after the other, as `NSTableView` does.
@MainActor
public protocol LineListView: AnyObject {
  /// The view's own count of its lines.
  var displayedLineCount: Int { get }
  /// Whether edits can be animated: the view is in a window.
  var isOnScreen: Bool { get }
  /// Performs edits as one animation, each in the positions at the time it is applied. The driver
  /// already shows the state after them; none of them is a refresh.
  func perform(_ edits: [FlatList.Edit])
  /// Redraws these lines.
  func refresh(_ lines: [Int])
  /// Reads all data again.
  func reloadEverything()
}

/// Applies changes to one view of lines; the view's data source reads it.
@MainActor
public final class LineDriver {
  /// The displayed rows.
  public private(set) var displayed = ShownRows.nothing
  /// The lines of the displayed sections and rows.
  public private(set) var lines: FlatList

  /// A driver with nothing shown.
  ///
  /// - Parameter showsSections: Whether each section has a line of its own before its rows.
  public init(showingSections showsSections: Bool) {
    lines = FlatList(showingSections: showsSections)
  }

  /// Applies a change to a view; reloads everything if the view does not show the state before.
  public func apply(_ change: Change, to view: some LineListView) {
    let isKnown =
      !change.isReset && view.isOnScreen && displayed.outline == change.before.outline
      && view.displayedLineCount == lines.count
      && change.rows.fit(displayed.row(at:))
    displayed = change.after
    guard isKnown else {
      lines = FlatList(change.after.outline, showingSections: lines.showsSections)
      view.reloadEverything()
      return
    }
    var edits: [FlatList.Edit] = []
    var refreshed: [Int] = []
    for edit in change.changeset.steps().flatMap({ lines.apply($0) }) {
      // Content comes last, so these are final positions.
      if case .refresh(let line) = edit { refreshed.append(line) } else { edits.append(edit) }
    }
    if !edits.isEmpty { view.perform(edits) }
    if !refreshed.isEmpty { view.refresh(refreshed) }
  }
}
