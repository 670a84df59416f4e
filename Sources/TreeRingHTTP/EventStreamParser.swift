// A parser of Server-Sent Events (WHATWG HTML, section 9.2), fed with bytes in any split.
//
// Lines end with CR, LF or both. A line is a field, or a comment if it begins with a colon; an
// empty line ends the event. Fields other than `event` and `data` have no meaning here. An event
// that the stream's end interrupts does not happen. Unlike a browser, the parser refuses bytes that
// are not UTF-8, and events that exceed a limit.

/// An event of a stream.
package struct ServerEvent: Hashable, Sendable {
  /// The name; empty if the event has none.
  package var name: String
  /// The data: its lines, joined by line feeds.
  package var data: [UInt8]

  package init(name: String, data: [UInt8]) {
    self.name = name
    self.data = data
  }
}

/// A flaw of a stream of events.
package enum EventStreamFlaw: Error, Hashable {
  /// An event is larger than so many bytes.
  case tooLarge(limit: Int)
  /// The bytes are no events; the reason in a sentence.
  case malformed(String)
}

/// The state of the parser between two pieces.
package struct EventStreamParser {
  /// The greatest size of an event, in bytes.
  package let limit: Int
  private var line: [UInt8] = []
  private var name: [UInt8] = []
  private var data: [UInt8] = []
  private var hasData = false
  private var isFirstLine = true
  /// Whether the last byte was CR, so that a LF belongs to it.
  private var followsReturn = false

  package init(limit: Int) { self.limit = limit }

  /// Takes the next bytes and returns the events that they complete. O(bytes).
  /// - Throws: `tooLarge` and `malformed`; the parser must not be used afterwards.
  package mutating func take(
    _ bytes: some Collection<UInt8>
  ) throws(EventStreamFlaw) -> [ServerEvent] {
    var events: [ServerEvent] = []
    for byte in bytes {
      defer { followsReturn = byte == 0x0D }
      if byte == 0x0A, followsReturn { continue }
      if byte == 0x0A || byte == 0x0D {
        if let event = try endLine() { events.append(event) }
      } else {
        line.append(byte)
        if line.count + data.count > limit {
          throw .tooLarge(limit: limit)
        }
      }
    }
    return events
  }

  /// Ends the line; returns the event that it ends.
  private mutating func endLine() throws(EventStreamFlaw) -> ServerEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    if isFirstLine {
      isFirstLine = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    if line.isEmpty { return try endEvent() }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      take(field: line[...], value: [])
      return nil
    }
    var value = line[(colon + 1)...]
    if value.first == 0x20 { value.removeFirst() }
    take(field: line[..<colon], value: value)
    return nil
  }

  private mutating func take(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
    if field.elementsEqual("event".utf8) {
      name = Array(value)
    } else if field.elementsEqual("data".utf8) {
      if hasData { data.append(0x0A) }
      data += value
      hasData = true
    }
  }

  private mutating func endEvent() throws(EventStreamFlaw) -> ServerEvent? {
    defer {
      name = []
      data = []
      hasData = false
    }
    if name.isEmpty, !hasData { return nil }
    guard hasData else {
      throw .malformed("An event of the stream has a name and no data.")
    }
    guard let text = String(validating: name, as: UTF8.self),
      String(validating: data, as: UTF8.self) != nil
    else {
      throw .malformed("An event of the stream is not UTF-8.")
    }
    return ServerEvent(name: text, data: data)
  }
}
