// Events by their ids.

public import TreeRing
internal import TreeRingLog
public import TreeRingPlatform

/// The index of events by id.
struct EventIDs<Source: Readable> {
  private let source: Source
  private let names: StreamNames

  init(_ source: Source, _ names: StreamNames) {
    self.source = source
    self.names = names
  }

  /// Calls `body` with the events of an id in the order of their appending, until it returns false.
  /// O(log n + events read).
  func forEach(_ id: UUID, _ body: (RecordedEvent) throws -> Bool) throws {
    guard let index = try source.eventIndex(names.ids) else { return }
    let group = GroupName(id.uuidString)
    try index.forEachRow(in: group, fromSortKey: []) { row, sortKey in
      let position = try EventPosition(sortKey: sortKey)
      guard let event = RecordedEvent(row, at: position) else { return true }
      return try body(event)
    }
  }
}

extension Readable {
  /// The events that were appended with an id, in any stream, in the order of their appending.
  /// O(log n + events).
  public func events(
    withID id: UUID, in bucket: String = "events"
  ) throws -> [RecordedEvent] {
    var events: [RecordedEvent] = []
    try EventIDs(self, StreamNames.of(bucket)).forEach(id) { event in
      events.append(event)
      return true
    }
    return events
  }

  /// An index of events; nil if nothing was appended yet.
  func eventIndex(_ name: String) throws(TreeRingError) -> IndexReader? {
    let found = Result { () throws(TreeRingError) in try index(name) }
    if case .failure(let error) = found, error.code == .notFound { return nil }
    return try found.get()
  }
}
