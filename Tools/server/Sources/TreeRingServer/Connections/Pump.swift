// A pump sends a reader's messages whenever the channel can be written to, one at a time. It holds
// no message: while the channel is full, nothing is read from the store.

internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix
internal import TreeRingLive

/// A reader and the channel that its messages go to. Any thread may use it.
final class Pump: Sendable {
  private struct State {
    /// Whether a thread takes messages at the moment.
    var isRunning = false
    /// Whether something happened meanwhile, so that it must look again.
    var looksAgain = false
    var isOver = false
  }

  let reader: any LiveReader
  private let channel: any Channel
  private let figures: ServerFigures
  private let send: @Sendable ([UInt8]) -> Void
  private let state = NIOLockedValueBox(State())

  /// - Parameter send: writes a message to the channel, and flushes.
  init(
    _ reader: any LiveReader, _ channel: any Channel, _ figures: ServerFigures,
    send: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.reader = reader
    self.channel = channel
    self.figures = figures
    self.send = send
  }

  /// Ends all sending.
  func stop() { state.withLockedValue { $0.isOver = true } }

  /// Sends what is due, on a thread of the pool.
  func poke(_ pool: NIOThreadPool) {
    guard channel.isWritable, reader.mayBeDue else { return }
    pool.submit { if $0 == .active { self.run() } }
  }

  /// Sends messages on this thread until none is due or the channel is full.
  func run() {
    let begins = state.withLockedValue { state in
      if state.isOver { return false }
      state.looksAgain = state.isRunning
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard begins else { return }
    repeat {
      while channel.isWritable, !state.withLockedValue({ $0.isOver }),
        let message = reader.nextMessage()
      {
        figures.sent(message.count)
        send(message)
      }
    } while again()
  }

  /// Whether to look again; otherwise the run is over.
  private func again() -> Bool {
    state.withLockedValue { state in
      if state.looksAgain {
        state.looksAgain = false
        return true
      }
      state.isRunning = false
      return false
    }
  }
}
