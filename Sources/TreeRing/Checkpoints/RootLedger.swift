// The roots that the page file keeps, and the choice of those to drop. Every checkpoint adds one.
// The two newest belong to the two metas. Those before them serve time travel: a past state is the
// nearest root before it and a replay from there.
//
// Roots are dropped when they keep more pages than they may, or when there are very many. The
// ledger drops the root whose removal leaves the shortest replay from the root before it to the one
// after it (`Roots.replayByteCount`); of equal ones the oldest. So gaps double, the oldest first.
// Only one form of a commit is kept, the newest.

internal import TreeRingLog

/// The roots of a page file, oldest first.
struct RootLedger: Sendable {
  /// One root, and the pages that died between it and the next one.
  struct Entry: Sendable {
    var roots: Roots
    /// The dead lists that the file holds.
    var lists: [BlobReference] = []

    var commit: CommitNumber { roots.commit }
    var state: StateID { roots.state }
    /// The number of dead pages on the lists.
    var deadPageCount: Int {
      Int(lists.reduce(0) { $0 + $1.byteCount } / UInt64(DeadList.entryByteCount))
    }
  }

  /// The maximum number of roots.
  static let entryLimit = 512

  var entries: [Entry] = []

  /// The newest root; nil before the first checkpoint.
  var newest: Entry? { entries.last }

  /// The number of dead pages that the file keeps for earlier roots.
  var deadPageCount: Int { entries.reduce(0) { $0 + $1.deadPageCount } }

  /// The number of pages of the dead lists.
  var listPageCount: Int {
    entries.reduce(0) { $0 + $1.lists.reduce(0) { $0 + Int($1.pageCount) } }
  }

  /// The newest root at or before a commit.
  func entry(atOrBefore commit: CommitNumber) -> Entry? {
    entries.last { $0.commit <= commit }
  }

  /// The maximum number of operations between two neighbours, or after the newest root.
  func widestGap(to operationCount: UInt64) -> UInt64 {
    var last: UInt64 = 0
    var widest: UInt64 = 0
    for entry in entries {
      widest = max(widest, entry.roots.operationCount - min(last, entry.roots.operationCount))
      last = entry.roots.operationCount
    }
    return max(widest, operationCount - min(last, operationCount))
  }

  /// The roots to drop with the next checkpoint, and the pages on their lists. Never the newest
  /// root, unless the checkpoint writes another form of it. O(roots · dropped ones + pages on their
  /// lists).
  ///
  /// - Parameters:
  ///   - excess: the number of pages kept beyond the limit. Pages that an older root reaches too
  ///     are not freed.
  ///   - isHeld: whether another process reads a root, so that it must stay.
  ///   - isReplaced: whether the checkpoint writes a later form of the newest root's commit.
  ///   - isDue: whether a root must be dropped whatever it keeps.
  ///   - load: reads the pages on a root's lists.
  func surplus(
    excess: Int, isHeld: (Entry) -> Bool = { _ in false }, isReplaced: Bool = false,
    isDue: (Entry) -> Bool,
    load: (Entry) throws(TreeRingError) -> [RetiredPage]
  ) throws(TreeRingError) -> [StateID: [RetiredPage]] {
    guard let newest, entries.count > 1 || isReplaced else { return [:] }
    var kept = entries
    var dropped: [StateID: [RetiredPage]] = [:]
    /// The pages that dropped roots leave to older roots, by older root.
    var left: [StateID: [RetiredPage]] = [:]
    var freed = 0
    func drop(_ index: Int) throws(TreeRingError) {
      let state = kept[index].state
      let list = try load(kept[index])
      kept.remove(at: index)
      dropped[state] = list
      let older = index == 0 ? StateID(0) : kept[index - 1].state
      let hung = list + (left.removeValue(forKey: state) ?? [])
      let shared = hung.filter { $0.birth.state <= older }
      left[older, default: []] += shared
      freed += hung.count - shared.count
    }
    let formOfNext = Set(
      zip(entries, entries.dropFirst()).filter { $0.commit == $1.commit }.map(\.0.state))
    for entry in entries where !isHeld(entry) {
      let isOld = entry.state != newest.state && (isDue(entry) || formOfNext.contains(entry.state))
      let isDropped = isOld || entry.state == newest.state && isReplaced
      if isDropped, let index = kept.firstIndex(where: { $0.state == entry.state }) {
        try drop(index)
      }
    }
    while kept.count > 1, freed < excess || kept.count >= Self.entryLimit,
      let index = Self.leastMissed(in: kept, isHeld: isHeld)
    {
      try drop(index)
    }
    return dropped
  }

  /// The entry whose removal leaves the shortest replay. Excludes the newest entry and held ones.
  /// There are at least two entries.
  private static func leastMissed(in entries: [Entry], isHeld: (Entry) -> Bool) -> Int? {
    var best: (index: Int, replay: UInt64)?
    for index in 0..<(entries.count - 1) where !isHeld(entries[index]) {
      let before = index == 0 ? 0 : entries[index - 1].roots.replayByteCount
      let after = entries[index + 1].roots.replayByteCount
      let replay = after - min(before, after)
      if let best, best.replay <= replay { continue }
      best = (index, replay)
    }
    return best?.index
  }
}
