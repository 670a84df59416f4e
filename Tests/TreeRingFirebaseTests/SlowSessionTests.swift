// Slow readers of the system's URL session, which no reader can make wait: requests are cancelled
// before too many bytes wait, and listeners connect again.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingFirebase
@testable import TreeRingHTTP

/// A gate at which a reader waits until a test opens it.
private final class Gate: Sendable {
  private let isOpen = Mutex(false)
  func open() { isOpen.withLock { $0 = true } }
  func pass() async {
    while !isOpen.withLock(\.self) { try? await Task.sleep(for: .milliseconds(1)) }
  }
}

@Suite struct SlowSessionTests {
  @Test func anAnswerEndsWithAnErrorWhenTooManyBytesWaitForItsReader() async throws {
    let (limit, socket) = (100_000, FakeSocket())
    let sent = Mutex<Int?>(nil)
    // The server sends until the client closes: without a pause at first, and then slowly enough
    // for the session's own queue, which carries out the cancelling.
    #expect(
      Platform.startThread {
        guard let connection = socket.accept(), connection.head() != nil else { return }
        let piece = String(repeating: "x", count: 10_000)
        var count = 0
        connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while count < 1 << 30, connection.write(piece) {
          count += piece.utf8.count
          if count > 1 << 25 { usleep(1_000) }
        }
        sent.withLock { $0 = count }
      } == 0)
    let url = try #require(URL(string: "http://127.0.0.1:\(socket.port)/"))
    let request = HTTPRequest(url: url, headers: [:], silence: .seconds(20))
    var answer = SessionTransport(limit: limit).send(request).makeAsyncIterator()
    guard case .head(200, _)? = try await answer.next() else {
      Issue.record("The answer has no head.")
      return
    }
    for _ in 0..<20_000 where sent.withLock(\.self) == nil {
      try await Task.sleep(for: .milliseconds(1))
    }
    let total = sent.withLock { $0 ?? .max }
    #expect(total < 1 << 30)
    var count = 0
    await #expect(throws: ConnectionLost.self) {
      while let piece = try await answer.next() {
        if case .bytes(let bytes) = piece { count += bytes.count }
      }
    }
    // A piece of the URL session is at most the buffer of its library.
    #expect(count > limit && count < limit + (1 << 20), "\(count)")
    socket.end()
  }

  @Test func aPipeWithoutAWaitingWriterEndsOnceAndTakesNothingMore() async throws {
    let pipe = AnswerPipe(whenClosed: {})
    let piece = HTTPAnswer.bytes([1, 2, 3])
    #expect(pipe.offer(piece, limit: 6) && pipe.offer(piece, limit: 6))
    #expect(!pipe.offer(piece, limit: 6))
    #expect(!pipe.offer(piece, limit: 6))
    pipe.finish()
    var pieces = pipe.stream.makeAsyncIterator()
    for _ in 0..<3 { #expect(try await pieces.next() == piece) }
    await #expect(throws: ConnectionLost.self) { try await pieces.next() }
  }

  @Test func aListenerThatFellBehindConnectsAgainAndLosesNothing() async throws {
    let server = FakeFirebase()
    let transport = SessionTransport(limit: 20_000)
    let client = FirebaseClient(
      try FirebaseAddress(server.url("rooms/r1")), FirebaseStage.options(transport: transport))
    let gate = Gate()
    let trees = Mutex<[FirebaseNode]>([])
    let stream = Task {
      await client.follow([]) { event in
        switch event {
        case .opened(let node): trees.withLock { $0.append(node) }
        case .changed(let changes):
          await gate.pass()
          trees.withLock { trees in
            for change in changes { trees[trees.count - 1].replace(change.path, by: change.node) }
          }
        case .requested, .lost: break
        }
      }
    }
    func wait(for reason: String, until condition: () -> Bool) async throws {
      for _ in 0..<20_000 where !condition() { try await Task.sleep(for: .milliseconds(1)) }
      #expect(condition(), "\(reason) did not happen")
    }
    try await wait(for: "the first state") { trees.withLock { !$0.isEmpty } }
    let (path, text) = (FirebaseStage.location, String(repeating: "x", count: 100))
    var last = 0
    // Of a thousand events of 150 bytes, some hundred may wait.
    while server.streamCount > 0, last < 100_000 {
      last += 1
      server.put(.leaf(.text("\(text)\(last)")), at: path + ["k\(last % 50)"])
      if last % 1_000 == 0 { try await Task.sleep(for: .milliseconds(20)) }
    }
    #expect(server.streamCount == 0 && last < 100_000)
    #expect(server.requests.count == 1)
    gate.open()
    server.put(.leaf(.number(1)), at: path + ["after"])
    try await wait(for: "the whole data") {
      let tree = trees.withLock(\.last)
      return tree?["after"].number == 1 && tree?["k\(last % 50)"].text == "\(text)\(last)"
    }
    #expect(server.requests.count == 2 && server.flaws.isEmpty)
    stream.cancel()
    #expect(await stream.value == nil)
    server.end()
  }
}
