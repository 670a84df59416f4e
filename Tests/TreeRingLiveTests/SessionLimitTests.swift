import TestSupport
import Testing
import TreeRing
import TreeRingLog
import TreeRingMappings

@testable import TreeRingLive

@Suite("Limits and mistakes of live windows")
struct SessionLimitTests {
  private func code(_ message: [String: JSONValue]?) -> String? {
    message?["error"]?.members?["code"]?.string
  }

  private func board() throws -> LiveBoard {
    var board = try LiveBoard(seed: 21)
    for _ in 0..<20 { try board.commit() }
    return board
  }

  @Test("A session has so many windows, and takes no message while so many answers wait")
  func bounds() throws {
    var limits = LiveLimits()
    (limits.windows, limits.replies, limits.groups) = (3, 4, 2)
    let board = try board()
    let session = LiveService(board.store, limits: limits).session(for: LiveAccess(.read))
    for id in 1...3 {
      session.receive("{\"open\":\(id),\"index\":\"board\",\"groups\":[\"a\",\"b\"]}")
    }
    session.receive("{\"open\":4,\"index\":\"board\",\"groups\":[]}")
    #expect(code(try session.next()) == "tooLarge")
    session.receive("{\"open\":1,\"index\":\"board\"}")
    #expect(code(try session.next()) == "alreadyExists")
    for _ in 0..<3 { #expect(try session.next()?["reset"] != nil) }
    session.receive("{\"id\":3,\"close\":true}")
    #expect(try session.next()?["closed"] == .bool(true))
    session.receive("{\"open\":5,\"index\":\"board\",\"groups\":[\"a\",\"b\",\"c\"]}")
    #expect(code(try session.next()) == "tooLarge")
    // A filter chooses the groups: the window is refused once it shows too many.
    session.receive("{\"open\":6,\"index\":\"board\"}")
    let refused = try session.next()
    #expect(code(refused) == "tooLarge" && refused?["closed"] == .bool(true))
    #expect(session.windowCount == 2)
    for _ in 0..<4 { session.receive("{\"ping\":1}") }
    #expect(!session.acceptsInput)
    _ = session.nextMessage()
    #expect(session.acceptsInput)
  }

  @Test("A position of another request leads to a whole window, and so does a lost commit")
  func positions() throws {
    var board = try board()
    let service = LiveService(board.store)
    func open(_ more: String) throws -> [String: JSONValue]? {
      let session = service.session(for: LiveAccess(.read))
      session.receive("{\"open\":1,\"index\":\"board\",\"groups\":[\"a\",\"b\"]\(more)}")
      return try session.next()
    }
    let first = try open(",\"ranges\":{\"a\":\"fixed:2\"}")
    let position = try #require(first?["position"]?.string)
    try board.commit()
    let same = ",\"ranges\":{\"a\":\"fixed:2\"},\"from\":\"\(position)\""
    #expect(try open(same)?["reset"] == nil)
    for other in [
      "\"ranges\":{\"a\":\"fixed:3\"}", "\"ranges\":{\"a\":\"fixed:2\"},\"reversed\":[\"b\"]",
      "\"ranges\":{\"a\":\"fixed:2\"},\"fields\":[\"order\"]", "\"ranges\":{}",
      "\"ranges\":{\"a\":\"fixed:2\"},\"hideEmpty\":true",
    ] {
      let message = try open(",\(other),\"from\":\"\(position)\"")
      #expect(message?["reset"]?.string == "otherRequest", "\(other)")
    }
    for bad in ["1", "1.2", "x.1.2", "1.1.zz", "1.1.1.!!", "1.1.1.e30", ".."] {
      #expect(code(try open(",\"from\":\"\(bad)\"")) == "invalidInput", "\(bad)")
    }
    _ = try board.store.compact(to: .dropHistory)
    #expect(try open(",\"from\":3")?["reset"]?.string == "beyondHorizon")
  }

  @Test("An index that is removed closes its windows; a wrong request leaves a window as it was")
  func errors() throws {
    let board = try board()
    let session = LiveService(board.store).session(for: LiveAccess(.read))
    session.receive("{\"open\":1,\"index\":\"board\",\"groups\":[\"a\"]}")
    _ = try session.next()
    for (request, expected) in [
      ("{\"id\":1,\"seek\":99999}", "notFound"), ("{\"id\":1,\"seek\":\"tag:x\"}", "notFound"),
      ("{\"id\":1,\"grow\":{\"a\":1}}", "invalidInput"), ("{\"id\":2,\"live\":true}", "notFound"),
      ("{\"id\":1,\"seek\":\"-99999\"}", "notFound"), ("{\"id\":1}", "invalidInput"),
      ("{\"open\":2,\"index\":\"none\"}", "notFound"), ("[]", "invalidInput"),
      ("{\"id\":1,\"live\":true,\"live\":true}", "invalidInput"), ("\u{7}", "invalidInput"),
    ] {
      session.receive(request)
      #expect(code(try session.next()) == expected, "\(request)")
      #expect(try session.next() == nil)
    }
    try board.write("{\"ops\":[[\"put\",\"rows\",\"new\",{\"group\":\"a\",\"order\":1}]]}")
    #expect(try session.next()?["rows"] != nil)
    try board.store.removeIndex("board")
    let closed = try session.next()
    #expect(code(closed) == "notFound" && closed?["closed"] == .bool(true))
    #expect(session.windowCount == 0 && !session.mayBeDue)
  }

  @Test(
    "A window closes when its index is defined anew over a bucket that the client may not see",
    arguments: [LiveLimits().pieceByteCount, 64])
  func definedAnewBeyondRights(pieceByteCount: Int) throws {
    var limits = LiveLimits()
    limits.pieceByteCount = pieceByteCount
    let board = try board()
    let access = LiveAccess(.read, buckets: ["rows"])
    let session = LiveService(board.store, limits: limits).session(for: access)
    session.receive("{\"open\":1,\"index\":\"board\"}")
    // With small pieces the window has not been sent whole.
    #expect(try session.next()?["more"] == (pieceByteCount < 100 ? .bool(true) : nil))
    try board.write("{\"ops\":[[\"put\",\"secret\",\"s\",{\"group\":\"a\",\"order\":1}]]}")
    try board.store.define(
      "board", try FieldIndex(bucket: "secret", group: "group", order: [.init("order")]))
    let closed = try session.next()
    #expect(code(closed) == "notAllowed" && closed?["closed"] == .bool(true))
    #expect(try session.next() == nil)
    #expect(session.windowCount == 0 && !session.hasMore)
    session.receive("{\"open\":2,\"index\":\"board\"}")
    #expect(code(try session.next()) == "notAllowed")
  }

  @Test("An index that is removed amid a whole window closes it with one answer")
  func removedAmidWindow() throws {
    var limits = LiveLimits()
    limits.pieceByteCount = 64
    let board = try board()
    let session = LiveService(board.store, limits: limits).session(for: LiveAccess(.read))
    session.receive("{\"open\":1,\"index\":\"board\"}")
    #expect(try session.next()?["more"] == .bool(true))
    try board.store.removeIndex("board")
    let closed = try session.next()
    #expect(code(closed) == "notFound" && closed?["closed"] == .bool(true))
    #expect(try session.next() == nil)
    #expect(!session.hasMore)
  }
}
