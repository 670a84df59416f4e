// The roots that a page file keeps: those of its two newest checkpoints, and older ones for time
// travel.

/// A persistent root: every tree at one checkpoint's commit.
package struct RetainedRoot: Sendable {
  package var roots: Roots
  /// The pages whose newest root is this one: they were retired after its commit, and before the
  /// next root's. Each checkpoint that found such pages saved one list.
  package var deadLists: [BlobReference]

  package init(roots: Roots, deadLists: [BlobReference]) {
    self.roots = roots
    self.deadLists = deadLists
  }
}
