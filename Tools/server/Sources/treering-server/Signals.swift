// The signals to the program. SIGTERM and SIGINT end it, SIGHUP reads tokens and certificate again.

import Dispatch
import Foundation
import TreeRingServer

/// The signals to a server.
final class Signals {
  private let ends: AsyncStream<(any Error)?>
  private let end: AsyncStream<(any Error)?>.Continuation
  private let sources: [any DispatchSourceSignal]

  /// Returns once the system sends the signals here. An earlier one has its default effect: it ends
  /// the program at once. Ignored instead, an order to end would be lost.
  init(of server: Server) async {
    let (ends, end) = AsyncStream.makeStream(of: (any Error)?.self)
    var sources: [any DispatchSourceSignal] = []
    for number in [SIGTERM, SIGINT, SIGHUP] {
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        guard number == SIGHUP else {
          end.yield(nil)
          return
        }
        do {
          try server.reload()
        } catch {
          FileHandle.standardError.write(Data("treering-server: \(error)\n".utf8))
        }
      }
      // A source that has been activated is registered later, by another thread.
      await withCheckedContinuation { registered in
        source.setRegistrationHandler {
          #if canImport(Darwin)
            // On Linux the source replaces the default effect, here it only observes the signal.
            signal(number, SIG_IGN)
          #endif
          registered.resume()
        }
        source.activate()
      }
      sources.append(source)
    }
    (self.ends, self.end, self.sources) = (ends, end, sources)
  }

  /// Waits for a signal that ends the server, or until the store can no longer be followed. Returns
  /// the error of the latter.
  func waitForEnd(_ rounds: Task<Void, any Error>) async -> (any Error)? {
    Task { [end] in
      do { try await rounds.value } catch { end.yield(error) }
    }
    var failure: (any Error)?
    for await found in ends {
      failure = found
      break
    }
    for source in sources { source.cancel() }
    return failure
  }
}
