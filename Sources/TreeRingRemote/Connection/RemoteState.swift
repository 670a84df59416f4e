// The state of a window's connection.

/// The state of a window's connection.
public enum RemoteState: Hashable, Sendable {
  /// The first state has not come yet.
  case connecting
  /// The window is connected, and shows what the server has sent last.
  case current
  /// The connection was lost, or not made, for this reason; the window tries again by itself. The
  /// rows stay as they are.
  case waiting(RemoteError)
  /// The window was closed, or ended with an error that no attempt can mend.
  case closed(RemoteError?)
}
