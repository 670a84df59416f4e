// Attempts until one succeeds: the waits between them, the renewal of tokens, and the end of
// patience.

internal import TreeRingHTTP

/// An event of a connection that is kept up.
enum ConnectionEvent {
  /// A request is about to be sent.
  case requested
  /// The connection was lost, or not made.
  case lost
  /// The whole tree, the first event of every connection.
  case opened(FirebaseNode)
  case changed([TreeEvent.Replacement])
}

/// The failures in a row of a page or a listener.
struct Attempts {
  private let client: FirebaseClient
  private let most: Int?
  private var failures = 0
  private var renewals = 0

  /// - Parameter most: The failed attempts in a row that end it; nil for none.
  init(_ client: FirebaseClient, most: Int?) {
    self.client = client
    self.most = most
  }

  /// Records that the server answered as it should.
  mutating func succeed() {
    failures = 0
    renewals = 0
  }

  /// Prepares for the next attempt: waits, or renews the token.
  /// - Throws: The error to report, if there is no next attempt; `CancellationError`.
  mutating func recover(from failure: FailedAttempt) async throws {
    try Task.checkCancellation()
    switch failure.remedy {
    case .none: throw failure.error
    case .wait: break
    case .renewToken(let number, let reason):
      renewals += 1
      // A rejected token is renewed once: the next one is refused for another reason.
      if reason == .rejected, renewals > 1 { throw failure.error }
      try await client.tokens.refuse(number, reason)
      // A stream that ended was open, so the next one must wait like after any loss.
      if reason == .rejected { return }
    }
    failures += 1
    if let most, failures >= most { throw failure.error }
    let options = client.options
    try await options.clock.sleep(
      for: options.delay(afterFailures: failures, jitter: .random(in: 0...1)))
  }
}

extension FirebaseClient {
  /// Reads the node of a location once.
  /// - Throws: A `FirebaseError`, the error of the token's provider, or `CancellationError`.
  func read(_ parameters: [RequestParameter]) async throws -> FirebaseNode {
    var attempts = Attempts(self, most: options.pageAttempts)
    while true {
      do {
        return try await node(try await open(parameters, accept: "application/json"))
      } catch let failure as FailedAttempt {
        try await attempts.recover(from: failure)
      }
    }
  }

  /// Follows the events of a location until the task is cancelled or no attempt can succeed.
  /// Reconnects after each loss; then the whole tree comes again. Reads on when `receive` returns.
  ///
  /// - Returns: The error that ended it; nil after cancellation.
  func follow(
    _ parameters: [RequestParameter], _ receive: (ConnectionEvent) async -> Void
  ) async -> (any Error)? {
    var attempts = Attempts(self, most: options.listenAttempts)
    while !Task.isCancelled {
      do {
        await receive(.requested)
        try await connect(parameters) { event in
          if case .opened = event { attempts.succeed() }
          await receive(event)
        }
      } catch let failure as FailedAttempt {
        await receive(.lost)
        do {
          try await attempts.recover(from: failure)
        } catch {
          return Task.isCancelled ? nil : error
        }
      } catch {
        return Task.isCancelled ? nil : error
      }
    }
    return nil
  }

  /// Follows the events of one connection to its end.
  /// - Throws: A `FailedAttempt`. Returns only after cancellation.
  private func connect(
    _ parameters: [RequestParameter], _ receive: (ConnectionEvent) async -> Void
  ) async throws {
    var answer = try await open(parameters, accept: "text/event-stream")
    var parser = EventStreamParser(limit: options.largestMessage)
    var isFirst = true
    while let piece = try await next(&answer.pieces) {
      guard case .bytes(let bytes) = piece else { continue }
      for event in try located(parser.events(in: bytes)) {
        if Task.isCancelled { return }
        switch try located(Result { () throws(FirebaseError) in try TreeEvent(event) }) {
        case .change(let replacements) where isFirst:
          guard event.name == "put", let whole = replacements.first, whole.path.isRoot else {
            throw failure(
              .none, .malformed, "A stream begins without the whole data of its location.")
          }
          await receive(.opened(whole.node))
          isFirst = false
        case .change(let replacements): await receive(.changed(replacements))
        case .cancel(let reason):
          let error = FirebaseError(
            .cancelled, "The server ended the stream. Check the rules; load again to retry.",
            location: address.location, serverText: reason)
          throw FailedAttempt(error: error, remedy: .none)
        case .authRevoked(let reason):
          let error = FirebaseError(
            .permissionDenied, "The token is no longer valid. Sign in again.",
            location: address.location, serverText: reason)
          throw FailedAttempt(
            error: error, remedy: tokens.canRenew ? .renewToken(answer.token, .revoked) : .none)
        case .keepAlive, nil: break
        }
      }
    }
    if Task.isCancelled { return }
    throw failure(.wait, .unreachable, "The server closed the connection.")
  }

  /// The value of a result; its error as one that no attempt can mend.
  private func located<Value>(_ result: Result<Value, FirebaseError>) throws -> Value {
    switch result {
    case .success(let value): return value
    case .failure(let error):
      throw FailedAttempt(error: error.at(address.location), remedy: .none)
    }
  }
}

extension EventStreamParser {
  /// The events that bytes complete; a flaw of the stream as an error of this module.
  fileprivate mutating func events(in bytes: [UInt8]) -> Result<[ServerEvent], FirebaseError> {
    do throws(EventStreamFlaw) {
      return .success(try take(bytes))
    } catch {
      return .failure(FirebaseError(error))
    }
  }
}

extension FirebaseError {
  init(_ flaw: EventStreamFlaw) {
    switch flaw {
    case .malformed(let sentence): self.init(.malformed, sentence)
    case .tooLarge(let limit):
      self.init(
        .tooLarge,
        "An event is larger than \(limit) bytes. Listen to a smaller part, or raise "
          + "FirebaseOptions.largestMessage.")
    }
  }
}
