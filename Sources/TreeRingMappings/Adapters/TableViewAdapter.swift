// Applies changes to table views of UIKit and AppKit. The two share only their name. UIKit's takes
// batches of sections and rows; AppKit's takes one row after the other and has no sections.
// ListDriver and LineDriver make all decisions.

#if canImport(UIKit) && !os(watchOS)
  public import UIKit

  /// Applies changes to a table view.
  @MainActor
  public final class TableViewAdapter: BatchListView {
    /// The driver. The table's data source reads the displayed rows from it.
    public let driver: ListDriver
    /// Redraws a visible cell's row.
    public var configure: (UITableViewCell, RowPath) -> Void = { _, _ in }
    /// The animation of inserted and deleted rows.
    public var animation: UITableView.RowAnimation = .automatic
    private weak var table: UITableView?

    /// Creates an adapter for this table, which must take its sections and rows from
    /// `driver.displayed`.
    public init(_ table: UITableView, policy: StagePolicy = .conservative) {
      self.table = table
      driver = ListDriver(policy: policy)
    }

    /// Shows the state after a change.
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

  /// Applies changes to a table view, whose rows are the lines of a ``FlatList``.
  @MainActor
  public final class TableViewAdapter: LineListView {
    /// The driver. The table's data source reads the displayed rows and their lines from it.
    public let driver: LineDriver
    /// The animation of inserted and deleted rows.
    public var animation: NSTableView.AnimationOptions = .effectFade
    private weak var table: NSTableView?

    /// Creates an adapter for this table, which must take its rows from `driver.lines` and
    /// `driver.displayed`.
    ///
    /// - Parameter showsSections: Whether each section has a row of its own before its rows.
    public init(_ table: NSTableView, showingSections showsSections: Bool) {
      self.table = table
      driver = LineDriver(showingSections: showsSections)
    }

    /// Shows the state after a change.
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
