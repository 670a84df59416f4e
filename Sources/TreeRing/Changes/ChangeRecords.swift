// The change records of the most recent commits, kept in memory so that changes can be reported
// without comparing trees. For older commits a diff of two states gives the same result.

internal import DequeModule
internal import TreeRingLog
internal import TreeRingPlatform

/// The order trees of an index that compares rows, before and after one or more commits. Its places
/// are labels, which are valid in these trees only.
struct LabelSpan: Hashable, Sendable {
  var before: TreeRoot
  var after: TreeRoot
}

/// The effects of recent commits on the group indexes. The oldest are dropped first.
final class ChangeRecords: Sendable {
  private struct Entry {
    var commit: CommitNumber
    var changes: CommitChanges
  }

  private struct State {
    var entries: Deque<Entry> = []
    var rowCount = 0
    var byteCount = 0
  }

  private let state = Mutex(State())
  /// The maximum number of bytes of all records.
  let byteLimit: Int

  init(byteLimit: Int) { self.byteLimit = byteLimit }

  /// Appends the records of the next commit. Without records it drops all earlier ones. O(1)
  /// amortized.
  func append(_ changes: CommitChanges?, of commit: CommitNumber) {
    let dropped = state.withLock { state -> [Entry] in
      if changes == nil, state.entries.isEmpty { return [] }
      var dropped: [Entry] = []
      let isNext = state.entries.last.map { $0.commit + 1 == commit } ?? true
      if changes == nil || !isNext {
        dropped.append(contentsOf: state.entries)
        state = State()
      }
      guard let changes else { return dropped }
      state.entries.append(Entry(commit: commit, changes: changes))
      state.rowCount += changes.rowCount
      state.byteCount += changes.byteCount
      while state.byteCount > byteLimit, let oldest = state.entries.popFirst() {
        state.rowCount -= oldest.changes.rowCount
        state.byteCount -= oldest.changes.byteCount
        dropped.append(oldest)
      }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// The merged changes of one index between two commits, `from` below `to`. Nil if the records do
  /// not reach back that far, or if the index was not maintained throughout. O(rows affected).
  ///
  /// - Returns: The changes and, for an index that compares rows, the trees that they lead from and
  ///   to. They do not apply to other trees of the same commits.
  func changes(
    of index: UInt32, from: CommitNumber, to: CommitNumber
  ) -> (rows: AffectedRows, labels: LabelSpan?)? {
    guard let entries = entries(from: from, to: to) else { return nil }
    var merged = AffectedRows(from: from, to: from)
    var labels: LabelSpan?
    for entry in entries {
      guard let rows = entry.changes.rows(of: index) else { return nil }
      if let next = entry.changes.labels(of: index) {
        if let labels, labels.after != next.before { return nil }
        labels = LabelSpan(before: labels?.before ?? next.before, after: next.after)
      }
      merged.merge(AffectedRows(from: entry.commit - 1, to: entry.commit, rows: rows))
    }
    merged.comparesRows = labels != nil
    return (merged, labels)
  }

  /// The merged changes from an earlier definition of an index at one commit to the present
  /// definition at a later commit; nil if the records do not suffice. O(rows affected).
  func changes(
    of index: UInt32, replacing first: UInt32, from: CommitNumber, to: CommitNumber
  ) -> AffectedRows? {
    guard from < to, let entries = entries(from: from, to: to) else { return nil }
    var number = index
    var parts: [AffectedRows] = []
    for entry in entries.reversed() {
      let replacement = entry.changes.replacements[number]
      // Labels of two definitions are not comparable, so the trees must be compared.
      if entry.changes.comparing.contains(number) { return nil }
      guard let rows = entry.changes.rows(of: number) ?? replacement?.rows else { return nil }
      parts.append(AffectedRows(from: entry.commit - 1, to: entry.commit, rows: rows))
      if let replacement { number = replacement.old }
    }
    guard number == first else { return nil }
    var merged = AffectedRows(from: from, to: from)
    for part in parts.reversed() { merged.merge(part) }
    return merged
  }

  /// The records of the commits after `from` up to `to`; nil if some of them are gone.
  ///
  /// Each turn copies only a few under the lock, so that no commit waits for an observer that is
  /// far behind. The caller merges them outside the lock.
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

  /// The number of commits whose records are copied in one turn.
  private static let entriesPerTurn = 64

  /// The number of affected rows in the records.
  var rowCount: Int { state.withLock { $0.rowCount } }

  /// The estimated number of bytes of the records.
  var byteCount: Int { state.withLock { $0.byteCount } }

  /// The number of commits with records.
  var commitCount: Int { state.withLock { $0.entries.count } }
}
