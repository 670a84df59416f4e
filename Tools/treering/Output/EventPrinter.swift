// Prints events of streams, as a table or as JSON.

import Foundation
import TreeRingLive
import TreeRingStreams

/// Prints events.
final class EventPrinter {
  private let output: Output
  private let table: Table
  private let namesStreams: Bool

  /// - Parameter namesStreams: whether the events may be of several streams.
  init(_ output: Output, namesStreams: Bool) {
    self.output = output
    self.namesStreams = namesStreams
    table = Table(
      output,
      [
        .left("position"), .left("stream"), .right("revision"), .left("type"), .left("metadata"),
        .left("data"),
      ])
  }

  func print(_ event: RecordedEvent) throws {
    if output.isJSON { return try output.object { $0.event(event) } }
    try table.row(
      event.position.description, namesStreams ? event.stream : "", "\(event.revision)", event.type,
      event.metadata.map { JSONText.shown($0) } ?? "", JSONText.shown(event.data))
  }

  func finish() throws { try table.finish() }
}

extension JSONObject {
  /// The members of an event.
  mutating func event(_ event: RecordedEvent) {
    text("stream", event.stream)
    number("revision", event.revision)
    text("position", event.position.description)
    text("type", event.type)
    if let id = event.id { text("id", id.uuidString) }
    content("data", event.data)
    if let metadata = event.metadata { content("metadata", metadata) }
  }

  /// The members of a stream.
  mutating func stream(_ stream: StreamInfo) {
    text("stream", stream.name)
    number("events", stream.count)
    if let first = stream.firstRevision { number("first", first) } else { null("first") }
    if let revision = stream.revision { number("revision", revision) } else { null("revision") }
    if let maxCount = stream.maxCount { number("maxCount", maxCount) }
  }
}
