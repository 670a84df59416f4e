// The reads of a log over JetStream: a consumer of the servers that sends the entries as they come.
// The reader of one read serves the next if that continues where this one ended.

internal import Foundation
internal import Synchronization
public import TreeRingReplication

extension JetStreamLog {
  /// The readers that are kept for reads that continue.
  private static let readerCountLimit = 4
  /// The times to connect and to subscribe, beside the limit of a read, which is for the entry.
  private static let connecting = Duration.seconds(1)
  private static let subscribing = Duration.seconds(3)

  /// Reads entries. A read that continues where another ended is fast; any other one first
  /// subscribes, which takes some milliseconds. It fails if that takes longer than three seconds.
  ///
  /// The servers send ahead of the reads, a few megabytes if these are slow.
  public func read(
    from first: UInt64, byteLimit: Int, within limit: Duration
  ) throws(SharedLogError) -> [[UInt8]] {
    precondition(first > 0, "the entries of a shared log are numbered from 1")
    let start = ContinuousClock.now
    let deadline = start + limit
    let lastTry = max(deadline, start + Self.subscribing)
    while true {
      let reader: EntryReader
      if let kept = takeReader(from: first) {
        reader = kept
      } else {
        reader = try subscribe(
          from: first, by: lastTry, connectedBy: max(deadline, start + Self.connecting))
      }
      do throws(AttemptFailure) {
        let entries = try reader.read(byteLimit: byteLimit, by: deadline, lastTry)
        keep(reader)
        return entries
      } catch {
        let reason = try error.passingReason()
        guard ContinuousClock.now < lastTry else { throw .unavailable(reason) }
      }
    }
  }

  private func subscribe(
    from first: UInt64, by deadline: ContinuousClock.Instant,
    connectedBy connectDeadline: ContinuousClock.Instant
  ) throws(SharedLogError) -> EntryReader {
    var oldest: UInt64?
    let reader = try repeating(by: deadline, connectedBy: connectDeadline) {
      calls throws(AttemptFailure) -> EntryReader? in
      let info = try self.info(calls)
      oldest = info.first > first ? info.first : nil
      return oldest == nil ? try EntryReader(from: first, calls) : nil
    }
    guard let reader else { throw .trimmed(first: oldest ?? first) }
    return reader
  }

  private func takeReader(from first: UInt64) -> EntryReader? {
    readers.withLock { readers in
      readers.firstIndex { $0.next == first }.map { readers.remove(at: $0) }
    }
  }

  private func keep(_ reader: EntryReader) {
    guard !reader.isBroken else { return }
    // A reader that is given up ends its subscription outside of the lock.
    let oldest = readers.withLock { readers in
      readers.append(reader)
      return readers.count > Self.readerCountLimit ? readers.removeFirst() : nil
    }
    _ = oldest
  }
}

/// A subscription to the entries from a number on. One thread uses it at a time.
final class EntryReader: @unchecked Sendable {
  // A reader belongs to one read, or to the list of readers that are kept; the list's lock is
  // between any two of its threads.

  /// The time without any message after which the server's consumer is lost: three heartbeats.
  private static let silenceLimit = Duration.milliseconds(1600)

  private let subscription: Subscription
  private let reconnectCount: UInt64
  /// The number of the next entry.
  private(set) var next: UInt64
  /// Whether an entry is missing that should have come.
  private(set) var isBroken = false
  /// Whether the entry `next` was there when the reader subscribed, and has not come yet.
  private var isDue: Bool
  private var lastMessage = ContinuousClock.now

  /// Subscribes.
  init(from first: UInt64, _ calls: StreamCalls) throws(AttemptFailure) {
    reconnectCount = calls.connection.reconnectCount
    let subject = try Connection.uniqueSubject()
    subscription = try calls.connection.subscribe(to: subject)
    isDue = try calls.follow(from: first, to: subject) > 0
    next = first
  }

  /// The next entries; none if there is none by the deadline. It waits longer, until the last try,
  /// for an entry that is known to be there.
  func read(
    byteLimit: Int, by deadline: ContinuousClock.Instant, _ lastTry: ContinuousClock.Instant
  ) throws(AttemptFailure) -> [[UInt8]] {
    var (entries, byteCount): ([[UInt8]], Int) = ([], 0)
    while true {
      let end = isDue ? lastTry : deadline
      let wait = entries.isEmpty ? min(end.rest, .milliseconds(200)) : .zero
      guard let message = try subscription.next(within: wait) else {
        if !entries.isEmpty { return entries }
        try checkSilence(subscription.connection)
        if ContinuousClock.now >= end { return [] }
        continue
      }
      guard let numbers = message.numbers else {
        try answer(message, subscription.connection)
        continue
      }
      if numbers.entry < next { continue }
      if numbers.entry > next {
        // The entries before it were trimmed, or lost on the way: a new subscription tells.
        isBroken = true
        if !entries.isEmpty { return entries }
        throw .passing("entry \(next) is missing before entry \(numbers.entry)")
      }
      if entries.isEmpty { (lastMessage, isDue) = (.now, false) }
      entries.append(message.bytes)
      next += 1
      byteCount += entries[entries.count - 1].count
      if byteCount >= byteLimit { return entries }
    }
  }

  /// Answers a message about the flow, and checks that no entry is missing before it.
  private func answer(
    _ message: borrowing Message, _ connection: Connection
  ) throws(AttemptFailure) {
    lastMessage = .now
    if let subject = message.reply ?? message.header("Nats-Consumer-Stalled") {
      try connection.publish([], to: subject)
    }
    if let last = message.header("Nats-Last-Stream").flatMap({ UInt64($0) }), last >= next {
      throw .passing("entry \(next) is missing before the end \(last)")
    }
  }

  private func checkSilence(_ connection: Connection) throws(AttemptFailure) {
    guard connection.isConnected else {
      throw .passing("no connection: \(connection.lastError ?? "closed")")
    }
    // Messages of the time without a connection are lost.
    guard connection.reconnectCount == reconnectCount else {
      throw .passing("the connection was lost")
    }
    if ContinuousClock.now - lastMessage > Self.silenceLimit {
      throw .passing("the server's consumer is silent")
    }
  }
}
