// A stream of a store: appends as commits of their own, reads of the newest commit, subscriptions.

public import TreeRing
internal import TreeRingLog

/// A stream of events in a store: an ordered sequence that only grows at its end, on the same log
/// as all rows and with the same guarantees.
///
///     let order = store.stream("order-42")
///     try order.append(placed, expecting: .absent)
///     for event in try order.events() { print(event.revision, event.type) }
public struct EventStream: Sendable {
  /// The stream's name.
  public let name: String
  let store: Store
  let names: StreamNames

  // MARK: - Appending

  /// Appends events in one commit. It returns when the commit is visible and as durable as
  /// `durability` states. It blocks its thread, as `Store.write` does, whose errors it throws too.
  ///
  /// Several events are appended all or none. If the stream has all of them already, by their ids,
  /// it appends nothing and returns their revisions, whatever revision is expected.
  /// O(events · log n).
  ///
  /// - Throws: `wrongExpectedRevision`, whose `current` is the stream's revision; `conflict` if
  ///   the stream has some of the events, or has them in another order; `invalidInput` without
  ///   events, with two events of one id, or with metadata that is not JSON; `tooLarge`.
  @discardableResult
  public func append(
    _ events: NewEvent..., expecting expected: ExpectedRevision = .any,
    durability: Durability? = nil
  ) throws -> Appended {
    try append(contentsOf: events, expecting: expected, durability: durability)
  }

  /// Appends events in one commit, as the variant for single events does.
  @discardableResult
  public func append(
    contentsOf events: [NewEvent], expecting expected: ExpectedRevision = .any,
    durability: Durability? = nil
  ) throws -> Appended {
    let new = try NewEvents(events, to: name)
    return try store.writeOnAnyThread(durability: durability) { [name, names] tx in
      try StreamWriter(name, names, in: tx).append(new, expecting: expected)
    }.value
  }

  // MARK: - Reading the newest commit

  /// The revision of the newest event; nil if the stream has none. O(log n).
  public var revision: UInt64? { get throws { try read { try $0.revision } } }

  /// The state of the stream. O(log n).
  public func info() throws -> StreamInfo { try read { try $0.info() } }

  /// The events from a revision on, at most `limit` of them. O(log n + events read).
  public func events(from first: UInt64 = 0, limit: Int = .max) throws -> [RecordedEvent] {
    try read { try $0.events(from: first, limit: limit) }
  }

  /// The events down from a revision, newest first, at most `limit` of them; nil stands for the
  /// newest event. O(log n + events read).
  public func eventsBackward(
    from last: UInt64? = nil, limit: Int = .max
  ) throws -> [RecordedEvent] {
    try read { try $0.eventsBackward(from: last, limit: limit) }
  }

  private func read<R>(_ body: (StreamReader<Snapshot>) throws -> R) throws -> R {
    try store.readingNewest { try body(StreamReader(name: name, source: $0, names: names)) }
  }

  /// The events from a revision on, and then each new one.
  ///
  ///     for try await event in order.subscribe(from: next) { next = event.revision + 1 }
  public func subscribe(from first: UInt64 = 0) -> EventSubscription {
    EventSubscription(store: store, bucket: names.events.name, origin: .stream(name, from: first))
  }

  // MARK: - Truncation

  /// Deletes the events below a revision, in one commit. Revisions of later events stay, and no
  /// revision is used again. Earlier commits still show the deleted events.
  /// O(events deleted · log n).
  /// - Returns: The number of events deleted.
  @discardableResult
  public func truncate(before revision: UInt64) throws -> Int {
    try store.write { try StreamWriter(name, names, in: $0).truncate(before: revision) }.value
  }

  /// Deletes all events, in one commit: the stream is absent until the next append, whose revision
  /// follows that of the last deleted event. O(events deleted · log n).
  /// - Returns: The number of events deleted.
  @discardableResult
  public func delete() throws -> Int {
    try store.write { try StreamWriter(name, names, in: $0).delete() }.value
  }

  /// Sets the number of newest events to keep, and deletes the others, in one commit; nil keeps
  /// all. Appends then delete the events beyond it in the same commit.
  /// - Throws: `invalidInput` for 0.
  public func setMaxCount(_ maxCount: UInt64?) throws {
    try store.write { try StreamWriter(name, names, in: $0).setMaxCount(maxCount) }
  }
}

/// The events of a category, or of all streams, in a store.
public struct EventCategory: Sendable {
  /// The category; nil for all streams.
  public let category: String?
  let store: Store
  let bucket: String

  /// The number of events. O(log n).
  public var count: Int { get throws { try read { try $0.count } } }

  /// The events after a position, at most `limit` of them; nil stands for the beginning.
  /// O(log n + events read · log n).
  public func events(
    after position: EventPosition? = nil, limit: Int = .max
  ) throws -> [RecordedEvent] {
    try read { try $0.events(after: position, limit: limit) }
  }

  /// The events before a position, newest first, at most `limit` of them; nil stands for the end.
  /// O(log n + events read · log n).
  public func eventsBackward(
    before position: EventPosition? = nil, limit: Int = .max
  ) throws -> [RecordedEvent] {
    try read { try $0.eventsBackward(before: position, limit: limit) }
  }

  private func read<R>(_ body: (CategoryReader<Snapshot>) throws -> R) throws -> R {
    try store.readingNewest {
      try body(CategoryReader(category: category, source: $0, names: StreamNames.of(bucket)))
    }
  }

  /// The events after a position, and then each new one; nil stands for the beginning.
  public func subscribe(after position: EventPosition? = nil) -> EventSubscription {
    EventSubscription(
      store: store, bucket: bucket, origin: .category(category, after: position))
  }
}

extension Store {
  /// A stream of events. O(1).
  /// - Parameters:
  ///   - name: The stream's name: 1 to 255 bytes, no zero byte, no “$” at the beginning.
  ///   - bucket: The bucket of the events.
  public func stream(_ name: String, in bucket: String = "events") -> EventStream {
    EventStream(name: name, store: self, names: StreamNames.of(bucket))
  }

  /// The events of all streams whose names begin with a category and a hyphen, or are the category.
  public func category(_ category: String, in bucket: String = "events") -> EventCategory {
    EventCategory(category: category, store: self, bucket: bucket)
  }

  /// The events of all streams of a bucket, in the order of their appending.
  public func allEvents(in bucket: String = "events") -> EventCategory {
    EventCategory(category: nil, store: self, bucket: bucket)
  }
}
