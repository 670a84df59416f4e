// Answers that are refused, redirected, malformed or missing, and tokens that expire.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingCollections
@testable import TreeRingFirebase
@testable import TreeRingHTTP

@Suite struct FaultTests {
  /// The code of the error with which a load ends.
  private func code(
    _ mode: LoadingMode = .live, options: FirebaseOptions = FirebaseStage.options(),
    _ fault: @escaping @Sendable (FakeRequest) -> FakeFault?
  ) async throws -> FirebaseError.Code? {
    let stage = try FirebaseStage(
      server: FakeFirebase(fault: fault), mode: mode, options: options)
    stage.put("a", .number(1))
    let outcome = await stage.collection.load()
    await stage.end()
    let error = outcome.error as? FirebaseError
    if let error {
      #expect(error.location?.hasSuffix("/rooms/r1.json") == true)
      #expect(!"\(error)".contains("secret"))
    }
    return error?.code
  }

  static let modes: [LoadingMode] = [.live, .paged(batchSize: 2)]

  @Test(arguments: modes) func refusalsAreTypedErrors(mode: LoadingMode) async throws {
    #expect(try await code(mode) { _ in .status(400, "Index not defined") } == .refused)
    #expect(try await code(mode) { _ in .status(404, "") } == .refused)
    #expect(try await code(mode) { _ in .status(403, "Permission denied") } == .permissionDenied)
    #expect(try await code(mode) { _ in .status(401, "Permission denied") } == .permissionDenied)
    #expect(try await code(mode) { _ in .contentType("text/html") } == .malformed)
    #expect(try await code(mode) { _ in .redirect(nil) } == .badRedirect)
    let few = FirebaseStage.options(listenAttempts: 3, pageAttempts: 3)
    #expect(try await code(mode, options: few) { _ in .status(503, "busy") } == .unavailable)
    #expect(try await code(mode, options: few) { _ in .drop(after: 3) } == .unreachable)
    let small = FirebaseStage.options(largestMessage: 4)
    #expect(try await code(mode, options: small) { _ in nil } == .tooLarge)
  }

