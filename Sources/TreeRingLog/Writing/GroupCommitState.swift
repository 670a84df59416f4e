// The state of group commit: frames to write, the end of the log, failures.

extension GroupCommit {
  /// Frames that are not completed. The monitor guards it, so its properties are not checked for
  /// exclusive access at run time.
  final class Batch {
    /// The threads that wait for this batch; one of them is woken to lead it. Accessed only with
    /// the monitor held.
    @exclusivity(unchecked) var waiters: [BatchWaiter] = []
    let buffer = ByteBuffer()
    @exclusivity(unchecked) var frames: [PendingFrame] = []
    /// The indexes of value tables that readers have requested. Accessed only with the monitor
    /// held, unlike the frames, which the leader reads without it.
    @exclusivity(unchecked) var values: [CommitNumber: ValueTable] = [:]
    var isEmpty: Bool { frames.isEmpty }

    /// The sync that the strictest of its commits requires.
    func strongestSync(atLeast strength: SyncStrength?) -> SyncStrength? {
      frames.reduce(strength) { GroupCommit.stronger($0, $1.durability) }
    }

    /// Removes the frames. The threads that wait for them have yet to be woken.
    func reset() {
      buffer.reset()
      if !values.isEmpty { values = [:] }
      frames.removeAll(keepingCapacity: frames.count < 4096)
    }
  }

  /// The file that a batch is written to, and the place in it.
  struct WriteTarget {
    var file: any File
    /// The end of the completed frames.
    var end: UInt64
    var room: ReservedRoom
    /// See `State.needsSync`.
    var needsSync: Bool
  }

  struct PendingFrame {
    var number: CommitNumber
    var timestamp: Timestamp
    /// The offset of the frame, and the chain after it.
    var offset: UInt64
    var after: ChainPosition
    var durability: Durability
    /// Whether the commit came from the log that replicas share.
    var isAdopted: Bool
    var bufferIndex: Int
    var headerByteCount: Int
    var byteCount: Int
  }

  /// The means of encoding frames, for one appender at a time.
  struct Encoding {
    let encoder: FrameEncoder
    let staging = ByteBuffer()
  }

  struct State: ~Copyable {
    /// The log's folder, for errors.
    let directory: String
    let isReadOnly: Bool
    /// Segments that are no longer written, oldest first.
    var segments: [Segment]
    /// Nil if the log is open for reading only, and between sealing a segment and beginning the
    /// next.
    var active: ActiveSegment?
    var pending = Batch()
    var inFlight: Batch?
    var spare: Batch?
    var isLeading = false
    var sequenced: CommitNumber
    var sequencedTimestamp: Timestamp
    var completed: CommitNumber
    var completedTimestamp: Timestamp
    var durable: CommitNumber
    /// For each undoing, by a full device or another leader: the newest commit that was kept.
    var rollbacks: [CommitNumber] = []
    /// The reason for the last undoing.
    var undoing: TreeRingError?
    var poison: TreeRingError?
    var isClosed = false
    /// The time at which commits of relaxed durability must be synced.
    var deadline: ContinuousClock.Instant?
    /// True if the folder may hold generations that a rewriting has replaced but failed to remove.
    var hasOldGenerations = false
    var statistics = LogStatistics()
    /// See `CommitLog.observeSyncs`.
    var syncObserver: SyncObserver?
    var trust = LogTrust.none
    /// Whether the log's names and the active segment must be synced before the next write, and
    /// before a caller learns that a commit of theirs is durable. There is an active segment then.
    var needsSync: Bool
    /// The end of the scanned log, from which a follower continues; unchanged if the log is
    /// written.
    var end: ScanStart?

    init(recovered: RecoveredLog, directory: String, isReadOnly: Bool) {
      self.directory = directory
      self.isReadOnly = isReadOnly
      segments = recovered.segments
      active = recovered.active
      sequenced = recovered.lastCommit
      sequencedTimestamp = recovered.lastTimestamp
      completed = recovered.lastCommit
      completedTimestamp = recovered.lastTimestamp
      durable = recovered.lastCommit
      end = recovered.end
      needsSync = recovered.needsSync
    }

