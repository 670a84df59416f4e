// The events of one append, checked and encoded before the store's writers wait for it.

internal import TreeRing
internal import TreeRingLog

/// Events to append to a stream.
struct NewEvents: Sendable {
  let events: [NewEvent]
  /// The encoded envelope of each event.
  let envelopes: [[UInt8]]

  /// - Throws: `invalidInput` for a name that no stream can have, without events, or with metadata
  ///   that is not JSON; `tooLarge`.
  init(_ events: [NewEvent], to stream: String) throws(TreeRingError) {
    try StreamNames.check(stream)
    guard !events.isEmpty else {
      throw TreeRingError(
        .invalidInput, "An append to \(stream) has no events. Give it at least one.")
    }
    self.events = events
    envelopes = try events.map { (event) throws(TreeRingError) in
      try EventEnvelope(event).encoded
    }
  }
}
