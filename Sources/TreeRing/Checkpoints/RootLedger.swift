// Which roots the page file keeps, and which it may drop. Every checkpoint adds one. The two newest
// belong to the two metas; those before them serve time travel: a state of the past is the nearest
// root before it and a replay from there. Roots are dropped when they keep more pages than they may, or
// when there are very many: the one whose gap, once it is gone, is narrowest; of equal gaps the oldest.
// So gaps double, the oldest first.

internal import TreeRingLog

/// The roots of a page file, oldest first.
struct RootLedger: Sendable {
  /// One root, and the pages that died between it and the next one.
  struct Entry: Sendable {
    var roots: Roots
    /// The lists of dead pages that the file holds.
    var lists: [BlobReference] = []

    var commit: CommitNumber { roots.commit }
    /// How many dead pages the lists name.
    var deadPageCount: Int {
      Int(lists.reduce(0) { $0 + $1.byteCount } / UInt64(DeadList.entryByteCount))
    }
  }

  /// At most so many roots are kept.
  static let entryLimit = 512

  var entries: [Entry] = []

  /// The newest root; nil before the first checkpoint.
  var newest: Entry? { entries.last }

  /// Dead pages that the file keeps for the sake of earlier roots.
  var deadPageCount: Int { entries.reduce(0) { $0 + $1.deadPageCount } }

  /// The newest root at or before a commit.
  func entry(atOrBefore commit: CommitNumber) -> Entry? {
    entries.last { $0.commit <= commit }
  }

  /// The largest number of operations between two neighbours, or after the newest.
  func widestGap(to operationCount: UInt64) -> UInt64 {
    var last: UInt64 = 0
    var widest: UInt64 = 0
    for entry in entries {
      widest = max(widest, entry.roots.operationCount - min(last, entry.roots.operationCount))
      last = entry.roots.operationCount
    }
    return max(widest, operationCount - min(last, operationCount))
  }

  /// The roots to drop with the next checkpoint, oldest first; never the newest one.
  ///
  /// - Parameters:
  ///   - excess: how many pages too many are kept.
  ///   - isHeld: whether another process reads a root, so that it has to stay.
  ///   - isDue: whether a root has to go whatever it keeps.
  func surplus(
    excess: Int, isHeld: (Entry) -> Bool = { _ in false }, isDue: (Entry) -> Bool
  ) -> [Entry] {
    guard entries.count > 1 else { return [] }
    var kept = entries
    var dropped = entries.dropLast().filter { isDue($0) && !isHeld($0) }
    kept.removeAll { entry in dropped.contains { $0.commit == entry.commit } }
    var freed = dropped.reduce(0) { $0 + $1.deadPageCount }
    // Not too many at once: each one's lists have to be read.
    let limit = dropped.count + max(4, entries.count / 8)
    while kept.count > 1, dropped.count < limit,
      freed < excess || kept.count >= Self.entryLimit
    {
      guard let index = Self.leastMissed(in: kept, isHeld: isHeld) else { break }
      freed += kept[index].deadPageCount
      dropped.append(kept.remove(at: index))
    }
    return dropped.sorted { $0.commit < $1.commit }
  }

  /// The entry whose absence leaves the narrowest gap, the newest one and those held left out. There
  /// are two at least.
  private static func leastMissed(in entries: [Entry], isHeld: (Entry) -> Bool) -> Int? {
    var best: (index: Int, gap: UInt64)?
    for index in 0..<(entries.count - 1) where !isHeld(entries[index]) {
      let before = index == 0 ? 0 : entries[index - 1].roots.operationCount
      let gap = entries[index + 1].roots.operationCount - before
      if gap < best?.gap ?? .max { best = (index, gap) }
    }
    return best?.index
  }
}
