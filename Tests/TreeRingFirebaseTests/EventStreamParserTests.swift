// Server-Sent Events in any split.

import TestSupport
import Testing

@testable import TreeRingFirebase
@testable import TreeRingHTTP

@Suite struct EventStreamParserTests {
  private func parse(_ pieces: [some Collection<UInt8>], limit: Int = 1000) throws -> [ServerEvent]
  {
    var parser = EventStreamParser(limit: limit)
    var events: [ServerEvent] = []
    for piece in pieces { events += try parser.take(piece) }
    return events
  }

  private static let put = ServerEvent(name: "put", data: Array("1".utf8))

  /// Streams and their events.
  static let examples: [(String, [ServerEvent])] = [
    ("event: put\ndata: 1\n\n", [put]),
    ("event: put\r\ndata: 1\r\n\r\n", [put]),
    ("event: put\rdata: 1\r\r", [put]),
    ("event:put\ndata:1\n\n\n\nevent: put\ndata: 1\n\n", [put, put]),
    ("\u{FEFF}event: put\ndata: 1\n\n", [put]),
    (": hello\nevent: put\nid: 7\nretry: 10\nnonsense\ndata: 1\n:\n\n", [put]),
    ("data: a\ndata\ndata:  b\n\n", [ServerEvent(name: "", data: Array("a\n\n b".utf8))]),
    (
      "event: put\nevent: patch\ndata: ü😀\n\n", [ServerEvent(name: "patch", data: Array("ü😀".utf8))]
    ),
    ("event: put\ndata: 1\n", []),
    ("event: put\ndata: 1\n\nevent: put\ndata: 2", [put]),
    ("", []),
    ("\n\n\r\n", []),
  ]

  @Test(arguments: examples.indices) func everySplitGivesTheSameEvents(index: Int) throws {
    let (text, expected) = Self.examples[index]
    let bytes = Array(text.utf8)
    #expect(try parse(bytes.map { [$0] }) == expected)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
        #expect(try parse(pieces) == expected, "\(text.debugDescription) at \(first), \(second)")
      }
    }
  }

  @Test func anEventWithoutDataIsAnError() {
    let flaw = EventStreamFlaw.malformed("An event of the stream has a name and no data.")
    #expect(throws: flaw) { try parse([Array("event: put\n\n".utf8)]) }
  }

  @Test func bytesThatAreNoTextAreAnError() {
    for bytes: [UInt8] in [
      Array("data: ".utf8) + [0xC3, 0x28, 10, 10], [0x65, 0xFF, 0x3A, 10, 10],
    ] {
      let result = Result { try parse([bytes]) }
      // A field of another name has no meaning, whatever its bytes.
      if bytes[0] == 0x64 { #expect(throws: EventStreamFlaw.self) { try result.get() } }
    }
  }

  @Test func anEventBeyondTheLimitIsAnError() throws {
    let text = "event: put\ndata: " + String(repeating: "x", count: 40)
    #expect(try parse([Array((text + "\n\n").utf8)], limit: 100).count == 1)
    #expect(throws: EventStreamFlaw.tooLarge(limit: 100)) {
      try parse([Array(String(repeating: text + "\n", count: 3).utf8)], limit: 100)
    }
  }

  @Test(arguments: seeds(1...300)) func randomBytesNeverTrap(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let words = [
      "event:", "data:", " ", "put", "patch", "\n", "\r", "{\"path\":", "\"/\"", "}", "null",
    ]
    var parser = EventStreamParser(limit: 200)
    for _ in 0..<100 {
      let piece =
        random.chance(6)
        ? [UInt8.random(in: 0...255, using: &random)] : Array(random.pick(words).utf8)
      guard let events = try? parser.take(piece) else { return }
      for event in events { _ = try? TreeEvent(event) }
    }
  }
}
