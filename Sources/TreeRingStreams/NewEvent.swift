// Events to append, raw and typed.

public import TreeRing
internal import TreeRingLog
public import TreeRingPlatform

/// An event to append to a stream.
public struct NewEvent: Hashable, Sendable {
  /// The name of its type, such as "OrderPlaced": 1 to 255 bytes.
  public var type: String
  /// The content.
  public var data: [UInt8]
  /// JSON about the event, such as its cause; nil for none.
  public var metadata: [UInt8]?
  /// An id that makes the append repeatable: events whose ids are in the stream already are not
  /// appended again. Nil for none, which saves the lookup.
  public var id: UUID?

  /// Creates an event of raw bytes.
  public init(type: String, data: [UInt8], metadata: [UInt8]? = nil, id: UUID? = nil) {
    self.type = type
    self.data = data
    self.metadata = metadata
    self.id = id
  }

  /// Creates an event of a type, as JSON with sorted keys.
  /// - Throws: `EncodingError`.
  public init(_ event: some StreamEvent, metadata: [UInt8]? = nil, id: UUID? = nil) throws {
    try self.init(event, coder: .json(), metadata: metadata, id: id)
  }

  /// Creates an event of a type, encoded by a coder.
  /// - Throws: The errors of the coder.
  public init<Event: StreamEvent>(
    _ event: Event, coder: RowCoder<Event>, metadata: [UInt8]? = nil, id: UUID? = nil
  ) throws {
    self.init(
      type: Event.eventType, data: try coder.encode(event), metadata: metadata, id: id)
  }
}

/// A type whose values are events. Its name is stored with each event.
///
///     struct OrderPlaced: StreamEvent { var item: String, count: Int }
public protocol StreamEvent: Codable, Sendable, SendableMetatype {
  /// The name stored with each event; the type's own name by default. It must not change while
  /// events of the type are kept.
  static var eventType: String { get }
}

extension StreamEvent {
  public static var eventType: String { String(describing: Self.self) }
}
