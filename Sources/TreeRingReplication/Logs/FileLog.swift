// A shared log in a folder of this machine: the engine's own commit log, in which each entry is a
// commit whose payload is opaque. It has the durability of that log, and serves the replicas of one
// process.

public import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

/// A shared log in a local folder, for replicas of one process and for tests.
///
/// An append returns when its entries are synced to the device; a crash loses none of them.
public final class FileLog: SharedLog {
  private let log: CommitLog
  private let lock: StoreLock
  /// Held by an append.
  private let appending = Monitor(false)
  private let appended = Condition()

  /// Opens the log in a folder, and creates it if there is none.
  /// - Throws: `locked` if another process has it open; `corruption`, `io`, `noSpace`.
  public convenience init(at path: String) throws(TreeRingError) {
    try self.init(path: path, fileSystem: PosixFileSystem())
  }

  package init(
    path: String, fileSystem: any FileSystem, segmentSize: UInt64 = 16 << 20
  ) throws(TreeRingError) {
    if try !fileSystem.exists(path) {
      try fileSystem.makeDirectory(path)
      try fileSystem.syncFolder(above: path)
    }
    lock = try StoreLock(path: path + "/LOCK", fileSystem: fileSystem)
    log = try CommitLog(
      directory: path + "/entries", fileSystem: fileSystem,
      options: LogOptions(segmentSize: segmentSize))
  }

  /// Closes the log; every later call is refused.
  public func close() throws(TreeRingError) {
    appending.withLock { $0 = true }
    appended.broadcast()
    defer { lock.release() }
    try log.close()
  }

  public var entryByteLimit: Int { 8 << 20 }

  public func ends(within limit: Duration) throws(SharedLogError) -> SharedLogEnds {
    SharedLogEnds(first: first, last: log.completed)
  }

  /// The number of the oldest entry.
  private var first: UInt64 { max(log.first, log.horizon) }

  public func append(
    _ entries: [[UInt8]], after expected: UInt64, within limit: Duration
  ) throws(SharedLogError) -> AppendOutcome {
    for entry in entries where entry.count > entryByteLimit {
      throw .refused("An entry has \(entry.count) bytes, over the limit of \(entryByteLimit).")
    }
    let outcome = appending.withLock { isClosed -> Result<AppendOutcome, SharedLogError> in
      if isClosed { return .failure(Self.closed) }
      guard log.completed == expected else { return .success(.conflict) }
      do throws(TreeRingError) {
        var ticket: CommitTicket?
        for (index, entry) in entries.enumerated() {
          ticket = try log.append(
            CommitDraft(
              number: expected + UInt64(index) + 1,
              timestamp: max(.now, log.sequencedTimestamp), operationCount: 0, payload: entry))
        }
        if let ticket { try log.complete(ticket) }
        return .success(.appended)
      } catch {
        return error.code == .noSpace
          ? .failure(.refused(error.description)) : .success(.unknown(error.description))
      }
    }
    appended.broadcast()
    return try outcome.get()
  }

  public func read(
    from first: UInt64, byteLimit: Int, within limit: Duration
  ) throws(SharedLogError) -> [[UInt8]] {
    let deadline = ContinuousClock.now + limit
    let isClosed = appending.enter { held in
      while !held.state, log.completed < first, .now < deadline {
        held.wait(for: appended, atMost: deadline - .now)
      }
      return held.state
    }
    if isClosed { throw Self.closed }
    let last = log.completed
    if first < self.first { throw .trimmed(first: self.first) }
    guard first <= last else { return [] }
    var entries: [[UInt8]] = []
    var byteCount = 0
    do throws(TreeRingError) {
      try log.replay(from: first, through: last) { (_, payload) throws(TreeRingError) in
        entries.append([UInt8](payload))
        byteCount += payload.count
        return byteCount < byteLimit
      }
    } catch {
      // A trim may have come in between.
      if error.code == .beyondHorizon { throw .trimmed(first: self.first) }
      throw .refused(error.description)
    }
    return entries
  }

  public func trim(before first: UInt64, within limit: Duration) throws(SharedLogError) {
    let horizon = min(first, log.completed)
    guard horizon > self.first else { return }
    do {
      try log.seal()
      for segment in log.segments where segment.isSealed && segment.firstCommit < horizon {
        _ = try log.rewrite(segment: segment.firstCommit, horizon: horizon) { header, _ in
          header.number < horizon ? .drop : .keep
        }
      }
    } catch { throw SharedLogError.refused("\(error)") }
  }

  private static let closed = SharedLogError.refused("The log was closed. Open it again.")
}
