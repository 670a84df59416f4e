// Sequencing, writing and syncing of commits, shared by many threads.
//
// 1. `append` encodes a commit and adds its frame to those in memory, in the order of numbers.
// 2. `complete` waits until the commit may become visible. The first waiting thread leads: it takes
//    all frames sequenced so far, writes them with one call, and syncs once if any of them requires
//    it. Then it wakes a thread whose frame was sequenced during that time, which leads the next
//    batch, and after that the others of its own batch, each by itself: they need no lock to go on.
// 3. A full device undoes the commits of the failed write: the leader cuts the file back and syncs
//    it before any caller learns of the failure. If replicas share the log, another replica that
//    writes undoes commits too, before their write. Any other failure poisons the log, because the
//    state of the file is unknown.
//
// The monitor owns all state. Only the leader accesses the file, with the monitor released;
// `isLeading` excludes other threads.

internal import Logging
internal import TreeRingPlatform

/// The identity of one appended commit. After the commit was undone, another may get its number,
/// but not its ticket.
package struct CommitTicket: Hashable, Sendable {
  package var number: CommitNumber
  /// The number of undoings before the commit was appended.
  var epoch: Int
  /// The durability for which `complete` waits, if it exceeds that of the appended commit.
  var durability = Durability.unsynced
}

/// The shared state of the log's writers.
final class GroupCommit: Sendable {
  typealias Held = Monitor<State>.Held

  let monitor: Monitor<State>
  /// The newest sequenced commit, readable without the monitor.
  let sequencedNumber: Atomic<CommitNumber>
  /// Broadcast when a leader has finished, for threads that wait for more than a batch.
  let idle = Condition()
  /// Serializes appenders, so that frames are encoded outside the monitor.
  let appending: Monitor<Encoding>
  /// Held by a thread that rewrites a segment.
  let rewriting = Monitor(())

  let directory: String
  let fileSystem: any FileSystem
  let options: LogOptions
  let storeID: UInt64
  /// Whether a log that replicas share makes commits durable.
  let isShared: Bool

  init(
    recovered: RecoveredLog, directory: String, fileSystem: any FileSystem, options: LogOptions
  ) throws(TreeRingError) {
    appending = Monitor(Encoding(encoder: try FrameEncoder()))
    sequencedNumber = Atomic(recovered.lastCommit)
    storeID = recovered.storeID
    isShared = options.sharing != nil
    self.directory = directory
    self.fileSystem = fileSystem
    self.options = options
    monitor = Monitor(
      State(recovered: recovered, directory: directory, isReadOnly: options.access == .readOnly))
  }

