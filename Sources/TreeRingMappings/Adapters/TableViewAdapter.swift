// Table views of UIKit and AppKit, driven by changes. They have but their name in common: the one takes
// batches of sections and rows, the other one row after the other and knows no sections. What is decided
// is decided in ListDriver and LineDriver.

#if canImport(UIKit) && !os(watchOS)
  public import UIKit

  /// Brings changes onto a table view.
  @MainActor
  public final class TableViewAdapter: BatchListView {
    /// What the table's data source asks: the rows displayed.
    public let driver: ListDriver
    /// Draws a visible cell's row anew.
    public var configure: (UITableViewCell, RowPath) -> Void = { _, _ in }
    /// How rows come and go.
    public var animation: UITableView.RowAnimation = .automatic
    private weak var table: UITableView?

    /// Drives this table, which must take its sections and rows from `driver.displayed`.
    public init(_ table: UITableView, policy: StagePolicy = .conservative) {
      self.table = table
      driver = ListDriver(policy: policy)
    }

    /// Shows what a change leads to.
    public func apply(_ change: Change) { driver.apply(change, to: self) }

    public var displayedSectionCount: Int { table?.numberOfSections ?? 0 }
    public func displayedRowCount(inSection section: Int) -> Int {
      table?.numberOfRows(inSection: section) ?? 0
    }
    public var isOnScreen: Bool { table?.window != nil }
    public func reloadEverything() { table?.reloadData() }

    public func performBatch(_ stage: Stage, swap: @escaping () -> Void) {
      guard let table else { return swap() }
      table.performBatchUpdates({
        swap()
        let (sections, rows) = (stage.sections, stage.rows)
        table.deleteSections(IndexSet(sections.deletes), with: self.animation)
        table.insertSections(IndexSet(sections.inserts), with: self.animation)
        for move in sections.moves { table.moveSection(move.from, toSection: move.to) }
        table.deleteRows(at: rows.deletes.map(\.path.indexPath), with: self.animation)
        table.insertRows(at: rows.inserts.map(\.path.indexPath), with: self.animation)
        for move in rows.moves { table.moveRow(at: move.from.indexPath, to: move.to.indexPath) }
      })
    }

    public func refresh(_ updates: [RowUpdate]) {
      for update in updates {
        if let cell = table?.cellForRow(at: update.to.indexPath) { configure(cell, update.to) }
      }
    }
  }

#elseif canImport(AppKit) && !targetEnvironment(macCatalyst)
  public import AppKit

  /// Brings changes onto a table view, whose rows are the lines of a ``FlatList``.
  @MainActor
  public final class TableViewAdapter: LineListView {
    /// What the table's data source asks: the rows displayed, and the lines they lie in.
    public let driver: LineDriver
    /// How rows come and go.
    public var animation: NSTableView.AnimationOptions = .effectFade
    private weak var table: NSTableView?

    /// Drives this table, which must take its rows from `driver.lines` and `driver.displayed`.
    ///
    /// - Parameter showsSections: Whether each section has a row of its own before its rows.
    public init(_ table: NSTableView, showingSections showsSections: Bool) {
      self.table = table
      driver = LineDriver(showingSections: showsSections)
    }

    /// Shows what a change leads to.
    public func apply(_ change: Change) { driver.apply(change, to: self) }

    public var displayedLineCount: Int { table?.numberOfRows ?? 0 }
    public var isOnScreen: Bool { table?.window != nil }
    public func reloadEverything() { table?.reloadData() }

    public func perform(_ edits: [FlatList.Edit]) {
      guard let table else { return }
      table.beginUpdates()
      for edit in edits {
        switch edit {
        case .remove(let rows):
          table.removeRows(at: IndexSet(integersIn: rows), withAnimation: animation)
        case .insert(let rows):
          table.insertRows(at: IndexSet(integersIn: rows), withAnimation: animation)
        case .move(let from, let to): table.moveRow(at: from, to: to)
        case .refresh: break
        }
      }
      table.endUpdates()
    }

    public func refresh(_ lines: [Int]) {
      guard let table else { return }
      table.reloadData(
        forRowIndexes: IndexSet(lines),
        columnIndexes: IndexSet(integersIn: 0..<table.numberOfColumns))
    }
  }
#endif
