// What names a tree: its top page, the commit that made it, and how many entries it holds.

/// A tree at one commit. A value: a transaction makes a new one, the old one stays as it was.
package struct TreeRoot: Hashable, Sendable {
  /// The top page; 0 for an empty tree.
  package var page: PageNumber
  /// The birth of the top page.
  package var birth: PageBirth
  /// The number of entries.
  package var count: UInt64

  package init(page: PageNumber, birth: PageBirth, count: UInt64) {
    self.page = page
    self.birth = birth
    self.count = count
  }

  /// The tree without entries, which needs no page.
  package static let empty = TreeRoot(page: 0, birth: 0, count: 0)
}

/// How an inner entry names a subtree.
package struct ChildReference: Hashable, Sendable {
  /// The subtree's top page.
  package var page: PageNumber
  /// The birth of that page.
  package var birth: PageBirth
  /// The number of entries in the subtree.
  package var count: UInt64

  package init(page: PageNumber, birth: PageBirth, count: UInt64) {
    self.page = page
    self.birth = birth
    self.count = count
  }
}
