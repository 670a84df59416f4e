// Readers that are slower than their streams: what waits for them is bounded.

import Foundation
import Testing
import TreeRingPlatform

@testable import TreeRingCollections
@testable import TreeRingFirebase
@testable import TreeRingHTTP

/// A count that another task changes.
private final class Count: Sendable {
  private let state = Mutex(0)
  var value: Int { state.withLock(\.self) }
  func increase() -> Int {
    state.withLock { count in
      count += 1
      return count
    }
  }

  /// Waits until the count is as large, and then no longer grows.
  func settle(atLeast least: Int) async throws {
    let end = ContinuousClock.now + .seconds(120)
    var last = -1
    while value < least || value != last, ContinuousClock.now < end {
      last = value
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}

/// A server that sends events as long as somebody reads.
private struct EndlessTransport: FirebaseTransport {
  let count: Count

  func send(_ request: FirebaseRequest) -> AsyncThrowingStream<FirebaseAnswer, any Error> {
    AsyncThrowingStream { [count] in
      switch count.increase() {
      case 1: return .head(status: 200, headers: ["content-type": "text/event-stream"])
      case 2: return .bytes(Array(FakeStream.event("put", "/", "null").utf8))
      case let number: return .bytes(Array(FakeStream.event("put", "/k\(number)", "1").utf8))
      }
    }
  }
}

@Suite struct SlowReaderTests {
  private func numbers(_ message: ListenerMessage?) -> Int? { message?.stream }

  @Test func aStreamWaitsForAListenerThatIsBehind() async throws {
    let inbox = ListenerInbox()
    let sent = Count()
    let sender = Task {
      for number in 1...100 {
        await inbox.send(.lost(stream: number))
        _ = sent.increase()
      }
    }
    try await sent.settle(atLeast: ListenerInbox.limit)
    #expect(sent.value == ListenerInbox.limit)
    // Ranges never wait, and the newest replaces the others.
    for key in ["a", "b"] {
      inbox.extend(to: PositionRange(from: ChildPosition(order: .bytes([]), key: key)))
    }
    guard case .extend(let range)? = await inbox.next() else {
      Issue.record("The range does not come first.")
      return
    }
    #expect(range.first?.key == "b")
    for number in 1...100 { #expect(numbers(await inbox.next()) == number) }
    await sender.value
  }

  @Test func aPausedStreamWaitsAloneAndTheEndFreesAll() async throws {
    let inbox = ListenerInbox()
    let sent = Count()
    inbox.pause(1)
    let sender = Task {
      await inbox.send(.lost(stream: 1))
      return sent.increase()
    }
    await inbox.send(.lost(stream: 2))
    #expect(numbers(await inbox.next()) == 2 && sent.value == 0)
    inbox.pause(nil)
    #expect(numbers(await inbox.next()) == 1)
    #expect(await sender.value == 1)
    let senders = (0..<50).map { _ in Task { await inbox.send(.lost(stream: 1)) } }
    inbox.finish()
    for sender in senders { await sender.value }
    #expect(numbers(await inbox.next()) == nil)
  }

  @Test func aConnectionIsNotReadOnWhileItsListenerIsBehind() async throws {
    let count = Count()
    let url = try #require(URL(string: "http://127.0.0.1:1/a"))
    let options = FirebaseStage.options(transport: EndlessTransport(count: count))
    let client = FirebaseClient(try FirebaseAddress(url), options)
    let inbox = ListenerInbox()
    let stream = Task {
      await client.follow([]) { event in
        if case .changed(let changes) = event { await inbox.send(.changed(stream: 1, changes)) }
      }
    }
    // The head, the whole tree, the changes that wait, and one on its way.
    let most = ListenerInbox.limit + 3
    try await count.settle(atLeast: most)
    #expect(count.value == most)
    for _ in 0..<100 { #expect(numbers(await inbox.next()) == 1) }
    stream.cancel()
    inbox.finish()
    #expect(await stream.value == nil)
  }

  @Test func messagesHeldBackAreBounded() throws {
    var state = ListenerState(FirebaseQuery())
    let edge = OrderEdge(value: .scalar(.null), key: try FirebaseKey("m"))
    let position = ChildPosition(order: .bytes(edge.bytes), key: "m")
    _ = state.take(.extend(PositionRange(from: position)))
    _ = state.take(.opened(stream: 1, .null))
    _ = state.take(.extend(PositionRange()))
    _ = state.take(.requested(stream: 2))
    for _ in 0..<ListenerState.heldLimit {
      #expect(state.fullStream == nil)
      _ = state.take(.changed(stream: 1, []))
    }
    #expect(state.fullStream == 1)
    #expect(state.take(.lost(stream: 2)).count == ListenerState.heldLimit)
    #expect(state.fullStream == nil)
  }

  @Test func aThreadWaitsForTheReaderOfItsAnswer() async throws {
    let (written, closed) = (Count(), Count())
    let pipe = AnswerPipe(whenClosed: { _ = closed.increase() })
    let piece = [UInt8](repeating: 7, count: 10_000)
    #expect(
      Platform.startThread {
        pipe.put(.head(status: 200, headers: [:]))
        for _ in 0..<500 {
          pipe.put(.bytes(piece))
          _ = written.increase()
        }
        pipe.finish()
      } == 0)
    let most = AnswerPipe.limit / piece.count + 1
    try await written.settle(atLeast: most - 1)
    #expect(written.value <= most)
    var byteCount = 0
    for try await part in pipe.stream {
      if case .bytes(let bytes) = part { byteCount += bytes.count }
    }
    #expect(byteCount == 5_000_000 && written.value == 500 && closed.value == 1)
  }

  @Test func theEndOfReadingFreesTheThread() async throws {
    let (ended, closed) = (Count(), Count())
    do {
      let pipe = AnswerPipe(whenClosed: { _ = closed.increase() })
      let piece = [UInt8](repeating: 7, count: AnswerPipe.limit)
      #expect(
        Platform.startThread {
          for _ in 0..<10 { pipe.put(.bytes(piece)) }
          _ = ended.increase()
        } == 0)
      for try await _ in pipe.stream { break }
    }
    try await ended.settle(atLeast: 1)
    #expect(ended.value == 1 && closed.value == 1)
    // A reader that waits for the next piece ends when its task is cancelled.
    let pipe = AnswerPipe(whenClosed: { _ = closed.increase() })
    let reader = Task { for try await _ in pipe.stream {} }
    reader.cancel()
    try await reader.value
    #expect(closed.value == 2)
  }
}
