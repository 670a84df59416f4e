// The bounds of one answer and one connection. Together they bound the memory of a client, whatever
// it does.

/// The bounds of answers and sessions.
public struct LiveLimits: Sendable, Hashable {
  /// The most windows of a session.
  public var windows = 64
  /// The most groups that a window shows.
  public var groups = 10_000
  /// The most operations of one change; a larger one becomes a reset.
  public var operations = 1_000
  /// The bytes of a change from which it becomes a reset.
  public var changeByteCount = 1 << 20
  /// The bytes from which a piece of a window, or a page of a list, takes no further row.
  public var pieceByteCount = 1 << 18
  /// The most rows of a page of a list.
  public var rows = 1_000
  /// The most rows that a page of a list with conditions examines.
  public var examinedRows = 10_000
  /// The most replies that wait to be sent; a session takes no message while there are as many.
  public var replies = 8
  /// The most differing operations of a changeset that a request compares.
  public var changes = 100_000

  /// The most bases that clients copy at a time.
  public var bases = 8
  /// The time without a request after which a base is released.
  public var baseSilence = Duration.seconds(600)
  /// The bytes of a piece of a base.
  public var basePieceByteCount = 4 << 20

  /// The usual bounds.
  public init() {}
}
