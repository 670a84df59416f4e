// Sequencing, writing and syncing of commits, shared by many threads.
//
// 1. `append` encodes a commit and adds its frame to those in memory, in the order of numbers.
// 2. `complete` waits until the commit may become visible. The first waiting thread leads: it takes
//    all frames sequenced so far, writes them with one call, syncs once if any of them requires it,
//    and wakes the others. Frames sequenced during that time wait for the next leader.
// 3. A full device undoes the commits of the failed write: the leader cuts the file back and syncs
//    it before any caller learns of the failure. Any other failure poisons the log, because the
//    state of the file is unknown.
//
// `monitor` guards all state. Only the leader accesses the file, with the monitor released;
// `isLeading` excludes other threads.

internal import Logging
internal import TreeRingPlatform

/// The identity of one appended commit. After a full device has undone the commit, another may get
/// its number, but not its ticket.
package struct CommitTicket: Hashable, Sendable {
  package var number: CommitNumber
  /// The number of undoings by a full device before the commit was appended.
  var epoch: Int
  /// The durability for which `complete` waits, if it exceeds that of the appended commit.
  var durability = Durability.none
}

/// The shared state of the log's writers. Unchecked, because the compiler cannot see that `monitor`
/// guards `state`.
final class GroupCommit: @unchecked Sendable {
  // `state` is accessed only between monitor.lock() and monitor.unlock().
  let monitor = Monitor()
  /// Broadcast when a leader has finished, for threads that wait to lead.
  let idle = Condition()
  var state: State
  /// Serializes appenders, so that frames are encoded outside the monitor.
  let appending = Monitor()
  /// Held by a thread that rewrites a segment, until it has finished.
  let rewriting = Monitor()
  private let encoder: FrameEncoder
  private let staging = ByteBuffer()

  let directory: String
  let fileSystem: any FileSystem
  let options: LogOptions
  let storeID: UInt64

  init(
    recovered: RecoveredLog, directory: String, fileSystem: any FileSystem, options: LogOptions
  ) throws(TreeRingError) {
    encoder = try FrameEncoder()
    storeID = recovered.storeID
    self.directory = directory
    self.fileSystem = fileSystem
    self.options = options
    state = State(recovered: recovered)
  }

  /// Runs `body` with the monitor held.
  func withState<R>(_ body: (inout State) throws(TreeRingError) -> R) throws(TreeRingError) -> R {
    monitor.lock()
    defer { monitor.unlock() }
    return try body(&state)
  }

  // MARK: Sequencing

  func append(_ draft: CommitDraft) throws(TreeRingError) -> CommitTicket {
    appending.lock()
    defer { appending.unlock() }
    let (position, synced, epoch) = try prepare(for: draft)
    staging.reset()
    let encoded = try encoder.encode(draft, at: position, synced: synced, into: staging)
    monitor.lock()
    defer { monitor.unlock() }
    try check(draft)
    guard state.rollbacks.count == epoch, var active = state.active else {
      throw conflict(draft.number)
    }
    let after = ChainPosition(
      salt: position.salt, offset: position.offset + UInt64(encoded.byteCount),
      checksum: encoded.checksum)
    state.active = nil  // Keeps the directory's array from being copied.
    active.directory.append(draft.number, offset: position.offset, timestamp: draft.timestamp)
    active.position = after
    state.active = active
    state.pending.frames.append(
      PendingFrame(
        number: draft.number, timestamp: draft.timestamp, offset: position.offset, after: after,
        durability: draft.durability, bufferIndex: state.pending.buffer.count,
        headerByteCount: encoded.headerByteCount, byteCount: encoded.byteCount))
    state.pending.buffer.append(staging.bytes)
    state.sequenced = draft.number
    state.sequencedTimestamp = draft.timestamp
    state.statistics.appendedPayloadByteCount += UInt64(draft.payload.count)
    state.statistics.appendedStoredByteCount += UInt64(encoded.byteCount)
    return CommitTicket(number: draft.number, epoch: epoch)
  }

