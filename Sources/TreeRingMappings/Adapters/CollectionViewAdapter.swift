// Applies changes to collection views of UIKit and AppKit. ListDriver makes all decisions.

#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !targetEnvironment(macCatalyst))
  #if canImport(UIKit)
    public import UIKit
  #else
    public import AppKit
  #endif

  extension RowPath {
    /// The path as an index path of UIKit and AppKit.
    public var indexPath: IndexPath { IndexPath(item: row, section: section) }
  }

  /// Applies changes to a collection view.
  @MainActor
  public final class CollectionViewAdapter: BatchListView {
    #if canImport(UIKit)
      /// The type of the collection view.
      public typealias View = UICollectionView
      /// The type of the view that draws a row.
      public typealias Cell = UICollectionViewCell
    #else
      /// The type of the collection view.
      public typealias View = NSCollectionView
      /// The type of the item that draws a row.
      public typealias Cell = NSCollectionViewItem
    #endif

    /// The driver. The collection's data source reads the displayed rows from it.
    public let driver: ListDriver
    /// Redraws a visible cell's row.
    public var configure: (Cell, RowPath) -> Void = { _, _ in }
    private weak var collection: View?

    /// Creates an adapter for this view, which must take its sections and items from
    /// `driver.displayed`.
    public init(_ collection: View, policy: StagePolicy = .conservative) {
      self.collection = collection
      driver = ListDriver(policy: policy)
    }

    /// Shows the state after a change.
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
