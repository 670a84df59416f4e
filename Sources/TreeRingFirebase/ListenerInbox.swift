// The messages that wait for a listener. Streams wait while the listener is behind, and their
// connections with them, so a slow listener costs a bounded amount of memory.

internal import TreeRingCollections
internal import TreeRingPlatform

/// The inbox of one listener.
final class ListenerInbox: Sendable {
  private struct State {
    var messages: [ListenerMessage] = []
    /// The newest range that was asked for.
    var range: PositionRange?
    /// The stream whose messages must wait.
    var paused: Int?
    var reader: CheckedContinuation<Void, Never>?
    var senders: [CheckedContinuation<Void, Never>] = []
    var isOver = false

    var isReady: Bool { isOver || range != nil || !messages.isEmpty }

    mutating func takeSenders() -> [CheckedContinuation<Void, Never>] {
      defer { senders = [] }
      return senders
    }

    func hasRoom(for message: ListenerMessage) -> Bool {
      isOver || messages.count < ListenerInbox.limit && (paused == nil || message.stream != paused)
    }
  }

  /// The most messages that wait.
  static let limit = 16

  private let state = Mutex(State())

  /// Adds the message of a stream, as soon as there is room for it.
  func send(_ message: ListenerMessage) async {
    while true {
      let (isTaken, reader) = state.withLock { state in
        guard state.hasRoom(for: message) else {
          return (false, nil as CheckedContinuation<Void, Never>?)
        }
        if !state.isOver { state.messages.append(message) }
        defer { state.reader = nil }
        return (true, state.reader)
      }
      reader?.resume()
      if isTaken { return }
      await withCheckedContinuation { sender in
        let hasRoom = state.withLock { state in
          if state.hasRoom(for: message) { return true }
          state.senders.append(sender)
          return false
        }
        if hasRoom { sender.resume() }
      }
    }
  }

  /// Asks for a range, in place of one that was asked for and is still untaken. Never waits.
  func extend(to range: PositionRange) {
    let reader = state.withLock { state in
      state.range = range
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume()
  }

  /// The next message: ranges first, then the streams' messages in order. Nil after the end.
  func next() async -> ListenerMessage? {
    while true {
      let (message, isOver, senders) = state.withLock { state in
        if state.isOver { return (nil as ListenerMessage?, true, state.takeSenders()) }
        if let range = state.range {
          state.range = nil
          return (.extend(range), false, [])
        }
        if state.messages.isEmpty { return (nil, false, []) }
        let message = state.messages.removeFirst()
        // Several at once, so that a fast stream does not wait for each of its messages.
        let hasRoom = state.messages.count <= Self.limit / 2
        return (message, false, hasRoom ? state.takeSenders() : [])
      }
      for sender in senders { sender.resume() }
      if message != nil || isOver { return message }
      await withCheckedContinuation { reader in
        let isReady = state.withLock { state in
          if !state.isReady { state.reader = reader }
          return state.isReady
        }
        if isReady { reader.resume() }
      }
    }
  }

  /// Lets further messages of a stream wait; nil for no stream.
  func pause(_ stream: Int?) {
    let senders = state.withLock { state in
      if state.paused == stream { return [] as [CheckedContinuation<Void, Never>] }
      state.paused = stream
      return state.takeSenders()
    }
    for sender in senders { sender.resume() }
  }

  /// Drops all messages, now and later.
  func finish() {
    let (reader, senders) = state.withLock { state in
      (state.isOver, state.messages, state.range) = (true, [], nil)
      defer { state.reader = nil }
      return (state.reader, state.takeSenders())
    }
    reader?.resume()
    for sender in senders { sender.resume() }
  }
}
