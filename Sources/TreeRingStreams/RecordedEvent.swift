// Events as they are read.

public import TreeRing
internal import TreeRingLog
public import TreeRingPlatform

/// An event of a stream.
public struct RecordedEvent: Hashable, Sendable {
  /// The stream's name.
  public let stream: String
  /// The position in the stream, from 0.
  public let revision: UInt64
  /// The position among all events of the store.
  public let position: EventPosition
  /// The name of its type; empty if the row was not written by an append.
  public let type: String
  /// The id that it was appended with; nil if it has none.
  public let id: UUID?
  /// The content.
  public let data: [UInt8]
  /// JSON about the event; nil if it has none.
  public let metadata: [UInt8]?

  /// Reads a row of the bucket of events; nil if its key is not that of an event.
  init?(_ row: StoredRow, at position: EventPosition) {
    let key = row.key.bytes.withUnsafeBytes { bytes in
      EventKey(bytes).map { (String(decoding: $0.stream, as: UTF8.self), $0.revision) }
    }
    guard let key else { return nil }
    let envelope = EventEnvelope(row.metadata)
    (stream, revision) = key
    self.position = position
    (type, id, metadata) = (envelope.type, envelope.id, envelope.metadata)
    data = row.object
  }

  /// The event as a value of a type; nil if its type has another name. Reads JSON and the binary
  /// format of rows.
  ///
  ///     if let placed = try event.decode(as: OrderPlaced.self) { count += placed.count }
  ///
  /// - Throws: `DecodingError`.
  public func decode<Event: StreamEvent>(as type: Event.Type) throws -> Event? {
    try decode(by: .json())
  }

  /// The event as a value of a type, decoded by a coder; nil if its type has another name.
  /// - Throws: The errors of the coder.
  public func decode<Event: StreamEvent>(by coder: RowCoder<Event>) throws -> Event? {
    guard type == Event.eventType else { return nil }
    return try data.withUnsafeBytes { try coder.decode($0, coder.version) }
  }
}