  /// Runs `body` with the monitor held.
  @inline(__always)
  func withState<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
    try monitor.withLock(body)
  }

  // MARK: Sequencing

  func append(_ draft: CommitDraft) throws(TreeRingError) -> CommitTicket {
    try appending.withLock { encoding throws(TreeRingError) in
      let (position, synced, epoch) = try prepare(for: draft)
      let staging = encoding.staging
      staging.reset()
      let encoded = try encoding.encoder.encode(draft, at: position, synced: synced, into: staging)
      return try monitor.withLock { state throws(TreeRingError) in
        try state.check(draft)
        guard state.rollbacks.count == epoch, state.active != nil else {
          throw state.conflict(draft.number)
        }
        let after = ChainPosition(
          salt: position.salt, offset: position.offset + UInt64(encoded.byteCount),
          checksum: encoded.checksum)
        state.active?.directory.append(
          draft.number, offset: position.offset, timestamp: draft.timestamp)
        state.active?.position = after
        state.pending.frames.append(
          PendingFrame(
            number: draft.number, timestamp: draft.timestamp, offset: position.offset,
            after: after, durability: draft.durability, isAdopted: draft.frame != nil,
            bufferIndex: state.pending.buffer.count,
            headerByteCount: encoded.headerByteCount, byteCount: encoded.byteCount))
        state.pending.buffer.append(staging.bytes)
        state.sequenced = draft.number
        sequencedNumber.store(draft.number, ordering: .releasing)
        state.sequencedTimestamp = draft.timestamp
        state.statistics.appendedPayloadByteCount += UInt64(draft.payload.count)
        state.statistics.appendedStoredByteCount += UInt64(encoded.byteCount)
        return CommitTicket(number: draft.number, epoch: epoch)
      }
    }
  }

  /// Begins a segment if the active one is full; returns the position of the frame.
  private func prepare(
    for draft: CommitDraft
  ) throws(TreeRingError) -> (ChainPosition, synced: UInt64, epoch: Int) {
    try monitor.enter { held throws(TreeRingError) in
      while true {
        try held.state.check(draft)
        if let next = held.state.next(segmentSize: options.segmentSize) { return next }
        if quiesce(held) { try roll(held, firstCommit: draft.number) }
      }
    }
  }

  // MARK: Completing

  func complete(
    _ ticket: CommitTicket, publishing publish: (CommitNumber) -> Void
  ) throws(TreeRingError) {
    while true {
      var led: FinishedBatch?
      let step = Result { () throws(TreeRingError) in
        try monitor.enter { held throws(TreeRingError) in try advance(ticket, held, &led) }
      }
      if let led {
        if let newest = led.newest { publish(newest) }
        led.wakeWaiters()
      }
      switch try step.get() {
      case .done: return
      case .retry: continue
      case .wait(let waiter):
        if waiter.wait() == .completed, ticket.durability == .unsynced { return }
      }
    }
  }

  private enum Step {
    case done, retry
    case wait(BatchWaiter)
  }

  /// Takes a commit towards its completion: as far as possible without letting others wait.
  /// - Parameter led: the batch that this thread has led, also if this throws.
  private func advance(
    _ ticket: CommitTicket, _ held: borrowing Held, _ led: inout FinishedBatch?
  ) throws(TreeRingError) -> Step {
    while true {
      if ticket.epoch < held.state.rollbacks.count,
        ticket.number > held.state.rollbacks[ticket.epoch]
      {
        throw held.state.undone(ticket.number)
      }
      let isCompleted = held.state.completed >= ticket.number
      if isCompleted, isAsDurable(ticket, &held.state) { return .done }
      if let poison = held.state.poison { throw Self.unknown(ticket.number, because: poison) }
      guard ticket.number <= held.state.sequenced else {
        throw TreeRingError(
          .notFound, "Commit \(ticket.number) has not been appended to the log in \(directory).",
          file: directory, commit: ticket.number)
      }
      if led != nil { return .retry }
      if !held.state.isLeading {
        led = leadBatch(held, atLeast: isCompleted ? .full : nil)
      } else if isCompleted {
        held.wait(for: idle)
      } else {
        let waiter = BatchWaiter()
        if let batch = held.state.inFlight, let last = batch.frames.last,
          ticket.number <= last.number
        {
          batch.waiters.append(waiter)
        } else {
          held.state.pending.waiters.append(waiter)
        }
        return .wait(waiter)
      }
    }
  }

  /// Whether a completed commit is as durable as its ticket requires. Schedules the sync of a
  /// commit of relaxed durability.
  private func isAsDurable(_ ticket: CommitTicket, _ state: inout State) -> Bool {
    if isShared || state.isDurable(through: ticket.number) { return true }
    switch ticket.durability {
    case .full, .barrier: return false
    case .relaxed(let within):
      scheduleSync(within: within, &state)
      return true
    case .unsynced: return true
    }
  }

  /// The ticket of a commit by its number, if that commit has not been undone since.
  func ticket(
    for number: CommitNumber, durability: Durability
  ) throws(TreeRingError) -> CommitTicket {
    try withState { state throws(TreeRingError) in
      if number > state.sequenced, let error = state.undoing { throw error }
      return CommitTicket(number: number, epoch: state.rollbacks.count, durability: durability)
    }
  }

  func sync() throws(TreeRingError) {
    try monitor.enter { held throws(TreeRingError) in
      var (target, epoch) = (held.state.sequenced, held.state.rollbacks.count)
      while true {
        if let poison = held.state.poison { throw poison }
        if epoch < held.state.rollbacks.count, let error = held.state.undoing {
          guard isShared else { throw error }
          // Another replica leads. The commits that were not undone are to be synced.
          (target, epoch) = (min(target, held.state.completed), held.state.rollbacks.count)
        }
        if held.state.isDurable(through: target) { return }
        if held.state.isLeading { held.wait(for: idle) } else { lead(held, atLeast: .full) }
      }
    }
  }

  private static func unknown(_ number: CommitNumber, because poison: TreeRingError)
    -> TreeRingError
  {
    TreeRingError(
      .unknown,
      "Commit \(number) may or may not have reached the device. Reopen the store to find out. The "
        + "failure: \(poison.message)",
      file: poison.file, offset: poison.offset, commit: number, errno: poison.errno)
  }

  // MARK: Leading

  /// Writes and syncs all pending frames. Releases the monitor for that. No other thread may lead.
  func lead(_ held: borrowing Held, atLeast strength: SyncStrength?) {
    leadBatch(held, atLeast: strength)?.wakeWaiters()
  }

  /// The same, but leaves it to the caller to wake the threads that wait for the batch.
  private func leadBatch(
    _ held: borrowing Held, atLeast strength: SyncStrength?
  ) -> FinishedBatch? {
    guard let target = held.state.writeTarget else { return nil }
    let batch = held.state.beginBatch()
    let strongest = isShared ? strength : batch.strongestSync(atLeast: strength)
    let newest = batch.frames.last?.number ?? held.state.completed
    let isDurable = strongest.map(Self.makesDurable) ?? false
    let commitCount = isDurable ? Int(clamping: newest - held.state.durable) : 0
    let observer = held.state.syncObserver
    let outcome = held.released { () -> Outcome in
      if isShared, let failure = share(batch) { return failure }
      return write(batch, to: target, sync: strongest) {
        (strength) throws(TreeRingError) in
        guard let observer else { return try target.file.sync(strength) }
        let start = ContinuousClock.now
        try target.file.sync(strength)
        observer(ContinuousClock.now - start, commitCount)
      }
    }
    held.state.inFlight = nil
    apply(outcome, of: batch, sync: strongest, to: &held.state)
    var finished = FinishedBatch(waiters: batch.waiters)
    if case .done = outcome { finished.newest = held.state.completed }
    batch.waiters = []
    batch.reset()
    held.state.spare = batch
    stopLeading(&held.state)
    return finished
  }

  /// Ends the leadership. Wakes one thread of the next batch, which leads it; all of them if it was
  /// undone or will never be written.
  func stopLeading(_ state: inout State) {
    state.isLeading = false
    if state.pending.isEmpty || state.poison != nil {
      for waiter in state.pending.waiters { waiter.wake(.changed) }
      state.pending.waiters = []
    } else {
      state.pending.waiters.popLast()?.wake(.changed)
    }
    idle.broadcast()
  }

  /// Whether a sync makes commits durable, as opposed to ordering them.
  private static func makesDurable(_ strength: SyncStrength) -> Bool {
    strength != .barrier || Platform.isBarrierDurable
  }

  static func stronger(_ a: SyncStrength?, _ b: Durability) -> SyncStrength? {
    switch b {
    case .full: .full
    case .barrier: a ?? .barrier
    case .relaxed, .unsynced: a
    }
  }

  private func recordDurable(_ newest: CommitNumber, _ state: inout State) {
    guard newest > state.durable else { return }
    state.durable = newest
    options.durableChanged?(newest)
  }

  enum Outcome {
    /// With the room that is left, and the number of zeros written into it.
    case done(ReservedRoom, zeroByteCount: UInt64)
    /// None of the commits will ever be: the device is full, and the file was cut back to its
    /// previous end; or another replica writes.
    case undone(TreeRingError)
    case failed(TreeRingError)
  }

  private func write(
    _ batch: Batch, to target: WriteTarget, sync: SyncStrength?,
    syncing: (SyncStrength) throws(TreeRingError) -> Void
  ) -> Outcome {
    var room = target.room
    var zeroByteCount: UInt64 = 0
    let end = target.end + UInt64(batch.buffer.count)
    do throws(TreeRingError) {
      if target.needsSync { try syncOpened(target.file) }
    } catch { return .failed(error) }
    do throws(TreeRingError) {
      if sync != nil {
        zeroByteCount = try room.prepare(
          target.file, for: target.end..<end, segmentSize: options.segmentSize)
      }
      if !batch.isEmpty { try target.file.write(batch.buffer.bytes, at: target.end) }
    } catch {
      // Others have the commits already.
      let mayUndo = error.code == .noSpace && !isShared
      return mayUndo ? cutBack(target, because: error) : .failed(error)
    }
    do throws(TreeRingError) {
      if let sync { try syncing(sync) }
      try options.folderCheck?(false)
    } catch { return .failed(error) }
    room.written(upTo: end)
    return .done(room, zeroByteCount: zeroByteCount)
  }

  /// After a full device: restores the file's previous end, durably.
  private func cutBack(_ target: WriteTarget, because error: TreeRingError) -> Outcome {
    do throws(TreeRingError) {
      try target.file.truncate(to: target.end)
      try target.file.sync(.whole)
      return .undone(error)
    } catch { return .failed(error) }
  }

  private func apply(
    _ outcome: Outcome, of batch: Batch, sync: SyncStrength?, to state: inout State
  ) {
    state.statistics.writtenByteCount += UInt64(batch.buffer.count)
    switch outcome {
    case .done(let room, let zeroByteCount):
      state.statistics.writtenByteCount += zeroByteCount
      state.active?.room = room
      state.needsSync = false
      if sync != nil { state.statistics.syncCount += 1 }
      if let last = batch.frames.last {
        state.active?.written = last.after
        state.active?.endsInMark = false
        state.completed = last.number
        state.completedTimestamp = last.timestamp
      }
      if let sync, Self.makesDurable(sync) {
        recordDurable(state.completed, &state)
        let end = state.active?.written.offset ?? 0
        state.active?.synced = end
        state.deadline = nil
      } else if isShared {
        scheduleSync(within: Self.sharedSyncDelay, &state)
      } else {
        scheduleSync(for: batch, &state)
      }
    case .undone(let error):
      options.logger.warning("Commits were undone: \(error)")
      state.rollBack(because: error, isSynced: !isShared)
      sequencedNumber.store(state.sequenced, ordering: .releasing)
      if !isShared { recordDurable(state.completed, &state) }
    case .failed(let error):
      options.logger.error("A write to the log failed; the log accepts no more: \(error)")
      state.poison = error
      // A sync that finds the device full undoes no commit, so it is not `noSpace` to callers.
      if error.code == .noSpace { state.poison?.code = .io }
    }
  }
}
