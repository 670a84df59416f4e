// The durable, ordered log of opaque commits: the truth of a store. It knows files, not rows.
//
// Life of a commit: drafted, *sequenced* by `append` (it has its place, in memory), *completed* by
// `complete` (written, and synced if it asked for it; it may become visible), *durable* (synced).
// Commits pass each step in the order of their numbers.
//
// The log knows nothing of locks between processes; its owner holds a `StoreLock`.

internal import Logging

/// A folder of segments. Everything may be called from any thread.
package final class CommitLog: Sendable {
  let core: GroupCommit
  let files: SegmentFiles
  let decoders = DecoderPool()
  /// One caller of `follow` at a time.
  let followers = Monitor()
  /// What opening found and did.
  package let recoveryReport: RecoveryReport

  /// Opens the log in a folder and recovers it, as docs/format.md argues. Reads every byte, or with
  /// a position to trust what lies behind it.
  ///
  /// - Parameters:
  ///   - directory: the folder of the segments; made if `options.access` is `.create`, in a folder
  ///     that must exist.
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
    try settleTrust(recovered)
  }

  /// What opening made of `LogOptions.trusted`.
  package var trust: LogTrust { read { $0.trust } }

  /// A random number given to the store when it was made; every segment carries it.
  package var storeID: UInt64 { core.storeID }

  /// The oldest commit in the log: 1 unless it has been compacted. Means something if
  /// `sequenced >= first`.
  package var first: CommitNumber {
    read { $0.segments.first?.header.firstCommit ?? $0.active?.header.firstCommit ?? 1 }
  }

  /// The newest commit that has its place.
  package var sequenced: CommitNumber { read { $0.sequenced } }

  /// The newest commit that may become visible.
  package var completed: CommitNumber { read { $0.completed } }

  /// The newest commit known to be on the device.
  package var durable: CommitNumber { read { $0.durable } }

  /// Sizes and counts.
  package var statistics: LogStatistics {
    read { state in
      var statistics = state.statistics
      statistics.segmentCount = state.segments.count + (state.active == nil ? 0 : 1)
      statistics.byteCount = state.segments.reduce(0) { $0 + $1.end }
      if let active = state.active {
        statistics.byteCount += active.written.offset
        statistics.reservedByteCount = active.fileSize - active.written.offset
      }
      let first = state.segments.first?.header.firstCommit ?? state.active?.header.firstCommit ?? 1
      statistics.commitCount = state.sequenced + 1 - first
      return statistics
    }
  }

  private func read<R>(_ body: (borrowing GroupCommit.State) -> R) -> R {
    core.monitor.lock()
    defer { core.monitor.unlock() }
    return body(core.state)
  }

  /// Gives a commit its place. Nothing is written yet, except when a segment is full: then it is
  /// sealed and the next one begun.
  ///
  /// - Returns: what `complete` needs to tell this commit from a later one with the same number.
  /// - Throws: `conflict` if the number is not the next one (a full device has undone commits
  ///   since the draft was made), `invalidInput` if the timestamp goes back, `tooLarge`, `noSpace`
  ///   and `io` from beginning a segment, `poisoned`, `closed`, `notAllowed`. The commit has not
  ///   happened then.
  @discardableResult
  package func append(_ draft: CommitDraft) throws(TreeRingError) -> CommitTicket {
    try core.append(draft)
  }

  /// Waits until the commit may become visible, writing and syncing for others on the way.
  ///
  /// - Throws: `noSpace` if it has not happened and never will, `unknown` if only reopening tells.
  package func complete(_ ticket: CommitTicket) throws(TreeRingError) {
    try core.complete(ticket)
  }

  /// The same by number. Only for callers that have one commit on its way at a time: after a full
  /// device, a number may be given out again.
  package func complete(_ number: CommitNumber) throws(TreeRingError) {
    try core.complete(core.ticket(for: number))
  }

  /// The ticket of a commit by its number alone: right unless a full device has undone the commit
  /// and its number was given out again.
  package func ticket(for number: CommitNumber) throws(TreeRingError) -> CommitTicket {
    try core.ticket(for: number)
  }

  /// Writes and syncs every commit sequenced so far.
  package func sync() throws(TreeRingError) { try core.sync() }

  /// Writes and syncs everything, marks the end, and closes all files. Later calls throw `closed`;
  /// a rewriting under way stops, which is waited for.
  ///
  /// - Throws: what kept the log from being closed cleanly. It is closed all the same.
  package func close() throws(TreeRingError) {
    defer {
      core.rewriting.lock()
      core.rewriting.unlock()
      files.closeAll()
    }
    try core.close()
  }
}
