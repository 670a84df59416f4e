// The root of a tree: its top page, that page's birth, and the number of entries.

/// A tree at one commit. It is a value: a transaction makes a new root and does not change the old
/// one.
package struct TreeRoot: Hashable, Sendable {
  /// The top page; 0 for an empty tree.
  package var page: PageNumber
  /// The birth of the top page.
  package var birth: PageBirth
  /// The number of entries.
  package var count: UInt64

  init(page: PageNumber, birth: PageBirth, count: UInt64) {
    self.page = page
    self.birth = birth
    self.count = count
  }

  /// The tree without entries, which needs no page.
  package static let empty = TreeRoot(page: 0, birth: 0, count: 0)
}

/// The reference of an inner entry to a subtree.
package struct ChildReference: Hashable, Sendable {
  /// The subtree's top page.
  package var page: PageNumber
  /// The birth of that page.
  package var birth: PageBirth
  /// The number of entries in the subtree.
  package var count: UInt64

  init(page: PageNumber, birth: PageBirth, count: UInt64) {
    self.page = page
    self.birth = birth
    self.count = count
  }
}
