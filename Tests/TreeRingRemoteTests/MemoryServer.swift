// The real service behind a transport in memory. It cuts answers into pieces, and connections at
// any byte.

import Foundation
import TestSupport
import TreeRingHTTP
import TreeRingLive
import TreeRingPlatform

@testable import TreeRingRemote

/// A server without a network. `pump` sends what is due.
final class MemoryServer: HTTPTransport {
  /// An answer in place of the service's.
  struct Fault: Sendable {
    var status = 200
    var type = "text/event-stream"
    var text = ""
    var loses = true
  }

  private struct Connection {
    let session: LiveSession
    let continuation: AnswerStream.Continuation
  }

  private struct State {
    var connections: [Int: Connection] = [:]
    var count = 0
    var flaws: [String] = []
    var random: SeededGenerator
    /// A connection is lost within one of so many messages; 0 for never.
    var lossRate = 0
    var tokens: [String?] = []
    var isRefusing = false
  }

  let service: LiveService
  private let state: Mutex<State>
  private let fault: @Sendable (_ number: Int, _ token: String?) -> Fault?

  init(
    _ service: LiveService, seed: UInt64 = 1,
    fault: @escaping @Sendable (_ number: Int, _ token: String?) -> Fault? = { _, _ in nil }
  ) {
    self.service = service
    self.fault = fault
    state = Mutex(State(random: SeededGenerator(seed: seed)))
  }

  var lossRate: Int {
    get { state.withLock { $0.lossRate } }
    set { state.withLock { $0.lossRate = newValue } }
  }
  /// The number of requests so far.
  var requestCount: Int { state.withLock { $0.count } }
  var connectionCount: Int { state.withLock { $0.connections.count } }
  /// The tokens of the requests.
  var tokens: [String?] { state.withLock { $0.tokens } }
  var flaws: [String] { state.withLock { $0.flaws } }

  func send(_ request: HTTPRequest) -> AnswerStream {
    AnswerStream { continuation in
      let token = request.headers["Authorization"]
      let number = state.withLock { state in
        state.tokens.append(token)
        state.count += 1
        if request.method != "POST" || request.url.path != "/v1/live"
          || request.headers["Accept"] != "text/event-stream"
          || request.headers["Content-Type"] != "application/json" || request.url.fragment != nil
        {
          state.flaws.append("\(request)")
        }
        return state.count
      }
      if let fault = fault(number, token) {
        continuation.yield(.head(status: fault.status, headers: ["content-type": fault.type]))
        continuation.yield(.bytes(Array(fault.text.utf8)))
        if fault.loses { continuation.finish(throwing: ConnectionLost(reason: "lost")) }
        return
      }
      do {
        let session = try service.session(for: LiveAccess(.read), messages: request.body ?? [])
        state.withLock {
          $0.connections[number] = Connection(session: session, continuation: continuation)
        }
        continuation.onTermination = { [weak self] _ in
          self?.state.withLock { $0.connections[number] = nil }
        }
        continuation.yield(.head(status: 200, headers: ["content-type": "text/event-stream"]))
      } catch {
        continuation.yield(.head(status: 413, headers: [:]))
        continuation.finish()
      }
    }
  }

  /// Loses all connections.
  func lose() {
    for connection in state.withLock({ $0.connections.values.map(\.continuation) }) {
      connection.finish(throwing: ConnectionLost(reason: "lost"))
    }
  }

  /// Sends what is due to every connection, in pieces of random sizes.
  func pump() {
    for (_, connection) in state.withLock({ $0.connections }) {
      while let message = connection.session.nextMessage() {
        var bytes = Array("data: ".utf8) + message + Array("\n\n".utf8)
        let (isLost, pieces) = state.withLock { state -> (Bool, [Int]) in
          let rate = state.lossRate
          let isLost = rate > 0 && Int.random(in: 0..<rate, using: &state.random) == 0
          let limit = isLost ? Int.random(in: 0...bytes.count, using: &state.random) : bytes.count
          let cuts = (0..<3).map { _ in Int.random(in: 0...limit, using: &state.random) }.sorted()
          return (isLost, cuts + [limit])
        }
        bytes = Array(bytes.prefix(pieces.last ?? 0))
        var start = 0
        for end in pieces {
          connection.continuation.yield(.bytes(Array(bytes[start..<end])))
          start = end
        }
        if isLost {
          connection.continuation.finish(throwing: ConnectionLost(reason: "lost"))
          break
        }
      }
    }
  }
}
