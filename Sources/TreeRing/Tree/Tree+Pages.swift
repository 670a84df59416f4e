// The pages of a tree. A page is never older than the pages below it, so a search for young pages
// need not read below an old one.

internal import TreeRingLog

extension Tree {
  /// Calls `body` with every page of the tree that was born after a state, children before the
  /// page above them. Reads no older page. O(pages visited and their entries).
  package func forEachPage(
    bornAfter state: StateID, _ body: (Page) throws -> Void
  ) rethrows {
    if root.page != 0, root.birth.state > state {
      try visit(table.top(of: root), bornAfter: state, body)
    }
  }

  /// Calls `body` with every page of the tree, children before the page above them. O(pages).
  package func forEachPage(_ body: (Page) throws -> Void) rethrows {
    if root.page != 0 { try visit(table.top(of: root), bornAfter: nil, body) }
  }

  private func visit(
    _ page: Page, bornAfter state: StateID?, _ body: (Page) throws -> Void
  ) rethrows {
    if page.level > 0 {
      for index in 0..<page.cellCount {
        if let state, page.births[index].state <= state { continue }
        try visit(table.countedChild(of: page, at: index), bornAfter: state, body)
      }
    }
    try body(page)
  }
}
