// A bucket of JetStream's key-value stores: a stream in which each key is a subject that keeps its
// newest message, for a time. Other clients of NATS read it as such (`nats kv get`).

internal import Foundation
internal import TreeRingReplication

/// One bucket, made at its first use.
final class KeyValueBucket: Sendable {
  private let name: String
  private let options: JetStreamOptions
  private let lifetime: Duration
  private let link: Link

  /// - Parameter lifetime: The time after which a key that is not written again is gone.
  init(_ name: String, lifetime: Duration, options: JetStreamOptions, link: Link) {
    (self.name, self.lifetime, self.options, self.link) = (name, lifetime, options, link)
  }

  /// A value and the number of the message that has it.
  struct Entry: Sendable {
    var value: [UInt8]
    var revision: UInt64
  }

  /// The value of a key, as the bucket's leader has it; nil if there is none.
  func get(_ key: String, within limit: Duration) throws(SharedLogError) -> Entry? {
    try attempt(within: limit) { calls throws(AttemptFailure) in
      do throws(AttemptFailure) {
        return try calls.last(of: subject(key))
      } catch {
        if case .answered(let answer) = error, answer.number == APIError.Number.messageNotFound {
          return nil
        }
        throw error
      }
    }
  }

  /// Sets the value of a key if its newest message is that of a number.
  /// - Parameter revision: The number; 0 if there must be no value; nil for any.
  /// - Returns: Whether it was set.
  func put(
    _ value: [UInt8], for key: String, after revision: UInt64?, within limit: Duration
  ) throws(SharedLogError) -> Bool {
    try attempt(within: limit) { calls throws(AttemptFailure) in
      var headers: [(String, String)] = []
      if let revision { headers = [("Nats-Expected-Last-Subject-Sequence", "\(revision)")] }
      do throws(AttemptFailure) {
        try calls.publish(value, to: subject(key), headers: headers)
        return true
      } catch {
        if case .answered(let answer) = error, answer.number == APIError.Number.wrongLastSequence {
          return false
        }
        throw error
      }
    }
  }

  /// All keys.
  func keys(within limit: Duration) throws(SharedLogError) -> [String] {
    try attempt(within: limit) { calls throws(AttemptFailure) in
      try calls.subjects(matching: subject(">")).map { String($0.dropFirst(subject("").count)) }
    }
  }

  private func subject(_ key: String) -> String { "$KV.\(name).\(key)" }

  /// Makes one attempt, and a second one if the bucket had to be made.
  private func attempt<Result>(
    within limit: Duration, _ body: (StreamCalls) throws(AttemptFailure) -> Result
  ) throws(SharedLogError) -> Result {
    let deadline = ContinuousClock.now + limit
    let connection = try link.connection(by: deadline)
    let calls = StreamCalls(connection: connection, stream: "KV_\(name)", deadline: deadline)
    do throws(AttemptFailure) {
      do throws(AttemptFailure) {
        return try body(calls)
      } catch {
        guard case .answered(let answer) = error,
          answer.number == APIError.Number.streamNotFound
        else {
          // A publication to a stream that does not exist has no answer.
          guard case .passing = error, try !exists(calls) else { throw error }
          return try create(calls, body)
        }
        return try create(calls, body)
      }
    } catch {
      switch error {
      case .passing(let text): throw .unavailable(text)
      case .refused(let text): throw .refused(text)
      case .answered(let answer): throw .unavailable("\(name): \(answer.text)")
      }
    }
  }

  private func exists(_ calls: StreamCalls) throws(AttemptFailure) -> Bool {
    do throws(AttemptFailure) {
      _ = try calls.info()
      return true
    } catch {
      if case .answered(let answer) = error, answer.number == APIError.Number.streamNotFound {
        return false
      }
      throw error
    }
  }

  private func create<Result>(
    _ calls: StreamCalls, _ body: (StreamCalls) throws(AttemptFailure) -> Result
  ) throws(AttemptFailure) -> Result {
    var configuration = StreamConfiguration(options)
    configuration.name = "KV_\(name)"
    configuration.subjects = [subject(">")]
    configuration.maxMessagesPerSubject = 1
    configuration.maxBytes = -1
    configuration.maxAge = Int(lifetime / .nanoseconds(1))
    configuration.duplicateWindow = min(configuration.maxAge, 120_000_000_000)
    configuration.allowsRollup = true
    configuration.allowsBatches = false
    _ = try calls.create(configuration)
    return try body(calls)
  }
}
