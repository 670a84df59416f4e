// What a store says about itself: sizes, and what holds what.

public import TreeRingLog

/// Sizes and counts of a store. All byte counts are exact at the time of asking.
public struct StoreStatistics: Hashable, Sendable {
  /// The newest visible commit; 0 in an empty store.
  public var commits: CommitNumber
  /// The oldest commit that can be read.
  public var horizon: CommitNumber
  /// Rows in all buckets.
  public var rows: Int
  /// Deleted rows whose delete is remembered.
  public var graves: Int
  /// Bytes of the log on disk.
  public var logByteCount: UInt64
  /// Segments of the log.
  public var segmentCount: Int
  /// Bytes of commit payloads before compression, without logged values.
  public var payloadByteCount: UInt64
  /// Bytes of all segments up to their last frame.
  public var storedByteCount: UInt64
  /// Pages in use, of 4 KiB each. Of a store open for reading, those of its writer's newest checkpoint.
  public var pageCount: Int
  /// The used part of a leaf page of the newest state, from 0 to 1: a mean, estimated from some of them.
  public var pageFill: Double
  /// Bytes of the page file on disk; 0 without one. Of a store open for reading this and what follows about
  /// the file are what its writer's newest checkpoint says.
  public var pageFileByteCount: UInt64
  /// Earlier states that the page file keeps for time travel.
  public var retainedRootCount: Int
  /// Pages of the page file that only those keep.
  public var retainedPageCount: Int
  /// The most operations that reading an earlier commit may have to replay.
  public var widestReplay: UInt64
  /// Pages in memory that the page file does not hold yet.
  public var dirtyPageCount: Int
  /// Checkpoints made since the store was opened.
  public var checkpointCount: Int
  /// Commits slowed down since the store was opened because too many pages were dirty, or had died since the
  /// last checkpoint.
  public var slowedCommitCount: Int
  /// How long they waited in all.
  public var slowedTime: Duration
  /// Pages that only snapshots, followers or recent states keep.
  public var pinnedPageCount: Int
  /// Bytes of memory taken for pages.
  public var pageMemoryByteCount: Int
  /// The memory budget, in bytes.
  public var memoryBudget: Int
  /// Rows touched in the change records kept.
  public var changeRecordRows: Int
  /// About how many bytes of the log nothing but history needs: what dropping all of it would bring.
  /// An estimate, from how many operations have been overtaken by later ones.
  public var reclaimableByteCount: UInt64
  /// What keeps that history: the policy, live snapshots, tags.
  public var held: [Holding]
  /// Live snapshots.
  public var pins: [PinInfo]
  /// Rows that indexes leave out because their closure cannot decode them, by index.
  public var undecodable: [String: Int]

  /// Payload bytes for each byte in the log; 0 while the log is empty.
  public var compressionRatio: Double {
    storedByteCount == 0 ? 0 : Double(payloadByteCount) / Double(storedByteCount)
  }
}

extension Store {
  /// Sizes and counts.
  public func statistics() throws(TreeRingError) -> StoreStatistics {
    try checkOpen()
    reclaimer.drain()
    let version = queue.visible
    let log = log.statistics
    var undecodable: [String: Int] = [:]
    for index in version.catalog.indexes.values {
      if let roots = version.existingIndex(index.number), roots.undecodable > 0 {
        undecodable[index.name] = Int(roots.undecodable)
      }
    }
    let operations = version.roots.operationCount
    var file = try engine.checkpointer?.report(at: operations)
    if let follower { file = try follower.pageFileReport(at: operations) }
    return StoreStatistics(
      commits: version.roots.commit, horizon: max(1, horizon),
      rows: Int(version.roots.rows.count), graves: Int(version.roots.graves.count),
      logByteCount: log.byteCount, segmentCount: log.segmentCount,
      payloadByteCount: version.roots.payloadByteCount, storedByteCount: log.byteCount,
      pageCount: file?.pageCount ?? pages.livePageCount, pageFill: try pageFill(of: version),
      pageFileByteCount: file?.byteCount ?? 0,
      retainedRootCount: file?.rootCount ?? 0, retainedPageCount: file?.retainedPageCount ?? 0,
      widestReplay: file?.widestGap ?? version.roots.operationCount,
      dirtyPageCount: pages.heapPageCounts.dirty,
      checkpointCount: file?.statistics.count ?? 0,
      slowedCommitCount: file?.statistics.slowedCommits ?? 0,
      slowedTime: file?.statistics.slowedTime ?? .zero,
      pinnedPageCount: engine.checkpointer == nil
        ? pinTable.deadPageCount : file?.pinnedPageCount ?? 0,
      pageMemoryByteCount: pages.heapByteCount, memoryBudget: options.memoryBudget,
      changeRecordRows: records.rowCount,
      reclaimableByteCount: reclaimable(version.roots),
      held: try holdings(against: .dropHistory),
      pins: pinRegistry.all, undecodable: undecodable)
  }

  private func pageFill(of version: Version) throws(TreeRingError) -> Double {
    try typed {
      try pages.reading {
        var fill = LeafFill()
        for root in version.roots.trees { fill.look(at: Tree(root, pages: pages)) }
        return fill.mean
      }
    }
  }

  /// The part of the segments above the horizon that overtaken operations take.
  private func reclaimable(_ roots: Roots) -> UInt64 {
    guard roots.operationCount > roots.rows.count else { return 0 }
    let part = 1 - Double(roots.rows.count) / Double(roots.operationCount)
    let bytes = log.segments.reduce(0) { $1.lastCommit > $1.horizon ? $0 + $1.byteCount : $0 }
    return UInt64(Double(bytes) * part)
  }
}
