// How the memory budget is shared out.

/// What each part of the engine may use of a store's memory budget.
struct MemoryBudget: Hashable, Sendable {
  /// All of it, in bytes.
  let byteCount: Int

  /// Rows touched in change records; one takes some 400 bytes. An eighth of the budget.
  var recordRows: Int { max(1024, byteCount / 8 / 400) }
  /// Pages that only states before the visible one keep. An eighth of the budget.
  var recentPages: Int { byteCount / 8 / PageLayout.pageByteCount }
  /// Pages whose home is the heap. Five eighths; what is left is for the log's buffers and tables.
  var heapPages: Int { max(256, byteCount / 8 * 5 / PageLayout.pageByteCount) }
  /// Dirty pages that call for a checkpoint.
  var dirtyPages: Int { heapPages / 4 }
  /// Dirty pages from which on writers are slowed down.
  var slowPages: Int { heapPages / 2 }
}
