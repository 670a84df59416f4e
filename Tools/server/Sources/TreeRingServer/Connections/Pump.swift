// A pump sends a reader's messages. It takes some ten kilobytes of them, and takes the next ones
// only when these have gone to the network. It holds no others, so a slow connection costs those
// and a position.

internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix
internal import TreeRingLive

/// A reader and the channel that its messages go to. Any thread may use it.
final class Pump: Sendable {
  private struct State {
    /// Whether a thread takes a message at the moment, or one is on its way to the network.
    var isBusy = false
    /// Whether the reader could have had news meanwhile.
    var isMissed = false
    var isOver = false
  }

  let reader: any LiveReader
  private let channel: any Channel
  private let figures: ServerFigures
  private let send: @Sendable ([[UInt8]], EventLoopPromise<Void>) -> Void
  private let revisit: @Sendable (Pump) -> Void
  private let state = NIOLockedValueBox(State())
  /// The bytes from which no further message is taken.
  private static let byteLimit = 64 << 10

  /// - Parameters:
  ///   - revisit: called after a message has gone, if the reader has more or could have news.
  ///   - send: writes messages to the channel, flushes, and fulfils the promise.
  init(
    _ reader: any LiveReader, _ channel: any Channel, _ figures: ServerFigures,
    revisit: @escaping @Sendable (Pump) -> Void,
    send: @escaping @Sendable ([[UInt8]], EventLoopPromise<Void>) -> Void
  ) {
    self.reader = reader
    self.channel = channel
    self.figures = figures
    self.revisit = revisit
    self.send = send
  }

  /// Ends all sending.
  func stop() { state.withLockedValue { $0.isOver = true } }

  /// Sends what is due, on a thread of the pool.
  func poke(_ pool: NIOThreadPool) {
    guard reader.mayBeDue else { return }
    pool.submit { if $0 == .active { self.run() } }
  }

  /// Takes the next messages on this thread and sends them, unless others are on their way.
  func run() { take()?.send() }

  /// Messages that were taken, and must be sent.
  struct Taken: Sendable {
    fileprivate let pump: Pump
    fileprivate let messages: [[UInt8]]

    /// The loop of the channel. Sending there costs no wake.
    var loop: any EventLoop { pump.channel.eventLoop }

    /// Sends them, unless the answer that they belong to has ended since. An answer ends on the
    /// loop of its channel, so that is where it is asked.
    func send() {
      guard loop.inEventLoop else { return loop.execute { send() } }
      let promise = loop.makePromise(of: Void.self)
      promise.futureResult.whenComplete { [pump] _ in pump.end() }
      if pump.state.withLockedValue(\.isOver) { return promise.succeed() }
      pump.send(messages, promise)
    }
  }

  /// Takes the next messages on this thread, unless others are on their way.
  func take() -> Taken? {
    let begins = state.withLockedValue { state in
      if state.isOver { return false }
      state.isMissed = state.isBusy
      defer { state.isBusy = true }
      return !state.isBusy
    }
    guard begins else { return nil }
    var messages: [[UInt8]] = []
    var byteCount = 0
    while byteCount < Self.byteLimit, channel.isWritable, let message = reader.nextMessage() {
      messages.append(message)
      byteCount += message.count
    }
    figures.sent(messages.count, byteCount)
    if messages.isEmpty {
      end()
      return nil
    }
    return Taken(pump: self, messages: messages)
  }

  /// Ends a run. The reader is visited again if it may have more: the round that it advanced to may
  /// have been an older one. A channel that is full calls when it can be written to again.
  private func end() {
    let (isMissed, isOver) = state.withLockedValue { state in
      state.isBusy = false
      return (state.isMissed, state.isOver)
    }
    if !isOver, channel.isWritable, isMissed || reader.mayBeDue { revisit(self) }
  }
}