  /// Begins a segment if the active one is full; returns the position of the frame.
  private func prepare(
    for draft: CommitDraft
  ) throws(TreeRingError) -> (ChainPosition, synced: UInt64, epoch: Int) {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      try check(draft)
      if let active = state.active,
        active.position.offset < options.segmentSize || active.directory.isEmpty
      {
        return (active.position, active.synced, state.rollbacks.count)
      }
      if state.isLeading {
        idle.wait(monitor)
      } else if !state.pending.isEmpty || state.durable < state.sequenced {
        lead(atLeast: .full)
      } else {
        try roll(firstCommit: draft.number)
      }
    }
  }

  private func check(_ draft: CommitDraft) throws(TreeRingError) {
    try checkWritable()
    guard draft.number == state.sequenced + 1 else { throw conflict(draft.number) }
    guard draft.timestamp >= state.sequencedTimestamp || state.sequenced == 0 else {
      throw TreeRingError(
        .invalidInput,
        "The date of commit \(draft.number) lies before that of commit \(state.sequenced). Give it "
          + "a later date.", commit: draft.number)
    }
  }

  private func conflict(_ number: CommitNumber) -> TreeRingError {
    TreeRingError(
      .conflict,
      "Commit \(number) cannot follow commit \(state.sequenced), the newest in the log. Make it "
        + "again.",
      commit: number, current: state.sequenced)
  }

  /// The error of a call after `close`.
  var closedError: TreeRingError {
    TreeRingError(
      .closed, "The log in \(directory) has been closed. Open the store again.", file: directory)
  }

  func checkWritable() throws(TreeRingError) {
    guard !state.isClosed else { throw closedError }
    guard options.access != .readOnly else {
      throw TreeRingError(
        .notAllowed,
        "The log in \(directory) is open for reading only. Open the store for writing.",
        file: directory)
    }
    if let poison = state.poison {
      throw TreeRingError(
        .poisoned,
        "An earlier write failed, so the log accepts no more. Reopen the store: it then holds "
          + "every commit that reached the disk. The failure: \(poison.message)",
        file: poison.file, offset: poison.offset, errno: poison.errno)
    }
  }

  // MARK: Completing

  func complete(_ ticket: CommitTicket) throws(TreeRingError) {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      if ticket.epoch < state.rollbacks.count, ticket.number > state.rollbacks[ticket.epoch] {
        throw noSpace(ticket.number)
      }
      let isCompleted = state.completed >= ticket.number
      if isCompleted, isAsDurable(ticket) { return }
      if let poison = state.poison { throw unknown(ticket.number, because: poison) }
      guard ticket.number <= state.sequenced else {
        throw TreeRingError(
          .notFound, "Commit \(ticket.number) has not been appended to the log in \(directory).",
          file: directory, commit: ticket.number)
      }
      if !state.isLeading {
        lead(atLeast: isCompleted ? .full : nil)
      } else if isCompleted {
        idle.wait(monitor)
      } else if let batch = state.inFlight, let last = batch.frames.last,
        ticket.number <= last.number
      {
        batch.condition.wait(monitor)
      } else {
        state.pending.condition.wait(monitor)
      }
    }
  }

  /// Whether a completed commit is as durable as its ticket requires. Schedules the sync of a
  /// commit of relaxed durability.
  private func isAsDurable(_ ticket: CommitTicket) -> Bool {
    if state.durable >= ticket.number { return true }
    switch ticket.durability {
    case .full, .barrier: return false
    case .relaxed(let within):
      scheduleSync(within: within)
      return true
    case .none: return true
    }
  }

  /// The ticket of a commit by its number, if no full device has undone that commit since.
  func ticket(
    for number: CommitNumber, durability: Durability
  ) throws(TreeRingError) -> CommitTicket {
    try withState { state throws(TreeRingError) in
      if number > state.sequenced, let error = state.noSpace { throw error }
      return CommitTicket(number: number, epoch: state.rollbacks.count, durability: durability)
    }
  }

  func sync() throws(TreeRingError) {
    monitor.lock()
    defer { monitor.unlock() }
    let (target, epoch) = (state.sequenced, state.rollbacks.count)
    while true {
      if let poison = state.poison { throw poison }
      if epoch < state.rollbacks.count, let error = state.noSpace { throw error }
      if state.durable >= target { return }
      if state.isLeading { idle.wait(monitor) } else { lead(atLeast: .full) }
    }
  }

  private func noSpace(_ number: CommitNumber) -> TreeRingError {
    var error =
      state.noSpace
      ?? TreeRingError(.noSpace, "The device is full. Make room and try again.")
    error.commit = number
    return error
  }

  private func unknown(_ number: CommitNumber, because poison: TreeRingError) -> TreeRingError {
    TreeRingError(
      .unknown,
      "Commit \(number) may or may not have reached the device. Reopen the store to find out. The "
        + "failure: \(poison.message)",
      file: poison.file, offset: poison.offset, commit: number, errno: poison.errno)
  }

  // MARK: Leading

  /// Writes and syncs all pending frames. The monitor is held on entry and on return, and released
  /// in between. No other thread may lead.
  func lead(atLeast strength: SyncStrength?) {
    guard let active = state.active else { return }
    state.isLeading = true
    let batch = state.pending
    state.pending = state.spare ?? Batch()
    state.spare = nil
    state.inFlight = batch
    let strongest = batch.frames.reduce(strength) { Self.stronger($0, $1.durability) }
    let canReserve = state.canReserve
    monitor.unlock()
    let outcome = write(batch, to: active, sync: strongest, canReserve: canReserve)
    monitor.lock()
    state.inFlight = nil
    apply(outcome, of: batch, sync: strongest)
    batch.reset()
    state.spare = batch
    stopLeading(batch)
  }

  /// Ends the leadership. Wakes the threads of the finished batch and one thread of the next batch;
  /// all threads of the next batch if it was undone or will never be written.
  func stopLeading(_ batch: Batch?) {
    state.isLeading = false
    batch?.condition.broadcast()
    if state.pending.isEmpty || state.poison != nil {
      state.pending.condition.broadcast()
    } else {
      state.pending.condition.signal()
    }
    idle.broadcast()
  }

  private static func stronger(_ a: SyncStrength?, _ b: Durability) -> SyncStrength? {
    switch b {
    case .full: .full
    case .barrier: a ?? .barrier
    case .relaxed, .none: a
    }
  }

  private func recordDurable(_ newest: CommitNumber) {
    guard newest > state.durable else { return }
    state.durable = newest
    options.durableChanged?(newest)
  }

  private enum Outcome {
    case done(fileSize: UInt64, reserves: Bool, syncCount: UInt64)
    /// The device is full; the file was cut back to its previous end.
    case full(TreeRingError)
    case failed(TreeRingError)
  }

  private func write(
    _ batch: Batch, to active: ActiveSegment, sync: SyncStrength?, canReserve: Bool
  ) -> Outcome {
    var (fileSize, reserves) = (active.fileSize, canReserve)
    let end = active.written.offset + UInt64(batch.buffer.count)
    do throws(TreeRingError) {
      if sync != nil, canReserve, end > fileSize {
        let target = min(
          max(options.segmentSize, end), end + min(max(end, 1 << 20), 16 << 20))
        do throws(TreeRingError) {
          reserves = try active.file.allocate(target - fileSize, at: fileSize)
          if reserves { fileSize = target }
        } catch  where error.code == .noSpace {
          // The frames themselves may still fit.
          fileSize = try active.file.size()
        }
      }
      if !batch.isEmpty { try active.file.write(batch.buffer.bytes, at: active.written.offset) }
    } catch {
      return error.code == .noSpace ? cutBack(active, because: error) : .failed(error)
    }
    do throws(TreeRingError) {
      if let sync { try active.file.sync(sync) }
      try options.folderCheck?(false)
    } catch { return .failed(error) }
    return .done(
      fileSize: max(fileSize, end), reserves: reserves, syncCount: sync == nil ? 0 : 1)
  }

  /// After a full device: restores the file's previous end, durably.
  private func cutBack(_ active: ActiveSegment, because error: TreeRingError) -> Outcome {
    do throws(TreeRingError) {
      try active.file.truncate(to: active.written.offset)
      try active.file.sync(.whole)
      return .full(error)
    } catch { return .failed(error) }
  }

  private func apply(_ outcome: Outcome, of batch: Batch, sync: SyncStrength?) {
    state.statistics.writtenByteCount += UInt64(batch.buffer.count)
    switch outcome {
    case .done(let fileSize, let reserves, let syncCount):
      state.canReserve = reserves
      state.active?.fileSize = fileSize
      state.statistics.syncCount += syncCount
      if let last = batch.frames.last {
        state.active?.written = last.after
        state.active?.endsInMark = false
        state.completed = last.number
        state.completedTimestamp = last.timestamp
      }
      if sync == .full || (sync == .barrier && Platform.isBarrierDurable) {
        recordDurable(state.completed)
        let end = state.active?.written.offset ?? 0
        state.active?.synced = end
        state.deadline = nil
      } else {
        scheduleSync(for: batch)
      }
    case .full(let error):
      options.logger.warning("The device is full; commits were undone: \(error)")
      rollBack(because: error)
    case .failed(let error):
      options.logger.error("A write to the log failed; the log accepts no more: \(error)")
      state.poison = error
      // A sync that finds the device full undoes no commit, so it is not `noSpace` to callers.
      if error.code == .noSpace { state.poison?.code = .io }
    }
  }

  /// Undoes every sequenced commit that is not completed. The file already ends after the completed
  /// commits, synced.
  private func rollBack(because error: TreeRingError) {
    guard var active = state.active else { return }
    state.active = nil
    active.directory.removeCommits(after: state.completed, timestamp: state.completedTimestamp)
    active.position = active.written
    active.fileSize = active.written.offset
    active.synced = active.written.offset
    state.active = active
    recordDurable(state.completed)
    // The next relaxed commit must not rely on an earlier schedule, which may have run already.
    state.deadline = nil
    state.pending.reset()
    state.sequenced = state.completed
    state.sequencedTimestamp = state.completedTimestamp
    state.rollbacks.append(state.completed)
    state.noSpace = error
  }
}
