// The loading of a live collection: its start, its state, its outcome.

/// The outcome of a load.
public struct LoadOutcome: Sendable {
  /// The number of rows loaded.
  public let rows: Int
  /// Whether there is more to load in that direction.
  public let hasMore: Bool
  /// The reason for an early end: the source's error, or `cancelled`.
  public let error: (any Error)?

  /// An outcome, as a load would report it.
  ///
  /// - Parameters:
  ///   - rows: The number of rows loaded.
  ///   - hasMore: Whether there is more to load in that direction.
  ///   - error: The reason for an early end; nil if there was none.
  public init(rows: Int, hasMore: Bool, error: (any Error)? = nil) {
    self.rows = rows
    self.hasMore = hasMore
    self.error = error
  }
}

/// The effect of a call of `load`.
public enum LoadStart: Hashable, Sendable {
  /// A load began.
  case started
  /// A load was already running; it serves this call too.
  case joined
  /// Nothing is left to load in that direction, and the loaded range is listened to if the options
  /// require it.
  case atEnd
}

/// The loading state of a collection.
public enum LoadingState: Hashable, Sendable {
  /// Nothing has been loaded yet.
  case idle
  /// A load is running.
  case loading
  /// The last load succeeded.
  case loaded(hasMore: Bool)
  /// The last load ended in an error; loading again retries.
  case failed
}
