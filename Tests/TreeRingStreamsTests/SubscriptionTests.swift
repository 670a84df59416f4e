// Subscriptions: every event once, in order, from any point, also in a follower.

import Foundation
import TestSupport
import Testing
import TreeRingStreams

@testable import TreeRing
@testable import TreeRingLog

@Suite(.leavesSoundStores) struct SubscriptionTests {
  /// The first events of a subscription.
  private func first(
    _ count: Int, of subscription: EventSubscription
  ) async throws -> [RecordedEvent] {
    var events: [RecordedEvent] = []
    for try await event in subscription {
      events.append(event)
      if events.count == count { break }
    }
    return events
  }

  @Test("A subscription gives every event once while several tasks append", arguments: [1, 4])
  func live(writers: Int) async throws {
    let store = try Store.inMemory()
    let total = 400
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          for number in 0..<total / writers {
            try await store.stream("s").append(event(number))
            try await store.stream("w-\(writer)").append(event(number), event(number + 1))
          }
        }
      }
      for from in [0, 7, total - 1] {
        group.addTask {
          let events = try await first(
            total - from, of: store.stream("s").subscribe(from: UInt64(from)))
          #expect(events.map(\.revision) == (from..<total).map { UInt64($0) })
        }
      }
      group.addTask {
        let events = try await first(2 * total, of: store.category("w").subscribe())
        #expect(Set(events.map(\.position)).count == 2 * total)
        #expect(events.map(\.position) == events.map(\.position).sorted())
        for writer in 0..<writers {
          let own = events.filter { $0.stream == "w-\(writer)" }.map(\.revision)
          #expect(own == (0..<UInt64(2 * total / writers)).map { $0 })
        }
      }
      group.addTask {
        let events = try await first(3 * total, of: store.allEvents().subscribe())
        #expect(events.map(\.position) == events.map(\.position).sorted())
      }
      try await group.waitForAll()
    }
  }

  @Test("A subscription resumes after its last event, also after reopening")
  func resumed() async throws {
    let files = MemoryFileSystem()
    var store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    for number in 0..<700 { try await store.stream("a-\(number % 2)").append(event(number)) }
    let head = try await first(300, of: store.category("a").subscribe())
    let part = try await first(100, of: store.stream("a-1").subscribe())
    let (position, revision) = (
      try #require(head.last?.position), try #require(part.last?.revision)
    )
    try await store.close()
    store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    for number in 700..<710 { try await store.stream("a-\(number % 2)").append(event(number)) }
    let rest = try await first(410, of: store.category("a").subscribe(after: position))
    #expect(numbers(head + rest) == Array(0..<710))
    let others = try await first(255, of: store.stream("a-1").subscribe(from: revision + 1))
    #expect(numbers(part + others) == (0..<355).map { 2 * $0 + 1 })
    try await store.close()
  }

  @Test("Events that were deleted before they were read are left out, later ones come")
  func truncated() async throws {
    let store = try Store.inMemory()
    let stream = store.stream("s")
    try await stream.append(contentsOf: (0..<10).map { event($0) })
    try await stream.truncate(before: 4)
    #expect(numbers(try await first(6, of: stream.subscribe(from: 2))) == [4, 5, 6, 7, 8, 9])
    try await stream.delete()
    async let later = first(2, of: stream.subscribe(from: 0))
    try await stream.append(event(10), event(11))
    #expect(try await later.map(\.revision) == [10, 11])
  }

  @Test("Events larger than one read come in pieces")
  func large() async throws {
    let store = try Store.inMemory()
    let data = [UInt8](repeating: 7, count: 400_000)
    for _ in 0..<7 { try await store.stream("s").append(NewEvent(type: "big", data: data)) }
    let events = try await first(7, of: store.stream("s").subscribe())
    #expect(events.map(\.revision) == Array(0..<7) && events.allSatisfy { $0.data == data })
  }

  @Test("A subscription reads on a thread of the library, not on one of the cooperative pool")
  func threads() async throws {
    let files = CountedFileSystem(MemoryFileSystem())
    let store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    let stream = store.stream("s")
    // Data that is too long for the trees is read from the log.
    let data = [UInt8](repeating: 7, count: 5000)
    for _ in 0..<20 { try await stream.append(NewEvent(type: "long", data: data)) }
    _ = files.reads.take()
    #expect(try await first(20, of: stream.subscribe()).count == 20)
    let reads = files.reads.take()
    #expect(reads.reads > 0 && reads.readsInTasks == 0)
    try await store.close()
  }

  @Test("A cancelled subscription ends; a closed store ends it with an error")
  func ended() async throws {
    let store = try Store.inMemory()
    try await store.stream("s").append(event(0))
    let received = Counter()
    let task = Task {
      for try await _ in store.stream("s").subscribe() { _ = received.next() }
      return received.count
    }
    while received.count == 0 { try await Task.sleep(for: .milliseconds(1)) }
    task.cancel()
    #expect(try await task.value == 1)
    let waiting = Task { try await first(2, of: store.stream("s").subscribe()).count }
    try await Task.sleep(for: .milliseconds(20))
    try await store.close()
    await #expect(throws: TreeRingError.self) { try await waiting.value }
  }

  @Test("A follower reads streams and subscribes to them while the writer appends")
  func follower() async throws {
    let files = MemoryFileSystem()
    let store = try Store(path: "store", fileSystem: files, options: StoreOptions())
    for number in 0..<50 { try await store.stream("o-\(number % 5)").append(event(number)) }
    let reader = try Store(
      path: "store", fileSystem: files, options: StoreOptions(mode: .readOnly))
    async let all = first(100, of: reader.allEvents().subscribe())
    async let one = first(20, of: reader.stream("o-3").subscribe())
    for number in 50..<100 { try await store.stream("o-\(number % 5)").append(event(number)) }
    #expect(numbers(try await all) == Array(0..<100))
    #expect(numbers(try await one) == (0..<20).map { 5 * $0 + 3 })
    await #expect(throws: TreeRingError.self) { try await reader.stream("o-1").append(event(0)) }
    try await reader.close()
    try await store.close()
  }
}
