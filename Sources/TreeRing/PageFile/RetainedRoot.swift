// The roots that a page file keeps: those of its two newest checkpoints, and older ones for time
// travel.

/// A persistent root: every tree at one checkpoint's commit.
package struct RetainedRoot: Sendable {
  package var roots: Roots
  /// The pages that died after this commit and before the next root's: this is the newest root that
  /// reaches them. One list for each save.
  package var deadLists: [BlobReference]

  package init(roots: Roots, deadLists: [BlobReference]) {
    self.roots = roots
    self.deadLists = deadLists
  }
}