    /// The frame of a commit that is not completed: its batch and the frame in it.
    func pendingFrame(_ number: CommitNumber) -> (Batch, PendingFrame)? {
      for batch in [inFlight, pending] {
        guard let batch, let first = batch.frames.first?.number, number >= first,
          number - first < UInt64(batch.frames.count)
        else { continue }
        return (batch, batch.frames[Int(number - first)])
      }
      return nil
    }
  }
}

// MARK: - Rules

extension GroupCommit.State {
  /// Whether a completed commit, and the names that lead to it, are known to be on the device.
  func isDurable(through commit: CommitNumber) -> Bool { durable >= commit && !needsSync }

  /// Whether some sequenced commits are not durable.
  var hasUnsynced: Bool { !pending.isEmpty || durable < sequenced }

  /// The position of the next frame; nil if the active segment is full.
  func next(segmentSize: UInt64) -> (ChainPosition, synced: UInt64, epoch: Int)? {
    // Part by part: a copy of the whole segment would count six references.
    guard let position = active?.position, let synced = active?.synced,
      position.offset < segmentSize || active?.directory.isEmpty == true
    else { return nil }
    return (position, synced, rollbacks.count)
  }

  /// The target of the next write; nil if there is no active segment.
  var writeTarget: GroupCommit.WriteTarget? {
    guard let file = active?.file, let end = active?.written.offset,
      let room = active?.room
    else { return nil }
    return GroupCommit.WriteTarget(file: file, end: end, room: room, needsSync: needsSync)
  }

  func check(_ draft: CommitDraft) throws(TreeRingError) {
    try checkWritable()
    guard draft.number == sequenced + 1 else { throw conflict(draft.number) }
    guard draft.timestamp >= sequencedTimestamp || sequenced == 0 else {
      throw TreeRingError(
        .invalidInput,
        "The date of commit \(draft.number) lies before that of commit \(sequenced). Give it "
          + "a later date.", commit: draft.number)
    }
  }

  func checkWritable() throws(TreeRingError) {
    try checkOpen()
    guard !isReadOnly else {
      throw TreeRingError(
        .notAllowed,
        "The log in \(directory) is open for reading only. Open the store for writing.",
        file: directory)
    }
    if let poison {
      throw TreeRingError(
        .poisoned,
        "An earlier write failed, so the log accepts no more. Reopen the store: it then holds "
          + "every commit that reached the disk. The failure: \(poison.message)",
        file: poison.file, offset: poison.offset, errno: poison.errno)
    }
  }

  func checkOpen() throws(TreeRingError) {
    guard isClosed else { return }
    throw TreeRingError(
      .closed, "The log in \(directory) has been closed. Open the store again.", file: directory)
  }

  func conflict(_ number: CommitNumber) -> TreeRingError {
    TreeRingError(
      .conflict,
      "Commit \(number) cannot follow commit \(sequenced), the newest in the log. Make it "
        + "again.",
      commit: number, current: sequenced)
  }

  /// The error of a commit that was undone.
  func undone(_ number: CommitNumber) -> TreeRingError {
    var error =
      undoing ?? TreeRingError(.noSpace, "The device is full. Make room and try again.")
    error.commit = number
    return error
  }

  /// Moves the pending frames to a batch that the leader writes.
  mutating func beginBatch() -> GroupCommit.Batch {
    let batch = pending
    isLeading = true
    pending = spare ?? GroupCommit.Batch()
    spare = nil
    inFlight = batch
    return batch
  }

  /// Undoes every sequenced commit that is not completed. None of them is in the file.
  /// - Parameter isSynced: Whether the file ends after the completed commits, synced.
  mutating func rollBack(because error: TreeRingError, isSynced: Bool) {
    guard active != nil else { return }
    active?.directory.removeCommits(after: completed, timestamp: completedTimestamp)
    if let written = active?.written {
      active?.position = written
      if isSynced {
        active?.room = ReservedRoom(after: written.offset)
        active?.synced = written.offset
      }
    }
    // The next relaxed commit must not rely on an earlier schedule, which may have run already.
    deadline = nil
    pending.reset()
    sequenced = completed
    sequencedTimestamp = completedTimestamp
    rollbacks.append(completed)
    undoing = error
  }
}
