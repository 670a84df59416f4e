// Table and collection views of UIKit, driven by changes. What is decided here is decided in ListDriver.

#if canImport(UIKit) && !os(watchOS)
  public import UIKit
  public import TreeRing

  extension RowPath {
    /// The path as UIKit writes it.
    public var indexPath: IndexPath { IndexPath(row: row, section: section) }
  }

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
      table.performBatchUpdates {
        swap()
        let (sections, rows) = (stage.sections, stage.rows)
        table.deleteSections(IndexSet(sections.deletes), with: animation)
        table.insertSections(IndexSet(sections.inserts), with: animation)
        for move in sections.moves { table.moveSection(move.from, toSection: move.to) }
        table.deleteRows(at: rows.deletes.map(\.path.indexPath), with: animation)
        table.insertRows(at: rows.inserts.map(\.path.indexPath), with: animation)
        for move in rows.moves { table.moveRow(at: move.from.indexPath, to: move.to.indexPath) }
      }
    }

    public func refresh(_ updates: [RowUpdate]) {
      for update in updates {
        if let cell = table?.cellForRow(at: update.to.indexPath) { configure(cell, update.to) }
      }
    }
  }

  /// Brings changes onto a collection view.
  @MainActor
  public final class CollectionViewAdapter: BatchListView {
    /// What the collection's data source asks: the rows displayed.
    public let driver: ListDriver
    /// Draws a visible cell's row anew.
    public var configure: (UICollectionViewCell, RowPath) -> Void = { _, _ in }
    private weak var collection: UICollectionView?

    /// Drives this view, which must take its sections and items from `driver.displayed`.
    public init(_ collection: UICollectionView, policy: StagePolicy = .conservative) {
      self.collection = collection
      driver = ListDriver(policy: policy)
    }

    /// Shows what a change leads to.
    public func apply(_ change: Change) { driver.apply(change, to: self) }

    public var displayedSectionCount: Int { collection?.numberOfSections ?? 0 }
    public func displayedRowCount(inSection section: Int) -> Int {
      collection?.numberOfItems(inSection: section) ?? 0
    }
    public var isOnScreen: Bool { collection?.window != nil }
    public func reloadEverything() { collection?.reloadData() }

    public func performBatch(_ stage: Stage, swap: @escaping () -> Void) {
      guard let collection else { return swap() }
      collection.performBatchUpdates {
        swap()
        let (sections, rows) = (stage.sections, stage.rows)
        collection.deleteSections(IndexSet(sections.deletes))
        collection.insertSections(IndexSet(sections.inserts))
        for move in sections.moves { collection.moveSection(move.from, toSection: move.to) }
        collection.deleteItems(at: rows.deletes.map(\.path.indexPath))
        collection.insertItems(at: rows.inserts.map(\.path.indexPath))
        for move in rows.moves {
          collection.moveItem(at: move.from.indexPath, to: move.to.indexPath)
        }
      }
    }

    public func refresh(_ updates: [RowUpdate]) {
      for update in updates {
        if let cell = collection?.cellForItem(at: update.to.indexPath) {
          configure(cell, update.to)
        }
      }
    }
  }
#endif
