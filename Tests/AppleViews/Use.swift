// The adapters as an app uses them. It is compiled only.

import TreeRing
import TreeRingMappings

#if canImport(UIKit)
  import UIKit

  @MainActor
  final class ChatList {
    let adapter: TableViewAdapter
    let grid: CollectionViewAdapter
    var snapshot = NSDiffableDataSourceSnapshot<GroupName, Placements.Member>()

    init(_ table: UITableView, _ collection: UICollectionView) {
      adapter = TableViewAdapter(table, policy: .combined)
      grid = CollectionViewAdapter(collection)
      adapter.configure = { (cell: UITableViewCell, path) in _ = (cell.window, path.indexPath) }
      grid.configure = { (cell: UICollectionViewCell, path) in _ = (cell.window, path.row) }
    }

    func follow(_ store: Store, _ chats: Mappings) async throws {
      for try await change in store.changes(of: chats) {
        adapter.apply(change)
        grid.apply(change)
        try snapshot.apply(change)
      }
    }

    func row(at path: IndexPath) throws -> RowID? {
      try adapter.driver.displayed.row(at: RowPath(section: path[0], row: path[1]))
    }
  }
#else
  import AppKit

  @MainActor
  final class ChatList {
    let adapter: TableViewAdapter
    let grid: CollectionViewAdapter
    var snapshot = NSDiffableDataSourceSnapshot<GroupName, Placements.Member>()

    init(_ table: NSTableView, _ collection: NSCollectionView) {
      adapter = TableViewAdapter(table, showingSections: true)
      grid = CollectionViewAdapter(collection)
      adapter.animation = []
      grid.configure = { (item: NSCollectionViewItem, path) in _ = (item, path.indexPath) }
    }

    func follow(_ store: Store, _ chats: Mappings) async throws {
      for try await change in store.changes(of: chats) {
        adapter.apply(change)
        grid.apply(change)
        try snapshot.apply(change)
      }
    }

    func row(atLine line: Int) throws -> RowID? {
      guard let place = adapter.driver.lines.place(ofLine: line), let row = place.row else {
        return nil
      }
      return try adapter.driver.displayed.row(at: RowPath(section: place.section, row: row))
    }
  }
#endif
