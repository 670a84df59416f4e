// A shared log over NATS JetStream. An entry is a message of one stream, its number the sequence of
// the message, and the leader of the stream compares the expected number.
//
// JetStreamLog+Append.swift has the append, EntryReader.swift the reads.

internal import Foundation
internal import Logging
internal import Synchronization
public import TreeRingReplication

/// A log over NATS JetStream, for replicas on several machines.
///
///     let options = JetStreamOptions(
///       urls: ["nats://a.example:4222", "nats://b.example:4222", "nats://c.example:4222"],
///       stream: "log_orders",
///       monitorURLs: [
///         "http://a.example:8222", "http://b.example:8222", "http://c.example:8222",
///       ])
///     let log = try JetStreamLog(options)
///
/// An entry that was appended survives the loss of a minority of the servers, and a power cut of
/// all of them. The log makes the stream if it does not exist. It refuses to work with servers or a
/// stream that could lose entries, or with a stream that was deleted and made anew.
///
/// Calls of any number of threads run at once. Within their limits they repeat what fails, such as
/// during the election of a leader, which takes up to ten seconds.
public final class JetStreamLog: SharedLog, Sendable {
  public var entryByteLimit: Int { options.entryByteLimit }

  let options: JetStreamOptions
  let link: Link
  let inboxes = InboxPool()
  let readers = Mutex<[EntryReader]>([])
  private let servers: ServerCheck
  private let known = Mutex(Knowledge())

  /// The log's knowledge of the stream.
  private struct Knowledge {
    /// The moment of the stream's creation; nil before the first call.
    var created: String?
    /// The newest entry that the log has heard of.
    var last: UInt64 = 0
    /// The moment since which the servers' stream ends before that.
    var shortSince: ContinuousClock.Instant?
    /// The moment since which servers answer that there is no stream.
    var missingSince: ContinuousClock.Instant?
  }

  /// Creates a log. It connects at its first call.
  /// - Throws: `refused` for options that no server can have.
  public convenience init(_ options: JetStreamOptions) throws(SharedLogError) {
    try self.init(options, checkingEvery: .seconds(60))
  }

  /// - Parameter interval: The time between two checks of the servers.
  init(_ options: JetStreamOptions, checkingEvery interval: Duration) throws(SharedLogError) {
    let isName = options.stream.utf8.allSatisfy { byte in
      (48...57).contains(byte) || (65...90).contains(byte & ~32) || byte == 45 || byte == 95
    }
    guard isName, !options.stream.isEmpty else {
      throw .refused("A stream's name has letters, digits, “_” and “-”, not “\(options.stream)”.")
    }
    guard !options.urls.isEmpty else { throw .refused("The options have no address of a server.") }
    guard options.entryByteLimit >= 65_536 else {
      throw .refused("The limit of entries must be 65,536 bytes or more.")
    }
    if !options.allowsUnsafeConfiguration {
      guard options.replicaCount >= 3 else {
        throw .refused(
          "With \(options.replicaCount) replicas, the loss of one machine would lose entries. "
            + "Set replicaCount to 3, or allowsUnsafeConfiguration in tests.")
      }
      guard !options.monitorURLs.isEmpty else {
        throw .refused(
          "Without monitorURLs, the servers' configuration cannot be checked. Set http in the "
            + "configuration of each server, and give the log these addresses.")
      }
    }
    self.options = options
    link = Link(options)
    servers = ServerCheck(options, every: interval)
  }

  // MARK: Calls

  /// Asks the stream's leader. With a majority lost it fails, as appends do.
  public func ends(within limit: Duration) throws(SharedLogError) -> SharedLogEnds {
    let info = try currentInfo(by: .now + limit)
    return SharedLogEnds(first: info.first, last: info.state.last)
  }

  /// Removes the entries on all servers. The room is free when a block of theirs has none left.
  public func trim(before first: UInt64, within limit: Duration) throws(SharedLogError) {
    let deadline = ContinuousClock.now + limit
    let info = try currentInfo(by: deadline)
    let kept = min(first, info.state.last)
    guard kept > info.first else { return }
    try repeating(by: deadline) { calls throws(AttemptFailure) in try calls.purge(before: kept) }
  }

  /// The time for which a stream must have been seen to end too early before that is believed: a
  /// leader that was cut off from the other servers does not know the newest entries.
  private static let disbelief = Duration.seconds(10)

  /// The answer of a leader that has all entries appended before, if any server still has them.
  private func currentInfo(
    by deadline: ContinuousClock.Instant
  ) throws(SharedLogError) -> StreamInfo {
    try repeating(by: deadline) { calls throws(AttemptFailure) in
      let info = try self.info(calls)
      guard info.hasMajority else {
        throw .passing("the stream's leader has lost the majority of the servers")
      }
      let last = known.withLock { known in
        known.last = max(known.last, info.state.last)
        let isShort = info.state.last < known.last
        let since = known.shortSince ?? .now
        known.shortSince = isShort ? since : nil
        return since + Self.disbelief <= .now ? info.state.last : known.last
      }
      guard info.state.last == last else {
        throw .passing(
          "the stream ends with entry \(info.state.last), and had entry \(last). If that lasts, "
            + "servers have lost entries")
      }
      return info
    }
  }

