// The figures of a store in the text format of Prometheus.

internal import TreeRing
internal import TreeRingLog

/// The figures of a store.
enum StoreFigures {
  /// The lines of the statistics.
  static func text(_ statistics: StoreStatistics) -> [UInt8] {
    var output: [UInt8] = []
    func add(_ name: String, _ kind: String, _ about: String, _ value: String) {
      output.append(
        contentsOf: ("# HELP treering_\(name) \(about)\n# TYPE treering_\(name) \(kind)\n"
          + "treering_\(name) \(value)\n").utf8)
    }
    add("commit", "gauge", "The newest commit.", "\(statistics.commits)")
    add("horizon", "gauge", "The oldest readable commit.", "\(statistics.horizon)")
    add("rows", "gauge", "Rows in all buckets.", "\(statistics.rows)")
    add("log_bytes", "gauge", "Bytes of the log.", "\(statistics.logByteCount)")
    add("page_file_bytes", "gauge", "Bytes of the page file.", "\(statistics.pageFileByteCount)")
    add("page_memory_bytes", "gauge", "Memory of pages.", "\(statistics.pageMemoryByteCount)")
    add("dirty_pages", "gauge", "Pages not yet checkpointed.", "\(statistics.dirtyPageCount)")
    add("pinned_pages", "gauge", "Pages kept for readers.", "\(statistics.pinnedPageCount)")
    add("snapshots", "gauge", "Live snapshots.", "\(statistics.pins.count)")
    add("syncs_total", "counter", "Syncs of the log.", "\(statistics.syncCount)")
    add("checkpoints_total", "counter", "Checkpoints made.", "\(statistics.checkpointCount)")
    add(
      "throttled_commits_total", "counter", "Commits delayed for want of room.",
      "\(statistics.slowedCommitCount)")
    add("lag_commits", "gauge", "Commits behind the writer.", "\(statistics.lagCommitCount)")
    add(
      "lag_seconds", "gauge", "Time behind the writer.",
      "\(statistics.lagTime / .seconds(1))"
    )
    return output
  }
}
