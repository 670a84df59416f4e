// The statistics of a store: sizes, and the reasons why history is kept.

public import TreeRingLog

/// The sizes and counts of a store. All byte counts are exact at the time of the call.
public struct StoreStatistics: Hashable, Sendable {
  /// The newest visible commit; 0 in an empty store.
  public var commits: CommitNumber
  /// The oldest commit that can be read.
  public var horizon: CommitNumber
  /// Rows in all buckets.
  public var rows: Int
  /// Deleted rows that still have a tombstone.
  public var tombstones: Int
  /// Bytes of the log on disk.
  public var logByteCount: UInt64
  /// Segments of the log.
  public var segmentCount: Int
  /// Bytes of commit payloads before compression, without logged values.
  public var payloadByteCount: UInt64
  /// Bytes of all segments up to their last frame.
  public var storedByteCount: UInt64
  /// Pages in use, of 4 KiB each. For a store open for reading, those of its writer's newest
  /// checkpoint.
  public var pageCount: Int
  /// The mean used part of a leaf page of the newest state, from 0 to 1; estimated from a sample of
  /// leaves.
  public var pageFill: Double
  /// Bytes of the page file on disk; 0 without one. For a store open for reading, this and the
  /// later values about the file are as of its writer's newest checkpoint.
  public var pageFileByteCount: UInt64
  /// Earlier states that the page file keeps for time travel.
  public var retainedRootCount: Int
  /// Pages of the page file that only those states keep.
  public var retainedPageCount: Int
  /// The maximum number of operations that a read of an earlier commit has to replay.
  public var widestReplay: UInt64
  /// Syncs of commits to the log since the store was opened. Commits that waited at the same time
  /// share one.
  public var syncCount: UInt64
  /// Pages in memory that the page file does not hold yet, of 4 KiB each.
  public var dirtyPageCount: Int
  /// Pages in memory that the page file holds too, of 4 KiB each. They are evicted when memory is
  /// short.
  public var cleanPageCount: Int
  /// Pages evicted from memory since the store was opened. An erasing begins this count, those of
  /// checkpoints and those of throttled commits anew.
  public var evictedPageCount: Int
  /// Checkpoints made since the store was opened.
  public var checkpointCount: Int
  /// The total duration of those checkpoints.
  public var checkpointTime: Duration
  /// Pages written to the page file since the store was opened: by checkpoints, and by transactions
  /// that are larger than the memory budget.
  public var writtenPageCount: Int
  /// Commits throttled since the store was opened, because too many pages were dirty or had been
  /// retired since the last checkpoint.
  public var slowedCommitCount: Int
  /// The total time that those commits waited.
  public var slowedTime: Duration
  /// Pages that only snapshots, followers or recent states keep.
  public var pinnedPageCount: Int
  /// Bytes of memory allocated for pages.
  public var pageMemoryByteCount: Int
  /// The memory budget, in bytes.
  public var memoryBudget: Int
  /// Affected rows in the change records in memory.
  public var changeRecordRows: Int
  /// The approximate number of log bytes that dropping all history would free. Estimated from the
  /// number of operations whose row a later one has written again.
  public var reclaimableByteCount: UInt64
  /// The reasons why the store keeps that history: the policy, live snapshots, followers, tags.
  public var held: [Holding]
  /// The live snapshots.
  public var pins: [PinInfo]
  /// For a store open for reading: durable commits of its writer that are not visible here yet, as
  /// of the follower's last look at the writer; 0 otherwise.
  public var lagCommitCount: UInt64
  /// The time for which there has been such a commit without interruption; 0 if there is none.
  public var lagTime: Duration
  /// Rows that each index leaves out because its closure cannot decode them, by index.
  public var undecodable: [StoreName: Int]

  /// Payload bytes for each byte in the log; 0 while the log is empty.
  public var compressionRatio: Double {
    storedByteCount == 0 ? 0 : Double(payloadByteCount) / Double(storedByteCount)
  }
}

extension Store {
  /// The number that the store got when it was created; copies have it too.
  package var identifier: UInt64 { log.storeID }

  /// The store's sizes and counts now. Reads up to 64 leaves of each tree for `pageFill`; otherwise
  /// O(indexes + segments + snapshots + earlier states).
  public func statistics() throws(TreeRingError) -> StoreStatistics {
    try checkOpen()
    reclaimer.drain()
    let version = queue.visible
    let log = log.statistics
    var undecodable: [StoreName: Int] = [:]
    for index in version.catalog.indexes.values {
      if let roots = version.existingIndex(index.number), roots.undecodable > 0 {
        undecodable[StoreName(index.name)] = Int(roots.undecodable)
      }
    }
    let operations = version.roots.operationCount
    var file = try engine.checkpointer?.report(at: operations)
    if let follower { file = try follower.pageFileReport(at: operations) }
    let heap = pages.heapPageCounts
    let lag = follower?.lag(behind: version.roots.commit)
    return StoreStatistics(
      commits: version.roots.commit, horizon: max(1, horizon),
      rows: Int(version.roots.rows.count), tombstones: Int(version.roots.tombstones.count),
      logByteCount: log.byteCount, segmentCount: log.segmentCount,
      payloadByteCount: version.roots.payloadByteCount, storedByteCount: log.byteCount,
      pageCount: file?.pageCount ?? pages.livePageCount, pageFill: try pageFill(of: version),
      pageFileByteCount: file?.byteCount ?? 0,
      retainedRootCount: file?.rootCount ?? 0, retainedPageCount: file?.retainedPageCount ?? 0,
      widestReplay: file?.widestGap ?? version.roots.operationCount,
      syncCount: log.syncCount,
      dirtyPageCount: heap.dirty, cleanPageCount: heap.all - heap.dirty,
      evictedPageCount: file?.evictedPageCount ?? 0,
      checkpointCount: file?.checkpointCount ?? 0,
      checkpointTime: file?.checkpointTime ?? .zero,
      writtenPageCount: file?.writtenPageCount ?? 0,
      slowedCommitCount: file?.delays.commitCount ?? 0,
      slowedTime: file?.delays.time ?? .zero,
      pinnedPageCount: engine.checkpointer == nil
        ? pinTable.deadPageCount : file?.pinnedPageCount ?? 0,
      pageMemoryByteCount: pages.heapByteCount, memoryBudget: options.memoryBudget,
      changeRecordRows: records.rowCount,
      reclaimableByteCount: reclaimable(version.roots),
      held: try holdings(against: .dropHistory),
      pins: pinRegistry.all, lagCommitCount: lag?.commits ?? 0, lagTime: lag?.time ?? .zero,
      undecodable: undecodable)
  }

  private func pageFill(of version: Version) throws(TreeRingError) -> Double {
    try pages.read {
      var fill = LeafFill()
      for root in version.roots.trees { fill.addSamples(of: Tree(root, pages: pages)) }
      return fill.mean
    }
  }

  /// The estimated bytes of operations whose row a later one has written again, in segments that
  /// reach above the horizon.
  private func reclaimable(_ roots: Roots) -> UInt64 {
    guard roots.operationCount > roots.rows.count else { return 0 }
    let part = 1 - Double(roots.rows.count) / Double(roots.operationCount)
    let bytes = log.segments.reduce(0) { $1.lastCommit > $1.horizon ? $0 + $1.byteCount : $0 }
    return UInt64(Double(bytes) * part)
  }
}
