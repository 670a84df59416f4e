// The sessions that a WebSocket can carry: live windows, and the protocol of Firebase's SDKs.

internal import TreeRingLive
internal import TreeRingRealtime

/// A session behind a WebSocket. Any thread may use it.
protocol SocketSession: LiveReader {
  /// Whether it takes a further message.
  var acceptsInput: Bool { get }
  /// Whether it has ended. Its last message said why.
  var isOver: Bool { get }
  /// Takes a message. May block.
  func receive(_ message: [UInt8])
  /// Makes the session check its rights with the next message.
  func requestCheck()
  /// Ends the session after its connection. May block.
  func end()
}

extension LiveSession: SocketSession {
  var isOver: Bool { false }
  func requestCheck() {}
  func end() {}
}

extension RealtimeSession: SocketSession {}
