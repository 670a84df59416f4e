// Reads one stream in a snapshot or a transaction.

public import TreeRing
internal import TreeRingLog

/// The state of a stream.
public struct StreamInfo: Hashable, Sendable {
  /// The stream's name.
  public let name: String
  /// The revision of its newest event; nil if it has none.
  public let revision: UInt64?
  /// The revision of its oldest event; nil if it has none.
  public let firstRevision: UInt64?
  /// The number of its events.
  public let count: Int
  /// The number of events that it keeps at most; nil if it keeps all.
  public let maxCount: UInt64?
  /// The revision of its next event. It is never less than before, also after a deletion.
  public let nextRevision: UInt64
}

/// A stream as of a snapshot, or in a transaction with that transaction's own writes.
public struct StreamReader<Source: Readable> {
  /// The stream's name.
  public let name: String
  let source: Source
  let names: StreamNames

  /// The revision of the newest event; nil if the stream has none. O(log n).
  /// - Throws: `invalidInput` if a row that is no event stands among those of the stream, or the
  ///   stream's name is not allowed.
  public var revision: UInt64? {
    get throws(TreeRingError) {
      try StreamNames.check(name)
      return try newestRevision
    }
  }

  /// The revision of the newest event of a stream whose name is allowed.
  var newestRevision: UInt64? {
    get throws(TreeRingError) {
      var revision: UInt64?
      var stranger: Key?
      try EventKey.withBounds(of: name) { (lower, upper) throws(TreeRingError) in
        try source.withLastKey(in: names.events.name, from: lower, to: upper) { key in
          // The last key of the range is at or behind the first, so it begins with the stream's
          // name.
          if key.count == lower.count { revision = EventKey(key)?.revision }
          if revision == nil { stranger = Key(bytes: key) }
        }
      }
      if let stranger {
        throw TreeRingError(
          .invalidInput,
          "The bucket \(names.events.name) has a row behind the stream \(name) that is no event, "
            + "with the key \(JSONScanner.quoted(stranger.description)). Delete it, and keep other "
            + "rows in other buckets.")
      }
      return revision
    }
  }

  /// The state of the stream. O(log n).
  public func info() throws -> StreamInfo {
    let newest = try revision
    let settings = try settings()
    var first: UInt64?
    if newest != nil {
      try forEach { event in
        first = event.revision; return false
      }
    }
    return StreamInfo(
      name: name, revision: newest, firstRevision: first,
      count: try source.count(
        in: names.events, from: EventKey.of(name, 0), to: EventKey.end(of: name)),
      maxCount: settings.maxCount, nextRevision: try Self.next(after: newest, settings, name))
  }

  /// The event of a revision; nil if there is none. O(log n).
  public func event(at revision: UInt64) throws -> RecordedEvent? {
    var found: RecordedEvent?
    try forEach(from: revision) { event in
      if event.revision == revision { found = event }
      return false
    }
    return found
  }

  /// The events from a revision on, at most `limit` of them. O(log n + events read).
  public func events(from first: UInt64 = 0, limit: Int = .max) throws -> [RecordedEvent] {
    var events: [RecordedEvent] = []
    if limit <= 0 { return events }
    try forEach(from: first) { event in
      events.append(event)
      return events.count < limit
    }
    return events
  }

  /// The events down from a revision, newest first, at most `limit` of them; nil stands for the
  /// newest event. O(log n + events read).
  public func eventsBackward(
    from last: UInt64? = nil, limit: Int = .max
  ) throws -> [RecordedEvent] {
    var events: [RecordedEvent] = []
    if limit <= 0 { return events }
    try forEach(to: last ?? .max, reversed: true) { event in
      events.append(event)
      return events.count < limit
    }
    return events
  }

  /// Calls `body` with the events of the revisions from `first` to `last`, the newest first if
  /// `reversed`, until it returns false. O(log n + events read).
  public func forEach(
    from first: UInt64 = 0, to last: UInt64 = .max, reversed: Bool = false,
    _ body: (RecordedEvent) throws -> Bool
  ) throws {
    try StreamNames.check(name)
    if first > last { return }
    let end = last == .max ? EventKey.end(of: name) : EventKey.of(name, last + 1)
    try source.forEachCreated(
      in: names.events.name, from: EventKey.of(name, first), to: end, reversed: reversed
    ) { row, created in
      guard let event = RecordedEvent(row, at: EventPosition(created)) else { return true }
      return try body(event)
    }
  }

  func settings() throws -> StreamSettings {
    guard try source.knows(bucket: names.settings.name) else { return StreamSettings() }
    return try source.get(Key(name), in: names.settings) ?? StreamSettings()
  }

  /// The revision of the next event.
  /// - Throws: `tooLarge` if the stream has the last possible revision.
  static func next(
    after newest: UInt64?, _ settings: StreamSettings, _ name: String
  ) throws(TreeRingError) -> UInt64 {
    guard newest != .max else {
      throw TreeRingError(
        .tooLarge,
        "The stream \(name) has an event of the last possible revision, \(UInt64.max). Append to "
          + "another stream.")
    }
    return max(newest.map { $0 + 1 } ?? 0, settings.next ?? 0)
  }
}

extension StreamReader: Sendable where Source: Sendable {}

extension Readable {
  /// A stream of events. O(1). A stream without events can be read too: it has none.
  /// - Parameters:
  ///   - name: The stream's name: 1 to 255 bytes, no zero byte, no “$” at the beginning.
  ///   - bucket: The bucket of the events.
  public func stream(_ name: String, in bucket: String = "events") -> StreamReader<Self> {
    StreamReader(name: name, source: self, names: StreamNames.of(bucket))
  }

  /// Calls `body` with every stream that has events, in the order of their names' bytes, until it
  /// returns false. O(streams · log n).
  /// - Parameters:
  ///   - bucket: The bucket of the events.
  ///   - prefix: Only streams whose names begin with this.
  ///   - body: Called with each stream.
  public func forEachStream(
    in bucket: String = "events", startingWith prefix: String = "",
    _ body: (StreamInfo) throws -> Bool
  ) throws {
    var next: Key? = Key(prefix)
    while let start = next {
      next = nil
      var name: String?
      try forEachRow(in: bucket, from: start) { row in
        guard row.key.bytes.starts(with: prefix.utf8) else { return false }
        name = row.key.bytes.withUnsafeBytes { bytes in
          EventKey(bytes).map { String(decoding: $0.stream, as: UTF8.self) }
        }
        // A row that is no event is passed one by one.
        next = name.map { EventKey.end(of: $0) } ?? Key(bytes: row.key.bytes + [0])
        return false
      }
      guard let name else { continue }
      if try !body(stream(name, in: bucket).info()) { return }
    }
  }
}
