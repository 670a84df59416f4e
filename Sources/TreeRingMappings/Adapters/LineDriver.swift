// Brings changes onto a view that knows rows only and takes them one edit after the other. As in
// ListDriver, all that is decided is decided here; the adapter of a real view passes calls on.

/// A view of lines that takes edits one after the other, as `NSTableView` does.
@MainActor
public protocol LineListView: AnyObject {
  /// How many lines the view believes to show.
  var displayedLineCount: Int { get }
  /// Whether edits can be animated at all: the view is in a window.
  var isOnScreen: Bool { get }
  /// Performs edits, each in the positions of its moment, as one animation. The driver shows the
  /// state after them already; none of them is a refresh.
  func perform(_ edits: [FlatList.Edit])
  /// Draws these lines anew.
  func refresh(_ lines: [Int])
  /// Reads everything anew.
  func reloadEverything()
}

/// Brings changes onto one view of lines, and is what its data source asks.
@MainActor
public final class LineDriver {
  /// What the view shows.
  public private(set) var displayed = ShownRows.nothing
  /// Where sections and rows lie among the view's lines.
  public private(set) var lines: FlatList

  /// Begins with nothing shown.
  ///
  /// - Parameter showsSections: Whether each section has a line of its own before its rows.
  public init(showingSections showsSections: Bool) {
    lines = FlatList(showingSections: showsSections)
  }

  /// Brings a change onto a view; everything is reloaded if the view does not show the state before.
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
      // Content comes last, so that these are positions in the end.
      if case .refresh(let line) = edit { refreshed.append(line) } else { edits.append(edit) }
    }
    if !edits.isEmpty { view.perform(edits) }
    if !refreshed.isEmpty { view.refresh(refreshed) }
  }
}
