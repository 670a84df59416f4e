// The durable, ordered log of opaque commits: a store's source of truth. It knows files, not rows.
//
// A commit is drafted; *sequenced* by `append`, which assigns its position in memory; *completed*
// by `complete`, which writes it, and syncs it on request, so that it may become visible; and
// finally *durable*, that is synced. Commits pass each step in the order of their numbers.
//
// The log has no locks between processes; its owner holds a `StoreLock`.

internal import Logging
internal import TreeRingPlatform

/// A folder of segments. All its members may be called from any thread.
package final class CommitLog: Sendable {
  /// The end of the names of files in `log/` that the next opening removes.
  package static let temporarySuffix = Format.temporarySuffix

  let core: GroupCommit
  let files: SegmentFiles
  let decoders = DecoderPool()
  /// The offsets of frames that were read.
  let frames: FrameCache
  /// Admits one caller of `follow` at a time.
  let following = Monitor(())
  /// The findings and changes of the opening.
  package let recoveryReport: RecoveryReport

  /// Opens the log in a folder and recovers it (docs/format.md). Reads every byte, or, with a
  /// position to trust, only the bytes after it.
  ///
  /// - Parameters:
  ///   - directory: the folder of the segments. It is created if `options.access` is `.create`; its
  ///     parent folder must exist.
  /// - Throws: `notFound`, `corruption`, `unsupportedFormat`, `io`, `noSpace`; `logBehindPages` if
  ///   the log ends before the position to trust.
  package init(
    directory: String, fileSystem: any FileSystem, options: LogOptions
  ) throws(TreeRingError) {
    let recovered = try Recovery.run(directory, fileSystem, options)
    recoveryReport = recovered.report
    for note in recovered.report.notes { options.logger.notice("\(note)") }
    core = try GroupCommit(
      recovered: recovered, directory: directory, fileSystem: fileSystem, options: options)
    files = SegmentFiles(fileSystem: fileSystem)
    frames = FrameCache(byteCount: options.frameCacheByteCount)
    try settleTrust(recovered)
  }

  /// The result of checking `LogOptions.trusted`.
  package var trust: LogTrust { core.withState { $0.trust } }

  /// A random number chosen when the store was created; every segment carries it.
  package var storeID: UInt64 { core.storeID }

  /// The oldest commit in the log: 1 unless the log has been compacted. Valid only if `sequenced >=
  /// first`.
  package var first: CommitNumber {
    core.withState { $0.segments.first?.header.firstCommit ?? $0.active?.header.firstCommit ?? 1 }
  }

  /// The newest sequenced commit.
  package var sequenced: CommitNumber { core.sequencedNumber.load(ordering: .acquiring) }

  /// The date of the newest sequenced commit. No later commit has an earlier date.
  package var sequencedTimestamp: Timestamp { core.withState { $0.sequencedTimestamp } }

  /// The newest commit that may become visible.
  package var completed: CommitNumber { core.withState { $0.completed } }

  /// The newest commit known to be on the device.
  package var durable: CommitNumber { core.withState { $0.durable } }

  /// Whether a completed commit, and the names that lead to it, are known to be on the device. No
  /// after a clean close, until something was synced: the files may be a copy that nobody synced.
  package func isDurable(through commit: CommitNumber) -> Bool {
    core.withState { $0.isDurable(through: commit) }
  }

  /// Sizes and counts.
  package var statistics: LogStatistics {
    core.withState { state in
      var statistics = state.statistics
      statistics.segmentCount = state.segments.count + (state.active == nil ? 0 : 1)
      statistics.byteCount = state.segments.reduce(0) { $0 + $1.end }
      if let active = state.active {
        statistics.byteCount += active.written.offset
        statistics.reservedByteCount = active.room.end - active.written.offset
      }
      let first = state.segments.first?.header.firstCommit ?? state.active?.header.firstCommit ?? 1
      statistics.commitCount = state.sequenced + 1 - first
      return statistics
    }
  }

  /// Calls `observer` after each sync of commits that succeeds, without the log's monitor, before
  /// the commits are acknowledged; nil calls nothing from the next sync on. Costs two readings of
  /// the clock per sync, and nothing without an observer. Syncs that seal a segment or close the
  /// log are not reported.
  package func observeSyncs(_ observer: SyncObserver?) {
    core.withState { $0.syncObserver = observer }
  }

  /// Throws and poisons the log if its folder was removed, moved or replaced.
  package func checkFolder() throws(TreeRingError) { try core.checkFolder() }

  /// Sequences a commit: assigns its position. Writes nothing, unless the active segment is full;
  /// then it seals that segment and begins the next.
  ///
  /// - Returns: a ticket, which lets `complete` distinguish this commit from a later one with the
  ///   same number.
  /// - Throws: `conflict` if the number is not the next one (commits were undone since
  ///   the draft was made); `invalidInput` if the timestamp goes back; `tooLarge`; `noSpace` and
  ///   `io` from beginning a segment; `poisoned`, `closed`, `notAllowed`. The commit has then not
  ///   happened.
  @discardableResult
  package func append(_ draft: CommitDraft) throws(TreeRingError) -> CommitTicket {
    try core.append(draft)
  }

  /// Waits until the commit may become visible. The calling thread may write and sync the commits
  /// of other threads too.
  ///
  /// - Parameter publish: called if the thread has written commits, with the newest one that is
  ///   complete, before the threads that wait for these return. A thread whose commit another one
  ///   completes at the same time may return before that.
  /// - Throws: `noSpace` or `notLeader` if the commit has not happened and never will; `unknown` if
  ///   only reopening can tell.
  package func complete(
    _ ticket: CommitTicket, publishing publish: (CommitNumber) -> Void = { _ in }
  ) throws(TreeRingError) {
    try core.complete(ticket, publishing: publish)
  }

  /// The error of a commit that was built on commits that have been undone.
  package func undone(_ number: CommitNumber) -> TreeRingError {
    core.withState { $0.undone(number) }
  }

  /// Completes a commit by its number. Only for callers with one commit in progress at a time:
  /// after an undoing, a number may be reassigned.
  package func complete(_ number: CommitNumber) throws(TreeRingError) {
    try complete(core.ticket(for: number, durability: .unsynced))
  }

  /// The ticket of a commit by its number alone. Correct unless the commit was undone and its
  /// number reassigned.
  ///
  /// - Parameter durability: the durability that `complete` waits for, if the commit was appended
  ///   with less.
  package func ticket(
    for number: CommitNumber, durability: Durability
  ) throws(TreeRingError) -> CommitTicket {
    try core.ticket(for: number, durability: durability)
  }

  /// Writes and syncs every commit sequenced so far.
  package func sync() throws(TreeRingError) { try core.sync() }

  /// Writes and syncs everything, marks the end, and closes all files. Later calls throw `closed`.
  /// Stops a rewriting in progress and waits for it.
  ///
  /// - Throws: the error that prevented a clean close. The log is closed all the same.
  package func close() throws(TreeRingError) {
    defer {
      core.rewriting.withLock { _ in }
      files.closeAll()
    }
    try core.close()
  }
}
