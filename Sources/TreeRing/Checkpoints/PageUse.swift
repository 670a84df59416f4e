// The use of the page file's numbers, and the bound of their count: four times the live pages, or a
// quarter of the memory budget if that is more; as many as half of the live pages, or the allowance
// for earlier roots; and the pages that pins keep.
//
// A page that a commit replaces is needed until two checkpoints have replaced the root that reaches
// it. So amid a load that changes nearly all pages between two checkpoints, the file holds the
// pages of three roots, and numbers for those of the visible state. A lower bound would need many
// more checkpoints: with twice the live pages, a load in random order wrote each page six times.
// When the pages that died fill their room, the next checkpoint starts at once, and writers are
// throttled as they are when memory is short. Roots are dropped before they keep too much, since
// the pages that one keeps become free only one checkpoint later. A small store has room for more:
// a few commits may change all of its pages, and checkpoints would follow one another.

internal import TreeRingLog

/// The count of pages by use at one moment. Concurrent writers make it inexact.
struct PageUse: Sendable {
  /// The number of pages that the newest state reaches.
  var live: Int
  /// The number of pages kept only for roots of the file, roots about to leave included.
  var retained: Int
  /// The number of pages kept only for snapshots, followers, states just before the visible one, or
  /// a running checkpoint.
  var pinned: Int
  /// The number of retained pages that the next checkpoint frees: those of roots that the newest
  /// meta has dropped.
  var leaving: Int
  /// The number of retained pages that no list in the file holds yet.
  var unsaved: Int
  /// The number of all pages in use.
  var all: Int
  /// The number of dead pages that the file may keep for earlier roots.
  var allowance: Int
  /// The number of live pages for which the bound has room in any case.
  var leastLive: Int

  /// The number of pages that the bound provides for earlier roots. Amid a load it may be more than
  /// they are allowed, so that checkpoints are few.
  private var provided: Int { max(live / 2, allowance) }

  /// The maximum number of pages in the file.
  var bound: Int { 4 * max(live, leastLive) + provided + pinned }

  /// The number of pages that may die before the next checkpoint ends: as many as the bound has
  /// room for, but enough to make a checkpoint worthwhile. It does not use up all of the room at
  /// once: pages that die before a checkpoint are kept during that one and the next.
  var room: Int {
    // A 64th is for lists, and for commits that are larger than the one before.
    let provision = 2 * max(live, leastLive) + provided / 2
    return min(max(bound / 64 * 63 - all, live / 8, 256), provision)
  }

  /// The number of pages that roots keep beyond their limit.
  ///
  /// Pages of roots dropped now are free after the next checkpoint. That one will keep the pages
  /// that die until then: probably as many as have died since the last one. After that there should
  /// be room to continue.
  var surplus: Int {
    let kept = unsaved - leaving
    return max(retained + kept - allowance, all + kept + live / 4 - bound)
  }

  /// An eighth as many pages as live ones, or half of the log's size. So time travel stays fast
  /// where history is long and the state is small. Never below 4 MiB or a sixteenth of the memory
  /// budget, so that a small state is not checkpointed all the time.
  static func allowance(live: Int, logByteCount: UInt64, budget: MemoryBudget) -> Int {
    let bytes = max(logByteCount / 2, UInt64(clamping: budget.byteCount / 16), 4 << 20)
    return max(live / 8, Int(clamping: bytes) / PageLayout.pageByteCount)
  }
}
