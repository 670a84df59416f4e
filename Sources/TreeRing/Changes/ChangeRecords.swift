// The change records of the most recent commits, kept in memory so that changes can be told without
// comparing trees. When they are gone the same answer comes from a diff of two roots.

internal import DequeModule
internal import Synchronization
internal import TreeRingLog

/// The order trees of an index that compares rows before and after one commit or several. Its places are
/// labels, which mean something in these trees only.
struct LabelSpan: Hashable, Sendable {
  var before: TreeRoot
  var after: TreeRoot
}

/// What recent commits did to the group indexes, oldest dropped first.
final class ChangeRecords: Sendable {
  private struct Entry {
    var commit: CommitNumber
    /// By index; absent for an index that was not maintained throughout the commit.
    var indexes: [UInt32: [RowReference: TouchedRow]]
    /// By new index, for definitions that the commit replaced.
    var replacements: [UInt32: IndexReplacement]
    /// By index, for those that compare rows: which trees the records are about.
    var labels: [UInt32: LabelSpan]
    var rowCount: Int
  }

  private struct State {
    var entries: Deque<Entry> = []
    var rowCount = 0
  }

  private let state = Mutex(State())
  /// How many touched rows are kept in all.
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// Adds the records of the commit after the newest one here; none, if no index was maintained.
  func append(
    _ indexes: [UInt32: [RowReference: TouchedRow]],
    _ replacements: [UInt32: IndexReplacement] = [:], labels: [UInt32: LabelSpan] = [:],
    of commit: CommitNumber
  ) {
    // An entry counts for one row more than it has, so that empty ones are bounded too.
    let rowCount =
      indexes.values.reduce(1) { $0 + $1.count }
      + replacements.values.reduce(0) { $0 + $1.rows.count }
    let dropped = state.withLock { state -> [Entry] in
      var dropped: [Entry] = []
      if indexes.isEmpty, replacements.isEmpty {
        if !state.entries.isEmpty {
          dropped.append(contentsOf: state.entries)
          state = State()
        }
        return dropped
      }
      if let newest = state.entries.last, newest.commit + 1 != commit {
        dropped.append(contentsOf: state.entries)
        state = State()
      }
      state.entries.append(
        Entry(
          commit: commit, indexes: indexes, replacements: replacements, labels: labels,
          rowCount: rowCount))
      state.rowCount += rowCount
      while state.rowCount > limit, let oldest = state.entries.popFirst() {
        state.rowCount -= oldest.rowCount
        dropped.append(oldest)
      }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// The merged changes of one index between two commits, `from` below `to`; nil if the records do
  /// not reach back that far, or the index was not maintained all the time. O(rows touched).
  ///
  /// - Returns: with the changes, for an index that compares rows, the trees that they lead from and to:
  ///   of other trees of the same commits they say nothing.
  func changes(
    of index: UInt32, from: CommitNumber, to: CommitNumber
  ) -> (rows: TouchedRows, labels: LabelSpan?)? {
    guard let entries = entries(from: from, to: to) else { return nil }
    var merged = TouchedRows(from: from, to: from)
    var labels: LabelSpan?
    for entry in entries {
      guard let rows = entry.indexes[index] else { return nil }
      if let next = entry.labels[index] {
        if let labels, labels.after != next.before { return nil }
        labels = LabelSpan(before: labels?.before ?? next.before, after: next.after)
      }
      merged.merge(TouchedRows(from: entry.commit - 1, to: entry.commit, rows: rows))
    }
    return (merged, labels)
  }

  /// The merged changes from what an earlier definition of an index showed at one commit to what the
  /// present one shows at a later commit; nil if the records do not tell. O(rows touched).
  func changes(
    of index: UInt32, replacing first: UInt32, from: CommitNumber, to: CommitNumber
  ) -> TouchedRows? {
    guard from < to, let entries = entries(from: from, to: to) else { return nil }
    var number = index
    var parts: [TouchedRows] = []
    for entry in entries.reversed() {
      let replacement = entry.replacements[number]
      // Labels of two definitions are told apart by comparing the trees.
      if entry.labels[number] != nil { return nil }
      guard let rows = entry.indexes[number] ?? replacement?.rows else { return nil }
      parts.append(TouchedRows(from: entry.commit - 1, to: entry.commit, rows: rows))
      if let replacement { number = replacement.old }
    }
    guard number == first else { return nil }
    var merged = TouchedRows(from: from, to: from)
    for part in parts.reversed() { merged.merge(part) }
    return merged
  }

  /// The records of the commits after `from` up to `to`; nil if some of them are gone.
  ///
  /// They are taken out a few at a time and merged outside the lock, so that a commit never waits for an
  /// observer that is far behind.
  private func entries(from: CommitNumber, to: CommitNumber) -> [Entry]? {
    var entries: [Entry] = []
    while from + CommitNumber(entries.count) < to {
      let next = from + CommitNumber(entries.count) + 1
      let some = state.withLock { state -> [Entry]? in
        guard let oldest = state.entries.first?.commit, let newest = state.entries.last?.commit,
          oldest <= next, newest >= to
        else { return nil }
        let start = Int(next - oldest)
        let end = min(start + Self.entriesPerTurn, Int(to - oldest) + 1)
        return Array(state.entries[start..<end])
      }
      guard let some else { return nil }
      entries.append(contentsOf: some)
    }
    return entries
  }

  /// How many commits' records are taken out under one hold of the lock.
  private static let entriesPerTurn = 64

  /// How many touched rows are kept now.
  var rowCount: Int { state.withLock { $0.rowCount } }
}
