// The kept points: the commits up to the horizon that stay readable when compaction drops the
// history before it. They are the horizon itself, and the commits of kept tags before it.

package import TreeRingLog

/// The commits whose states compaction must not change.
package struct KeptPoints: Hashable, Sendable {
  /// The oldest commit from which on every commit stays readable.
  package let horizon: CommitNumber
  /// The kept commits up to the horizon, ascending; the horizon is the last.
  package let commits: [CommitNumber]

  init(horizon: CommitNumber, tags: some Sequence<CommitNumber> = []) {
    self.horizon = horizon
    commits = Set(tags).filter { $0 > 0 && $0 < horizon }.sorted() + [horizon]
  }

  /// The first kept point at or after a commit; nil above the horizon.
  package func first(from commit: CommitNumber) -> CommitNumber? {
    commits[commits.partitioningIndex { $0 >= commit }...].first
  }

  /// Whether the state at a commit stays readable. The empty store before the first commit always
  /// does.
  package func contains(_ commit: CommitNumber) -> Bool {
    commit == 0 || commit >= horizon || first(from: commit) == commit
  }
}
