// A parser of Server-Sent Events (WHATWG HTML, section 9.2), fed with bytes in any split.
//
// Lines end with CR, LF or both. A line is a field, or a comment if it begins with a colon; an
// empty line ends the event. Fields other than `event` and `data` have no meaning here. An event
// that the stream's end interrupts does not happen. Unlike a browser, the parser refuses bytes that
// are not UTF-8, and events that exceed a limit.

/// An event of a stream.
struct ServerEvent: Hashable, Sendable {
  /// The name; empty if the event has none.
  var name: String
  /// The data: its lines, joined by line feeds.
  var data: [UInt8]
}

/// The state of the parser between two pieces.
struct EventStreamParser {
  /// The greatest size of an event, in bytes.
  let limit: Int
  private var line: [UInt8] = []
  private var name: [UInt8] = []
  private var data: [UInt8] = []
  private var hasData = false
  private var isFirstLine = true
  /// Whether the last byte was CR, so that a LF belongs to it.
  private var followsReturn = false

  init(limit: Int) { self.limit = limit }

  /// Takes the next bytes and returns the events that they complete. O(bytes).
  /// - Throws: `tooLarge` and `malformed`; the parser must not be used afterwards.
  mutating func take(_ bytes: some Collection<UInt8>) throws(FirebaseError) -> [ServerEvent] {
    var events: [ServerEvent] = []
    for byte in bytes {
      defer { followsReturn = byte == 0x0D }
      if byte == 0x0A, followsReturn { continue }
      if byte == 0x0A || byte == 0x0D {
        if let event = try endLine() { events.append(event) }
      } else {
        line.append(byte)
        if line.count + data.count > limit {
          throw FirebaseError(
            .tooLarge,
            "An event is larger than \(limit) bytes. Listen to a smaller part, or raise "
              + "FirebaseOptions.largestMessage.")
        }
      }
    }
    return events
  }

  /// Ends the line; returns the event that it ends.
  private mutating func endLine() throws(FirebaseError) -> ServerEvent? {
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

  private mutating func endEvent() throws(FirebaseError) -> ServerEvent? {
    defer {
      name = []
      data = []
      hasData = false
    }
    if name.isEmpty, !hasData { return nil }
    guard hasData else {
      throw FirebaseError(.malformed, "An event of the stream has a name and no data.")
    }
    guard let text = String(validating: name, as: UTF8.self),
      String(validating: data, as: UTF8.self) != nil
    else {
      throw FirebaseError(.malformed, "An event of the stream is not UTF-8.")
    }
    return ServerEvent(name: text, data: data)
  }
}