  @Test(arguments: modes) func faultsThatPassAreRepeated(mode: LoadingMode) async throws {
    for status in [408, 429, 500, 502, 503] {
      #expect(
        try await code(mode) { $0.number < 3 ? .status(status, "later") : nil } == nil,
        "\(status)")
    }
  }

  @Test(arguments: [
    "event: put\ndata: {\n\n", "event: put\ndata: {\"path\": \"/\"}\n\n",
    "event: patch\ndata: {\"path\": \"/\", \"data\": 1}\n\n", "event: put\n\n",
    "event: put\ndata: {\"path\": \"/a.b\", \"data\": 1}\n\n",
    "event: put\ndata: {\"path\": \"/a\", \"data\": 1e999}\n\n",
  ]) func aMalformedEventEndsTheListenerAndLoadingAgainRepairs(text: String) async throws {
    for isFirst in [false, true] {
      let server = FakeFirebase(fault: { request in
        isFirst && request.number == 0 ? .onlyText(text) : nil
      })
      let stage = try FirebaseStage(server: server)
      stage.put("a", .number(1))
      let outcome = await stage.collection.load()
      var error = outcome.error
      if !isFirst {
        server.send(text)
        await stage.wait(for: "the error") { !stage.observer.failures.isEmpty }
        error = stage.observer.failures.first
        #expect(outcome.error == nil && stage.collection.count == 1)
      }
      #expect((error as? FirebaseError)?.code == .malformed)
      stage.put("b", .number(2))
      #expect(await stage.collection.load().error == nil)
      try await stage.settle()
      await stage.end()
    }
  }

  @Test func aStreamMustBeginWithTheWholeData() async throws {
    let texts = [
      "event: put\ndata: {\"path\": \"/a\", \"data\": 1}\n\n",
      "event: patch\ndata: {\"path\": \"/\", \"data\": {\"a\": 1}}\n\n",
    ]
    for text in texts { #expect(try await code { _ in .onlyText(text) } == .malformed) }
  }

  @Test func unknownEventsAndCommentsHaveNoMeaning() async throws {
    let text = ": hello\n\nevent: rules_debug\ndata: anything\n\nevent: keep-alive\ndata: null\n\n"
    let server = FakeFirebase(piece: 1, fault: { _ in .text(text) })
    let stage = try FirebaseStage(server: server)
    await stage.collection.load()
    stage.put("a", .number(1))
    try await stage.settle()
    await stage.end()
  }

  @Test func aCancelledStreamEndsTheListenerWithTheServersReason() async throws {
    let stage = try FirebaseStage(server: FakeFirebase())
    stage.put("a", .number(1))
    await stage.collection.load()
    stage.server.endStreams("event: cancel\ndata: \"Permission denied\"\n\n")
    await stage.wait(for: "the error") { !stage.observer.failures.isEmpty }
    let error = stage.observer.failures.first as? FirebaseError
    #expect(error?.code == .cancelled && error?.serverText == "Permission denied")
    #expect(stage.collection.count == 1)
    stage.put("b", .number(2))
    await stage.collection.load()
    try await stage.settle()
    await stage.end()
  }

  @Test(arguments: modes) func redirectsAreFollowedWithTheCredential(mode: LoadingMode) async throws
  {
    for number in 0..<4 {
      let isHeader = number % 2 == 0
      let transport: any FirebaseTransport =
        number < 2 ? StandardTransport(limit: 1 << 20) : SessionTransport(limit: 1 << 20)
      let target = FakeFirebase()
      target.token = "secret"
      let url = target.url("rooms/r1.json").absoluteString
      let first = FakeFirebase(fault: { request in
        let query = request.parameters.filter { $0.name != "auth" }
          .map { "\($0.name)=\($0.value.replacing("$", with: "%24").replacing("\"", with: "%22"))" }
        return .redirect(query.isEmpty ? url : url + "?" + query.joined(separator: "&"))
      })
      let token: FirebaseToken = isHeader ? .accessToken("secret") : .idToken("secret")
      let source = try FirebaseSource(
        first.url("rooms/r1"),
        options: FirebaseStage.options(transport: transport, token: { _ in token }))
      target.put(.leaf(.number(1)), at: FirebaseStage.location + ["a"])
      let collection = LiveCollection(source: source, options: CollectionOptions(mode: mode)) {
        Item($0)
      }
      #expect(await collection.load().error == nil)
      #expect(collection.shown.map(\.identifier) == ["a"])
      #expect(first.flaws.isEmpty && target.flaws.isEmpty)
      collection.stop()
      first.end()
      target.end()
    }
  }

  @Test func redirectsInACircleAreAnError() async throws {
    #expect(try await code { _ in .redirect("/rooms/r1.json") } == .badRedirect)
    let address = try FirebaseAddress(#require(URL(string: "https://a.example/x")))
    let url = try #require(address.url([]))
    #expect(throws: FirebaseError.self) {
      try address.redirect(from: url, to: "http://b.example/x.json", [])
    }
  }

  @Test func aSilentServerCountsAsLost() async throws {
    let options = FirebaseStage.options(silence: .milliseconds(300))
    #expect(try await code(options: options) { $0.number == 0 ? .silence : nil } == nil)
  }

  @Test func stoppingWhileTheServerIsSilentClosesTheConnection() async throws {
    let server = FakeFirebase(fault: { _ in .silence })
    for mode in Self.modes {
      let stage = try FirebaseStage(server: server, mode: mode)
      let count = server.requests.count
      stage.collection.startLoading()
      await stage.wait(for: "the request") { server.requests.count > count }
      stage.collection.stop()
      await stage.wait(for: "the end") { server.connectionCount == 0 }
      #expect(stage.observer.outcomes.count == 1)
    }
    server.end()
  }

  @Test func aCollectionThatEndsLeavesNothingBehind() async throws {
    for mode in Self.modes {
      weak var transport: SessionTransport?
      weak var collection: LiveCollection<Item>?
      let server = FakeFirebase()
      server.put(.leaf(.number(1)), at: FirebaseStage.location + ["a"])
      do {
        let session = SessionTransport(limit: 1 << 20)
        let source = try FirebaseSource(
          server.url("rooms/r1"), options: FirebaseStage.options(transport: session))
        let items = LiveCollection(source: source, options: CollectionOptions(mode: mode)) {
          Item($0)
        }
        await items.load()
        #expect(items.count == 1)
        (transport, collection) = (session, items)
      }
      for _ in 0..<10_000 where transport != nil || server.connectionCount > 0 {
        try await Task.sleep(for: .milliseconds(1))
      }
      #expect(collection == nil && transport == nil && server.connectionCount == 0)
      server.end()
    }
  }
}
