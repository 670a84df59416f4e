// Commits, tags and statistics as JSON objects.

package import TreeRing
internal import TreeRingLog

extension JSONObject {
  /// The members of a commit in a list.
  package mutating func commit(_ info: CommitInfo, tags: [String]) {
    number("commit", info.number)
    date("at", info.timestamp)
    number("operations", info.operationCount)
    number("bytes", info.byteCount)
    if let note = info.note { text("note", note) }
    if !tags.isEmpty { texts("tags", tags) }
  }

  /// The members of a tag.
  package mutating func tag(_ tag: Tag) {
    text("tag", tag.name)
    number("commit", tag.commit)
  }

  /// The members of a store's statistics.
  package mutating func statistics(_ statistics: StoreStatistics) {
    number("commits", statistics.commits)
    number("horizon", statistics.horizon)
    number("rows", statistics.rows)
    number("graves", statistics.tombstones)
    number("logBytes", statistics.logByteCount)
    number("segments", statistics.segmentCount)
    number("payloadBytes", statistics.payloadByteCount)
    number("storedBytes", statistics.storedByteCount)
    number("compressionRatio", statistics.compressionRatio, digits: 3)
    number("pages", statistics.pageCount)
    number("pageFill", statistics.pageFill, digits: 3)
    number("pageFileBytes", statistics.pageFileByteCount)
    number("retainedRoots", statistics.retainedRootCount)
    number("retainedPages", statistics.retainedPageCount)
    number("widestReplay", statistics.widestReplay)
    number("pinnedPages", statistics.pinnedPageCount)
    number("dirtyPages", statistics.dirtyPageCount)
    number("pageMemoryBytes", statistics.pageMemoryByteCount)
    number("memoryBudget", statistics.memoryBudget)
    number("changeRecordRows", statistics.changeRecordRows)
    number("pins", statistics.holderCount)
    number("reclaimableBytes", statistics.reclaimableByteCount)
    raw("held", JSONText.held(statistics.held))
  }
}

extension StoreStatistics {
  /// The number of snapshots and processes that keep history readable.
  fileprivate var holderCount: Int {
    held.count { $0.kind == .pin || $0.kind == .follower }
  }
}

extension JSONText {
  /// The holders of history, as an array of objects.
  package static func held(_ held: [Holding]) -> String {
    array(
      held.map {
        "{\"kind\":" + quoted($0.kind.rawValue) + ",\"commit\":\($0.commit),\"what\":"
          + quoted($0.description) + "}"
      })
  }
}