  /// Notes that entries were appended.
  func note(last: UInt64) { known.withLock { $0.last = max($0.last, last) } }

  // MARK: Preparation

  /// The time to wait for the first answer. The servers lose requests about a stream that they are
  /// making, or whose leader they are electing.
  private static let firstPatience = Duration.milliseconds(250)

  /// Makes attempts until one succeeds.
  func repeating<Result>(
    by deadline: ContinuousClock.Instant,
    connectedBy connectDeadline: ContinuousClock.Instant? = nil,
    _ body: (StreamCalls) throws(AttemptFailure) -> Result
  ) throws(SharedLogError) -> Result {
    var (pause, patience) = (Duration.milliseconds(5), Self.firstPatience)
    while true {
      let connection = try prepare(by: connectDeadline ?? deadline)
      let calls = StreamCalls(
        connection: connection, stream: options.stream, deadline: deadline, patience: patience)
      do throws(AttemptFailure) {
        let result = try body(calls)
        known.withLock { $0.missingSince = nil }
        return result
      } catch {
        let text = try error.passingReason()
        try checkMissing(error)
        guard ContinuousClock.now < deadline else { throw .unavailable(text) }
      }
      Thread.sleep(forTimeInterval: min(pause, deadline.rest) / .seconds(1))
      (pause, patience) = (min(pause * 2, .milliseconds(200)), min(patience * 2, .seconds(2)))
    }
  }

  /// Throws if servers deny the stream for seconds. For moments they do so after it is made.
  private func checkMissing(_ failure: AttemptFailure) throws(SharedLogError) {
    guard case .answered(let error) = failure, error.number == APIError.Number.streamNotFound
    else { return }
    let since = known.withLock { known in
      known.missingSince = known.missingSince ?? .now
      return known.missingSince ?? .now
    }
    guard ContinuousClock.now - since > .seconds(2) else { return }
    throw .refused(
      "The stream \(options.stream) is gone. Restore it, or open a new log in its place.")
  }

  /// The connection, after the checks of the servers and of the stream.
  func prepare(by deadline: ContinuousClock.Instant) throws(SharedLogError) -> Connection {
    try servers.pass(by: deadline)
    var (pause, patience) = (Duration.milliseconds(5), Self.firstPatience)
    while true {
      let connection = try link.connection(by: deadline)
      if known.withLock({ $0.created != nil }) { return connection }
      let reason: String
      do throws(AttemptFailure) {
        try checkStream(
          StreamCalls(
            connection: connection, stream: options.stream, deadline: deadline, patience: patience))
        continue
      } catch {
        reason = try error.passingReason()
      }
      guard ContinuousClock.now < deadline else { throw .unavailable(reason) }
      Thread.sleep(forTimeInterval: min(pause, deadline.rest) / .seconds(1))
      (pause, patience) = (min(pause * 2, .milliseconds(200)), min(patience * 2, .seconds(2)))
    }
  }

  /// Makes the stream if it does not exist, and checks its configuration.
  private func checkStream(_ calls: StreamCalls) throws(AttemptFailure) {
    guard
      calls.connection.payloadLimit >= options.entryByteLimit + StreamConfiguration.headerByteLimit
    else {
      throw .refused(
        "max_payload of the servers, \(calls.connection.payloadLimit), is too small for entries of "
          + "\(options.entryByteLimit) bytes. Raise it.")
    }
    var info: StreamInfo
    do throws(AttemptFailure) {
      info = try calls.info()
    } catch {
      guard case .answered(let answer) = error, answer.number == APIError.Number.streamNotFound
      else { throw error }
      options.logger.info("Creating the stream", metadata: ["stream": "\(options.stream)"])
      info = try calls.create(StreamConfiguration(options))
    }
    let problems = info.config.problems(options)
    guard problems.isEmpty else {
      throw .refused(
        "The stream \(options.stream) could lose entries: \(problems.joined(separator: "; ")). "
          + "Change it, or name another stream.")
    }
    let unchecked = Set(info.servers).subtracting(servers.names)
    let isMajorityUnchecked = unchecked.count * 2 > info.servers.count
    if !options.monitorURLs.isEmpty, !unchecked.isEmpty, isMajorityUnchecked || servers.isComplete {
      throw .refused(
        "The stream \(options.stream) is on the servers \(info.servers.joined(separator: ", ")), "
          + "but the monitorURLs do not show \(unchecked.sorted().joined(separator: ", ")). "
          + "Give the log those of all servers.")
    }
    for name in unchecked.sorted() {
      options.logger.warning("The configuration of the server \(name) is not checked")
    }
    let created = info.created
    known.withLock { $0.created = $0.created ?? created }
  }

  /// The leader's knowledge of the stream, if it is still the same.
  func info(_ calls: StreamCalls) throws(AttemptFailure) -> StreamInfo {
    let info = try calls.info()
    guard known.withLock({ $0.created == info.created }) else {
      throw .refused(
        "The stream \(options.stream) was deleted and made anew: it has other entries. Open a new "
          + "log, and only if that was on purpose.")
    }
    return info
  }
}
