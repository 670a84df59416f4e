// The child events of a reader that takes them whenever it likes.

import TestSupport
import Testing

@testable import TreeRingCollections
@testable import TreeRingFirebase

@Suite struct ChildEventFeedTests {
  /// A listener's state, whose steps go to a feed.
  private struct Stage {
    let feed: ChildEventFeed
    private var state: ListenerState

    init(_ query: FirebaseQuery) throws {
      feed = ChildEventFeed(query)
      state = ListenerState(query)
      take(.extend(PositionRange()))
    }

    mutating func take(_ message: ListenerMessage) {
      for step in state.take(message) { feed.take(step, state.window) }
    }

    var children: [FirebaseChild] { state.children.map(\.data) }
  }

  private func replacement(
    _ place: [String], _ data: PlainData
  ) throws -> TreeEvent.Replacement {
    TreeEvent.Replacement(path: try path(place), node: try data.node())
  }

  @Test(arguments: seeds(1...30)) func eventsTakenAtAnyPaceKeepAListRight(
    seed: UInt64
  ) async throws {
    var random = SeededGenerator(seed: seed)
    let (order, _) = random.pick(OrderTests.orders)
    var stage = try Stage(FirebaseQuery(order))
    stage.take(.opened(stream: 1, .null))
    var list = EventList()
    for _ in 0..<60 {
      if random.chance(8) {
        stage.take(.opened(stream: 1, try random.data(depth: 3).node()))
      } else {
        let place = (0..<Int.random(in: 1...3, using: &random)).map { _ in random.key() }
        stage.take(.changed(stream: 1, [try replacement(place, random.data(depth: 2))]))
      }
      if random.chance(3) { continue }
      // Some events, perhaps not all.
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        guard stage.feed.isDue, let event = try await stage.feed.next() else { break }
        list.apply([event])
      }
    }
    while stage.feed.isDue, let event = try await stage.feed.next() { list.apply([event]) }
    #expect(list.flaws.isEmpty, "seed \(seed)")
    #expect(list.children == stage.children, "\(order), seed \(seed)")
  }

  @Test func aReaderThatDoesNotReadGetsEachChildOnce() async throws {
    var stage = try Stage(FirebaseQuery())
    stage.take(.opened(stream: 1, .null))
    for turn in 0..<10_000 {
      let key = "k\(turn % 10)"
      stage.take(.changed(stream: 1, [try replacement([key], .leaf(.number(Double(turn))))]))
      stage.take(.changed(stream: 1, [try replacement(["gone"], .leaf(.number(Double(turn))))]))
      stage.take(.changed(stream: 1, [try replacement(["gone"], .leaf(.null))]))
    }
    struct End: Error {}
    stage.take(.failed(stream: 1, End()))
    for turn in 0..<10 {
      guard case .added(let child, _)? = try await stage.feed.next() else {
        Issue.record("child \(turn) did not come")
        return
      }
      #expect(child.key.text == "k\(turn)" && child.node.number == Double(9_990 + turn))
    }
    // The error follows what came before it.
    await #expect(throws: End.self) { try await stage.feed.next() }
  }

  @Test func aCancelledReaderIsWoken() async throws {
    let stage = try Stage(FirebaseQuery())
    let reader = Task { try await stage.feed.next() }
    try await Task.sleep(for: .milliseconds(20))
    reader.cancel()
    #expect(try await reader.value == nil)
  }
}
