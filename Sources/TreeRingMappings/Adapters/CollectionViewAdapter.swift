// Collection views of UIKit and AppKit, driven by changes. What is decided is decided in ListDriver.

#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !targetEnvironment(macCatalyst))
  #if canImport(UIKit)
    public import UIKit
  #else
    public import AppKit
  #endif

  extension RowPath {
    /// The path as UIKit and AppKit write it.
    public var indexPath: IndexPath { IndexPath(item: row, section: section) }
  }

  /// Brings changes onto a collection view.
  @MainActor
  public final class CollectionViewAdapter: BatchListView {
    #if canImport(UIKit)
      /// The view driven.
      public typealias View = UICollectionView
      /// What draws a row.
      public typealias Cell = UICollectionViewCell
    #else
      /// The view driven.
      public typealias View = NSCollectionView
      /// What draws a row.
      public typealias Cell = NSCollectionViewItem
    #endif

    /// What the collection's data source asks: the rows displayed.
    public let driver: ListDriver
    /// Draws a visible cell's row anew.
    public var configure: (Cell, RowPath) -> Void = { _, _ in }
    private weak var collection: View?

    /// Drives this view, which must take its sections and items from `driver.displayed`.
    public init(_ collection: View, policy: StagePolicy = .conservative) {
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
        // An array in UIKit, a set in AppKit.
        collection.deleteItems(at: .init(rows.deletes.map(\.path.indexPath)))
        collection.insertItems(at: .init(rows.inserts.map(\.path.indexPath)))
        for move in rows.moves {
          collection.moveItem(at: move.from.indexPath, to: move.to.indexPath)
        }
      })
    }

    public func refresh(_ updates: [RowUpdate]) {
      for update in updates {
        #if canImport(UIKit)
          let cell = collection?.cellForItem(at: update.to.indexPath)
        #else
          let cell = collection?.item(at: update.to.indexPath)
        #endif
        if let cell { configure(cell, update.to) }
      }
    }
  }
#endif
