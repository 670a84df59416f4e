// The asynchronous forms of streams.

import TestSupport
import Testing
import TreeRingStreams

@testable import TreeRing
@testable import TreeRingLog

@Suite(.leavesSoundStores) struct AsynchronousStreamTests {
  @Test("Reads and truncations equal those of the blocking forms")
  func forms() async throws {
    let (one, two) = (try Store.inMemory(), try Store.inMemory())
    for store in [one, two] {
      for number in 0..<20 {
        try await store.stream("a-1").append(event(number))
        try await store.stream("a-2").append(event(number), event(number + 1))
      }
    }
    let (stream, other) = (one.stream("a-2"), two.stream("a-2"))
    func compare() async throws {
      #expect(
        numbers(try await stream.events()) == (try Store.blocking { numbers(try other.events()) }))
      let (part, back) = (
        try await stream.events(from: 7, limit: 5),
        try await stream.eventsBackward(from: 30, limit: 6)
      )
      let (otherPart, otherBack) = try Store.blocking {
        (try other.events(from: 7, limit: 5), try other.eventsBackward(from: 30, limit: 6))
      }
      #expect(numbers(part) == numbers(otherPart) && numbers(back) == numbers(otherBack))
      let (category, otherCategory) = (one.category("a"), two.category("a"))
      let all = try await category.events()
      #expect(numbers(all) == (try Store.blocking { numbers(try otherCategory.events()) }))
      #expect(
        try await category.eventsBackward(limit: 9).map(\.position)
          == all.suffix(9).reversed().map(\.position))
      #expect(try await category.events(after: all[3].position, limit: 2) == Array(all[4...5]))
    }
    try await compare()
    #expect(
      try await stream.truncate(before: 4) == Store.blocking { try other.truncate(before: 4) })
    try await compare()
    try await stream.setMaxCount(12)
    try Store.blocking { try other.setMaxCount(12) }
    try await compare()
    #expect(try await stream.delete() == 12)
    #expect(try Store.blocking { try other.delete() } == 12)
    try await compare()
    await #expect(throws: TreeRingError.self) { try await stream.setMaxCount(0) }
  }
}
