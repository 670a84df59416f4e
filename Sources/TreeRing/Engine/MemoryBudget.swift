// How the memory budget is shared out.

/// What each part of the engine may use of a store's memory budget.
struct MemoryBudget: Hashable, Sendable {
  /// All of it, in bytes.
  let byteCount: Int

  /// Rows touched in change records; one takes some 400 bytes. An eighth of the budget.
  var recordRows: Int { max(1024, byteCount / 8 / 400) }
  /// Pages that only states before the visible one keep. An eighth of the budget.
  var recentPages: Int { byteCount / 8 / PageLayout.pageByteCount }
  /// Pages of earlier states that were rebuilt from the log and are kept for a while. A sixteenth.
  var rebuiltPages: Int { max(64, byteCount / 16 / PageLayout.pageByteCount) }
  /// Pages whose home is the heap. Five eighths less what the page table takes; what is left is for the
  /// log's buffers.
  func heap(tableByteCount: Int) -> HeapShare {
    HeapShare(pages: max(256, (byteCount / 8 * 5 - tableByteCount) / PageLayout.pageByteCount))
  }
}

/// The heap's part of a memory budget.
struct HeapShare: Hashable, Sendable {
  /// All of it.
  let pages: Int
  /// Dirty pages that call for a checkpoint.
  var dirtyPages: Int { pages / 2 }
  /// Dirty pages from which on writers are slowed down.
  var slowPages: Int { pages / 4 * 3 }
}
