// Table and collection views of AppKit, driven by changes. What is decided here is decided in
// ListDriver and FlatList.

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
  public import AppKit
  public import TreeRing

  extension RowPath {
    /// The path as AppKit writes it.
    public var indexPath: IndexPath { IndexPath(item: row, section: section) }
  }

  /// Brings changes onto a collection view.
  @MainActor
  public final class CollectionViewAdapter: BatchListView {
    /// What the collection's data source asks: the rows displayed.
    public let driver: ListDriver
    /// Draws a visible item's row anew.
    public var configure: (NSCollectionViewItem, RowPath) -> Void = { _, _ in }
    private weak var collection: NSCollectionView?

    /// Drives this view, which must take its sections and items from `driver.displayed`.
    public init(_ collection: NSCollectionView, policy: StagePolicy = .conservative) {
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
      collection.performBatchUpdates({
        swap()
        let (sections, rows) = (stage.sections, stage.rows)
        collection.deleteSections(IndexSet(sections.deletes))
        collection.insertSections(IndexSet(sections.inserts))
        for move in sections.moves { collection.moveSection(move.from, toSection: move.to) }
        collection.deleteItems(at: Set(rows.deletes.map(\.path.indexPath)))
        collection.insertItems(at: Set(rows.inserts.map(\.path.indexPath)))
        for move in rows.moves {
          collection.moveItem(at: move.from.indexPath, to: move.to.indexPath)
        }
      })
    }

    public func refresh(_ updates: [RowUpdate]) {
      for update in updates {
        if let item = collection?.item(at: update.to.indexPath) { configure(item, update.to) }
      }
    }
  }

  /// Brings changes onto a table view, whose rows are the lines of a ``FlatList``.
  @MainActor
  public final class TableViewAdapter {
    /// What is displayed.
    public private(set) var displayed = ShownRows.nothing
    /// Where sections and rows lie among the table's rows.
    public private(set) var lines: FlatList
    /// How rows come and go.
    public var animation: NSTableView.AnimationOptions = .effectFade
    private weak var table: NSTableView?

    /// Drives this table, which must take its rows from `lines` and `displayed`.
    ///
    /// - Parameter showsSections: Whether each section has a row of its own before its rows.
    public init(_ table: NSTableView, showingSections showsSections: Bool) {
      self.table = table
      lines = FlatList(showingSections: showsSections)
    }

    /// Shows what a change leads to.
    public func apply(_ change: Change) {
      let isKnown = displayed.outline == change.before.outline
      displayed = change.after
      guard let table, !change.isReset, isKnown, table.window != nil,
        table.numberOfRows == lines.count
      else {
        lines = FlatList(change.after.outline, showingSections: lines.showsSections)
        table?.reloadData()
        return
      }
      table.beginUpdates()
      let edits = change.changeset.steps().flatMap { lines.apply($0) }
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
      let columns = IndexSet(integersIn: 0..<table.numberOfColumns)
      for case .refresh(let row) in edits {
        table.reloadData(forRowIndexes: [row], columnIndexes: columns)
      }
    }
  }
#endif
