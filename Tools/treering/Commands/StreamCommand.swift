// `treering stream`: lists streams of events, reads them and appends to them.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLive
import TreeRingLog
import TreeRingStreams

struct StreamCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stream", abstract: "Lists streams of events, reads them and appends to them.",
    subcommands: [StreamListCommand.self, StreamReadCommand.self, StreamAppendCommand.self])
}

/// The bucket of the events.
struct EventArguments: ParsableArguments {
  @Option(help: "The bucket of the events.", transform: NegativeNumber.shown)
  var bucket = "events"
}

struct StreamListCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the streams that have events, or their categories.")

  @OptionGroup var arguments: StoreArguments
  @OptionGroup var events: EventArguments
  @Option(help: "Only streams whose names begin with this.", transform: NegativeNumber.shown)
  var prefix: String?
  @Flag(help: "List categories instead of streams.") var categories = false
  @Option(help: "List at most this many.") var limit: Int?
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?

  func run(_ output: Output) throws {
    let snapshot = try openForReading().snapshot(at: at)
    guard limit ?? 1 > 0 else { return }
    if categories { return try listCategories(of: snapshot, output) }
    let table = Table(
      output,
      [
        .left("stream"), .right("events"), .right("first"), .right("revision"), .right("limit"),
      ])
    var count = 0
    try snapshot.forEachStream(in: events.bucket, startingWith: prefix ?? "") { stream in
      if output.isJSON {
        try output.object { $0.stream(stream) }
      } else {
        try table.row(
          stream.name, "\(stream.count)", stream.firstRevision.map { "\($0)" } ?? "",
          stream.revision.map { "\($0)" } ?? "", stream.maxCount.map { "\($0)" } ?? "")
      }
      count += 1
      return count < limit ?? .max
    }
    try table.finish()
  }

  private func listCategories(of snapshot: Snapshot, _ output: Output) throws {
    let table = Table(output, [.left("category"), .right("events")])
    let all = try snapshot.categories(in: events.bucket)
    for (name, count) in all.filter({ $0.name.utf8.starts(with: (prefix ?? "").utf8) })
      .prefix(limit ?? .max)
    {
      if output.isJSON {
        try output.object {
          $0.text("category", name)
          $0.number("events", count)
        }
      } else {
        try table.row(name, "\(count)")
      }
    }
    try table.finish()
  }
}

struct StreamReadCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "read",
    abstract: "Prints events of a stream, a category or all streams; exit code 1 without any.")

  @OptionGroup var arguments: StoreArguments
  @OptionGroup var events: EventArguments
  @Argument(
    help: "The stream; by default the events of all streams.", transform: NegativeNumber.shown)
  var stream: String?
  @Option(
    help: "The category whose events to print, instead of a stream.",
    transform: NegativeNumber.shown)
  var category: String?
  @Option(help: "The first revision to print; with --reverse the last one. For a stream.")
  var from: UInt64?
  @Option(
    help: "Only events after this position, COMMIT:OPERATION; with --reverse before it.",
    transform: Self.position)
  var after: EventPosition?
  @Flag(help: "Newest first.") var reverse = false
  @Option(help: "Print at most this many events.") var limit: Int?
  @Option(help: "The point in history to read at.", transform: Point.parse) var at: Point?

  private static func position(_ text: String) throws -> EventPosition {
    guard let position = EventPosition(NegativeNumber.shown(text)) else {
      throw ValidationError("It is not a position. Write COMMIT:OPERATION, such as 17:0.")
    }
    return position
  }

  func validate() throws {
    guard stream == nil || category == nil else {
      throw ValidationError("Name a stream or a category, not both.")
    }
    if stream == nil, from != nil { throw ValidationError("--from needs a stream; use --after.") }
    if stream != nil, after != nil {
      throw ValidationError("--after is not for a stream; use --from.")
    }
  }

  func run(_ output: Output) throws {
    let snapshot = try openForReading().snapshot(at: at)
    let limit = max(limit ?? .max, 0)
    let printer = EventPrinter(output, namesStreams: stream == nil)
    var found = false
    var count = 0
    func print(_ event: RecordedEvent) throws -> Bool {
      try printer.print(event)
      count += 1
      return count < limit
    }
    if let stream {
      let reader = snapshot.stream(stream, in: events.bucket)
      found = try reader.revision != nil
      if limit > 0 {
        try reader.forEach(
          from: reverse ? 0 : from ?? 0, to: reverse ? from ?? .max : .max, reversed: reverse, print
        )
      }
    } else {
      let reader =
        category.map { snapshot.category($0, in: events.bucket) }
        ?? snapshot.allEvents(in: events.bucket)
      found = try reader.count > 0
      if reverse {
        for event in try reader.eventsBackward(before: after, limit: limit) { _ = try print(event) }
      } else if limit > 0 {
        try reader.forEach(after: after, print)
      }
    }
    try printer.finish()
    let what = stream.map { "stream \($0)" } ?? category.map { "category \($0)" } ?? "stream"
    if !found {
      throw Failure(.no, "There is no \(what) with events at commit \(snapshot.commit).")
    }
  }
}

struct StreamAppendCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "append", abstract: "Appends one event to a stream, in one commit.",
    discussion: """
      With --id, repeating the command appends nothing and prints the same revision. Exit code 1 \
      if the stream has not the expected revision.
      """)

  @OptionGroup var arguments: StoreArguments
  @OptionGroup var events: EventArguments
  @Argument(help: "The stream.", transform: NegativeNumber.shown)
  var stream: String
  @Argument(help: "The name of the event's type.", transform: NegativeNumber.shown)
  var type: String
  @Argument(
    help: "The content, JSON or {\"$base64\":\"…\"}. By default standard input.",
    transform: NegativeNumber.shown)
  var data: String?
  @Option(help: "JSON about the event.", transform: NegativeNumber.shown)
  var metadata: String?
  @Option(help: "The event's id, a UUID.", transform: Self.id) var id: UUID?
  @Option(
    help: "The revision that the stream must have, or any, absent or present.",
    transform: Self.revision)
  var expect: ExpectedRevision = .any

  private static func id(_ text: String) throws -> UUID {
    guard let id = UUID(uuidString: NegativeNumber.shown(text)) else {
      throw ValidationError("It is not a UUID.")
    }
    return id
  }

  private static func revision(_ text: String) throws -> ExpectedRevision {
    switch text {
    case "any": return .any
    case "absent": return .absent
    case "present": return .present
    default:
      guard let revision = UInt64(text) else {
        throw ValidationError("It is not a revision. Write a number, or any, absent or present.")
      }
      return .exactly(revision)
    }
  }

  func run(_ output: Output) throws {
    let text = try data.map { Array($0.utf8) } ?? StandardInput.all()
    let event = NewEvent(
      type: type, data: try Typed.content(text, "event"),
      metadata: metadata.map { Array($0.utf8) }, id: id)
    let store = try openForWriting()
    let appended = try store.stream(stream, in: events.bucket)
      .append(event, expecting: expect)
    try store.close()
    if output.isJSON {
      try output.object {
        $0.text("stream", stream)
        $0.number("revision", appended.revision)
        $0.text("position", appended.position.description)
        $0.bool("repeated", appended.isRepeated)
      }
    } else {
      try output.line(
        appended.isRepeated
          ? "The stream has the event already, at revision \(appended.revision)."
          : "Appended revision \(appended.revision) in commit \(appended.position.commit).")
    }
  }
}
