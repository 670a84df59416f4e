// A round: many observers advance to one snapshot. Those that come from one commit share the
// merging of the change records between, and all of one index share its reader.

package import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

/// A snapshot, and the work of advancing to it that observers share. It pins the snapshot.
package final class ChangeRound: Sendable {
  /// The merged changes of one index from one commit to the round's.
  struct Merged: Sendable {
    var rows: AffectedRows
    /// The affected rows of each group, before or after. A window of few groups costs what is
    /// affected in them, not in the whole index.
    var byGroup: [GroupName: [RowReference]]
  }

  private struct Origin: Hashable {
    /// The number of the index's definition.
    var definition: UInt32
    var commit: CommitNumber
  }

  private struct State {
    var merged: [Origin: Merged] = [:]
    var rowCount = 0
    var groups: [UInt32: StoreGroups] = [:]
  }

  /// The state that observers advance to.
  package let snapshot: Snapshot
  private let state = Mutex(State())
  /// The most affected rows that a round keeps.
  private static let rowLimit = 100_000

  /// A round that leads to a snapshot.
  package init(_ snapshot: Snapshot) { self.snapshot = snapshot }

  /// The changes of an index since a commit. Two observers that ask at once may both merge.
  func merged(
    _ index: IndexRecord, from commit: CommitNumber
  ) throws(TreeRingError) -> Merged {
    let origin = Origin(definition: index.number, commit: commit)
    if let known = state.withLock({ $0.merged[origin] }) { return known }
    let rows = try snapshot.store.affectedRows(ofIndex: index.name, from: commit, to: snapshot)
    let merged = Merged(rows: rows, byGroup: rows.byGroup)
    state.withLock { state in
      state.rowCount += rows.rows.count
      if state.rowCount <= Self.rowLimit { state.merged[origin] = merged }
    }
    return merged
  }

  /// The index at the round's commit.
  func groups(of index: IndexRecord) throws(TreeRingError) -> StoreGroups {
    if let known = state.withLock({ $0.groups[index.number] }) { return known }
    let groups = StoreGroups(
      snapshot: snapshot, reader: try snapshot.index(by: index), names: snapshot.store.rowNames)
    return state.withLock { state in
      if let known = state.groups[index.number] { return known }
      state.groups[index.number] = groups
      return groups
    }
  }
}
