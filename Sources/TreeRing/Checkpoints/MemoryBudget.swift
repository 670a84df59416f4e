// The division of the memory budget.

/// The share of each part of the engine in a store's memory budget.
struct MemoryBudget: Hashable, Sendable {
  /// The whole budget, in bytes.
  let byteCount: Int

  /// Bytes of change records. An eighth of the budget.
  var recordBytes: Int { max(512 << 10, byteCount / 8) }
  /// Pages that only states before the visible one keep. An eighth of the budget.
  var recentPages: Int { byteCount / 8 / PageLayout.pageByteCount }
  /// Pages of earlier states that were rebuilt from the log and are kept for a while. A sixteenth.
  var rebuiltPages: Int { max(64, byteCount / 16 / PageLayout.pageByteCount) }
  /// Live pages for which the page file's bound has room in any case. A sixteenth.
  var leastLivePages: Int { byteCount / 16 / PageLayout.pageByteCount }
  /// Bytes of changes that a replay holds in memory. An eighth; change records are not made then.
  /// The blocks of a merge take as much again.
  var replayBytes: Int { recordBytes }
  /// Bytes of the log's table of frame positions. A sixty-fourth.
  var framePlaces: Int { max(64 << 10, byteCount / 64) }
  /// Pages whose home is the heap. Five eighths of the budget, less the size of the page table; the
  /// rest is for the log's buffers.
  func heap(tableByteCount: Int) -> HeapShare {
    HeapShare(pages: max(256, (byteCount / 8 * 5 - tableByteCount) / PageLayout.pageByteCount))
  }
}

/// The heap's part of a memory budget.
struct HeapShare: Hashable, Sendable {
  /// All of the heap's pages.
  let pages: Int
  /// The number of dirty pages that triggers a checkpoint.
  var dirtyPages: Int { pages / 2 }
  /// The number of dirty pages from which on writers are throttled.
  var slowPages: Int { pages / 4 * 3 }
}
