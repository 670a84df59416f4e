// The connection of a log: made at first use, and again if the library gives it up.

internal import Foundation
internal import Logging
internal import Synchronization
internal import TreeRingReplication

/// The connection of a log.
final class Link: Sendable {
  private enum State {
    case none
    case connecting
    case open(Connection)
    case failed(SharedLogError)
  }

  private let options: JetStreamOptions
  private let state = Mutex<State>(.none)

  init(_ options: JetStreamOptions) { self.options = options }

  /// The connection, as soon as a server serves it.
  /// - Throws: `unavailable` after the deadline; `refused`.
  func connection(by deadline: ContinuousClock.Instant) throws(SharedLogError) -> Connection {
    var reason = "no connection to \(options.urls.joined(separator: ", "))"
    while true {
      switch state.withLock({ $0 }) {
      case .open(let connection) where connection.isConnected: return connection
      case .open(let connection):
        if let error = connection.lastError { reason = "no connection: \(error)" }
        if connection.isClosed { discard(connection) }
      case .none: connect()
      case .connecting: break
      case .failed(let error):
        state.withLock { state in
          if case .failed = state { state = .none }
        }
        switch error {
        case .unavailable(let text): reason = text
        default: throw error
        }
        Thread.sleep(forTimeInterval: min(0.05, deadline.rest / .seconds(1)))
      }
      guard ContinuousClock.now < deadline else { throw .unavailable(reason) }
      Thread.sleep(forTimeInterval: 0.002)
    }
  }

  /// Gives a connection up: the next call makes another one.
  func discard(_ connection: Connection) {
    state.withLock { state in
      if case .open(let current) = state, current === connection { state = .none }
    }
  }

  /// Connects on a thread of its own, because the library may block for longer than a caller waits.
  private func connect() {
    let isFirst = state.withLock { state in
      guard case .none = state else { return false }
      state = .connecting
      return true
    }
    guard isFirst else { return }
    Thread.detachNewThread { [self] in
      do throws(SharedLogError) {
        let connection = try Connection(options)
        options.logger.info("Connected to NATS", metadata: ["stream": "\(options.stream)"])
        state.withLock { $0 = .open(connection) }
      } catch {
        options.logger.warning("\(error)", metadata: ["stream": "\(options.stream)"])
        state.withLock { $0 = .failed(error) }
      }
    }
  }
}
