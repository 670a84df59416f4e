// Reads the events of a category, or of all streams, in the order of their appending.

public import TreeRing
internal import TreeRingLog

/// The events of a category, or of all streams, as of a snapshot or in a transaction.
public struct CategoryReader<Source: Readable> {
  /// The category; nil for all streams.
  public let category: String?
  let source: Source
  let names: StreamNames

  /// The number of events. O(log n).
  public var count: Int {
    get throws(TreeRingError) { try source.eventIndex(names.categories)?.count(in: group) ?? 0 }
  }

  /// The events after a position, at most `limit` of them; nil stands for the beginning.
  /// O(log n + events read · log n).
  public func events(
    after position: EventPosition? = nil, limit: Int = .max
  ) throws -> [RecordedEvent] {
    var events: [RecordedEvent] = []
    if limit <= 0 { return events }
    try forEach(after: position) { event in
      events.append(event)
      return events.count < limit
    }
    return events
  }

  /// The events before a position, newest first, at most `limit` of them; nil stands for the end.
  /// O(log n + events read · log n).
  public func eventsBackward(
    before position: EventPosition? = nil, limit: Int = .max
  ) throws -> [RecordedEvent] {
    var events: [RecordedEvent] = []
    guard limit > 0, let index = try source.eventIndex(names.categories) else { return events }
    try index.forEachRow(in: group, beforeSortKey: position?.sortKey) { row, sortKey in
      if let event = RecordedEvent(row, at: try EventPosition(sortKey: sortKey)) {
        events.append(event)
      }
      return events.count < limit
    }
    return events
  }

  /// Calls `body` with the events after a position, in the order of their appending, until it
  /// returns false. O(log n + events read · log n).
  public func forEach(
    after position: EventPosition? = nil, _ body: (RecordedEvent) throws -> Bool
  ) throws {
    guard let index = try source.eventIndex(names.categories) else { return }
    var start: [UInt8] = []
    if let position {
      guard let next = position.next else { return }
      start = next.sortKey
    }
    try index.forEachRow(in: group, fromSortKey: start) { row, sortKey in
      guard let event = RecordedEvent(row, at: try EventPosition(sortKey: sortKey)) else {
        return true
      }
      return try body(event)
    }
  }

  private var group: GroupName { category.map { GroupName($0) } ?? EventGrouping.all }
}

extension CategoryReader: Sendable where Source: Sendable {}

extension Readable {
  /// The events of all streams whose names begin with a category and a hyphen, or are the category.
  /// O(1).
  public func category(
    _ category: String, in bucket: String = "events"
  ) -> CategoryReader<Self> {
    CategoryReader(category: category, source: self, names: StreamNames.of(bucket))
  }

  /// The events of all streams of a bucket, in the order of their appending. O(1).
  public func allEvents(in bucket: String = "events") -> CategoryReader<Self> {
    CategoryReader(category: nil, source: self, names: StreamNames.of(bucket))
  }

  /// The categories with events, in the order of their names, and the numbers of their events.
  /// O(categories · log n).
  public func categories(
    in bucket: String = "events"
  ) throws(TreeRingError) -> [(name: String, count: Int)] {
    let groups = try eventIndex(StreamNames.of(bucket).categories)?.groupCounts() ?? []
    return groups.filter { $0.group != EventGrouping.all }.map { ($0.group.description, $0.rows) }
  }
}
