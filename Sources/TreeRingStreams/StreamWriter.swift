// Appends to streams, and truncates them, inside a commit.

public import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

/// A stream in a transaction. Appends to several streams, and writes of other rows, make one
/// commit.
///
///     try store.write { tx in
///       try tx.stream("order-42").append([placed], expecting: .absent)
///       try tx.stream("customer-7").append([ordered])
///     }
public struct StreamWriter {
  /// The stream's name.
  public var name: String { reader.name }
  /// The stream with the writes so far.
  public let reader: StreamReader<Transaction>
  private var tx: Transaction { reader.source }
  private var names: StreamNames { reader.names }

  init(_ name: String, _ names: StreamNames, in tx: Transaction) {
    reader = StreamReader(name: name, source: tx, names: names)
  }

  /// The revision of the newest event; nil if the stream has none. O(log n).
  public var revision: UInt64? { get throws(TreeRingError) { try reader.revision } }

  /// Appends events. If the stream has all of them already, by their ids, it appends nothing and
  /// returns their revisions, whatever revision is expected. O(events · log n).
  ///
  /// - Throws: `wrongExpectedRevision`, whose `current` is the stream's revision; `conflict` if
  ///   the stream has some of the events, or has them in another order; `invalidInput` without
  ///   events, with two events of one id, or with metadata that is not JSON; `tooLarge`.
  @discardableResult
  public func append(
    _ events: [NewEvent], expecting expected: ExpectedRevision = .any
  ) throws -> Appended {
    try append(NewEvents(events, to: name), expecting: expected)
  }

  /// Appends events, as the variant for their content does.
  func append(_ new: NewEvents, expecting expected: ExpectedRevision) throws -> Appended {
    let events = new.events
    try names.define(in: tx)
    if let repeated = try repetition(of: events) { return repeated }
    let newest = try reader.newestRevision
    try expected.check(newest, of: name)
    let settings = try reader.settings()
    let first = try StreamReader<Transaction>.next(after: newest, settings, name)
    guard first <= .max - UInt64(events.count) else { throw tooLong }
    var position = EventPosition(tx.nextStamp)
    var revision = first
    for (event, envelope) in zip(events, new.envelopes) {
      position = EventPosition(tx.nextStamp)
      try tx.put(
        event.data, metadata: envelope, for: EventKey.of(name, revision), in: names.events)
      revision += 1
    }
    try drop(beyond: settings.maxCount, next: revision)
    return Appended(revisions: first...revision - 1, position: position, isRepeated: false)
  }

  private var tooLong: TreeRingError {
    TreeRingError(
      .tooLarge, "The stream \(name) has no revisions left for these events. Use another stream.")
  }

  // MARK: - Repeated appends

  /// The earlier append of these events; nil if the stream has none of their ids.
  private func repetition(of events: [NewEvent]) throws -> Appended? {
    let ids = events.compactMap(\.id)
    if ids.isEmpty { return nil }
    guard Set(ids).count == ids.count else {
      throw TreeRingError(
        .invalidInput, "Two events of one append to \(name) have the same id. Give each its own.")
    }
    for (index, event) in events.enumerated() {
      guard let id = event.id, let known = try self.event(withID: id) else { continue }
      guard known.revision >= UInt64(index) else { throw mixed(known) }
      let first = known.revision - UInt64(index)
      return try repetition(of: events, at: first, of: known)
    }
    return nil
  }

  /// The append of these events at a revision.
  /// - Throws: `conflict` if other events are there.
  private func repetition(
    of events: [NewEvent], at first: UInt64, of known: RecordedEvent
  ) throws -> Appended {
    guard first <= .max - UInt64(events.count) else { throw mixed(known) }
    let last = first + UInt64(events.count - 1)
    var position = known.position
    var next = first
    try reader.forEach(from: first, to: last) { event in
      // Truncation may have removed the first ones.
      guard event.id == events[Int(event.revision - first)].id,
        event.revision == next || next == first
      else { throw mixed(known) }
      (next, position) = (event.revision + 1, event.position)
      return true
    }
    guard next == last + 1 else { throw mixed(known) }
    return Appended(revisions: first...last, position: position, isRepeated: true)
  }

  private func mixed(_ known: RecordedEvent) -> TreeRingError {
    TreeRingError(
      .conflict,
      "The event \(known.id?.uuidString ?? "") is in the stream \(name) already, at revision "
        + "\(known.revision), but not all events of this append are, in this order. Repeat an "
        + "append with the same events, or give new events new ids.",
      current: known.position.commit)
  }

  private func event(withID id: UUID) throws -> RecordedEvent? {
    var found: RecordedEvent?
    try EventIDs(tx, names).forEach(id) { event in
      if event.stream.utf8.elementsEqual(name.utf8) { found = event }
      return found == nil
    }
    return found
  }

  // MARK: - Truncation

  /// Deletes the events below a revision. Revisions of later events stay, and no revision is used
  /// again. Earlier commits still show the deleted events. O(events deleted · log n).
  /// - Returns: The number of events deleted.
  @discardableResult
  public func truncate(before revision: UInt64) throws -> Int {
    let newest = try self.revision
    guard let newest else { return 0 }
    let settings = try reader.settings()
    if revision > newest {
      let next = try StreamReader<Transaction>.next(after: newest, settings, name)
      try put(StreamSettings(maxCount: settings.maxCount, next: next))
      return try tx.deleteAll(
        in: names.events, from: EventKey.of(name, 0), to: EventKey.end(of: name))
    }
    return try tx.deleteAll(
      in: names.events, from: EventKey.of(name, 0), to: EventKey.of(name, revision))
  }

  /// Deletes all events: the stream is absent until the next append, whose revision follows that of
  /// the last deleted event. O(events deleted · log n).
  /// - Returns: The number of events deleted.
  @discardableResult
  public func delete() throws -> Int { try truncate(before: .max) }

  /// Sets the number of newest events to keep, and deletes the others; nil keeps all. Appends then
  /// delete the events beyond it in the same commit.
  /// - Throws: `invalidInput` for 0.
  public func setMaxCount(_ maxCount: UInt64?) throws {
    guard maxCount != 0 else {
      throw TreeRingError(
        .invalidInput, "A stream keeps at least one event; 0 is no limit for \(name). Delete it.")
    }
    let newest = try revision
    let settings = try reader.settings()
    if settings.maxCount == maxCount { return }
    try put(StreamSettings(maxCount: maxCount, next: settings.next))
    guard let newest else { return }
    try drop(
      beyond: maxCount, next: try StreamReader<Transaction>.next(after: newest, settings, name))
  }

  private func put(_ settings: StreamSettings) throws {
    if settings == StreamSettings() {
      try tx.delete(Key(name), in: names.settings)
    } else {
      try tx.put(settings, for: Key(name), in: names.settings)
    }
  }

  /// Deletes the oldest events, so that at most `maxCount` remain.
  private func drop(beyond maxCount: UInt64?, next: UInt64) throws(TreeRingError) {
    guard let maxCount, next > maxCount else { return }
    try tx.deleteAll(
      in: names.events, from: EventKey.of(name, 0), to: EventKey.of(name, next - maxCount))
  }
}

@available(*, unavailable)
extension StreamWriter: Sendable {}

extension Transaction {
  /// A stream of events, to append to and to read. O(1).
  /// - Parameters:
  ///   - name: The stream's name: 1 to 255 bytes, no zero byte, no “$” at the beginning.
  ///   - bucket: The bucket of the events.
  public func stream(_ name: String, in bucket: String = "events") -> StreamWriter {
    StreamWriter(name, StreamNames.of(bucket), in: self)
  }
}
