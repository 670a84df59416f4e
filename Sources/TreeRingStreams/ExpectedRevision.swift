// The preconditions of an append, and its result.

internal import TreeRingLog

/// The revision that a stream must have for an append.
public enum ExpectedRevision: Hashable, Sendable {
  /// Any revision, or no events.
  case any
  /// The stream has no events.
  case absent
  /// The stream has events.
  case present
  /// The newest event has this revision.
  case exactly(UInt64)

  /// Checks the newest revision of a stream.
  /// - Throws: `wrongExpectedRevision`, whose `current` is that revision.
  func check(_ newest: UInt64?, of stream: String) throws(TreeRingError) {
    let wish: String
    switch (self, newest) {
    case (.any, _), (.absent, nil), (.present, .some): return
    case (.exactly(let expected), let newest?) where expected == newest: return
    case (.absent, _): wish = "no events"
    case (.present, _): wish = "events"
    case (.exactly(let expected), _): wish = "the revision \(expected)"
    }
    let found = newest.map { "has the revision \($0)" } ?? "has no events"
    throw TreeRingError(
      .wrongExpectedRevision,
      "The stream \(stream) \(found); the append expected \(wish). Read the stream again, and "
        + "repeat the append.", current: newest)
  }
}

/// The result of an append.
public struct Appended: Hashable, Sendable {
  /// The revisions of the events.
  public let revisions: ClosedRange<UInt64>
  /// The position of the last event among all events of the store.
  public let position: EventPosition
  /// Whether events of these ids were in the stream already, so that nothing was appended.
  public let isRepeated: Bool

  /// The revision of the last event.
  public var revision: UInt64 { revisions.upperBound }
}
