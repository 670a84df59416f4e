// Appends that are repeated with the same ids.

import Foundation
import TestSupport
import Testing
import TreeRingStreams

@testable import TreeRing
@testable import TreeRingLog

@Suite(.leavesSoundStores) struct RetryTests {
  private let ids = (0..<4).map { _ in UUID() }

  private func events(_ range: Range<Int>) -> [NewEvent] {
    range.map { event($0, id: ids[$0]) }
  }

  @Test("A repeated append writes nothing and returns the same revisions, whatever is expected")
  func repeated() throws {
    let store = try Store.inMemory()
    let stream = store.stream("s")
    try stream.append(event(9))
    let first = try stream.append(contentsOf: events(0..<3), expecting: .exactly(0))
    try stream.append(event(9))
    let newest = store.newestCommit
    for expected in [ExpectedRevision.any, .absent, .exactly(0), .exactly(77)] {
      let again = try stream.append(contentsOf: events(0..<3), expecting: expected)
      #expect(again.revisions == first.revisions && again.position == first.position)
      #expect(again.isRepeated && !first.isRepeated)
    }
    #expect(try stream.append(contentsOf: events(1..<3)).revisions == 2...3)
    #expect(store.newestCommit == newest)
    #expect(numbers(try stream.events()) == [9, 0, 1, 2, 9])
  }

  @Test("The same ids in another stream are other events")
  func otherStream() throws {
    let store = try Store.inMemory()
    try store.stream("a").append(contentsOf: events(0..<2))
    let other = try store.stream("b").append(contentsOf: events(0..<2), expecting: .absent)
    #expect(!other.isRepeated && other.revisions == 0...1)
    let found = try store.snapshot().events(withID: ids[1])
    #expect(found.map(\.stream) == ["a", "b"] && numbers(found) == [1, 1])
    #expect(try store.snapshot().events(withID: UUID()).isEmpty)
    #expect(try Store.inMemory().snapshot().events(withID: ids[0]).isEmpty)
  }

  @Test("An append of which only a part was made before is a conflict")
  func mixed() throws {
    let store = try Store.inMemory()
    let stream = store.stream("s")
    try stream.append(contentsOf: events(0..<2))
    let newest = store.newestCommit
    let attempts = [
      events(0..<3), events(1..<4), Array(events(0..<2).reversed()),
      [event(0, id: ids[0]), event(5)], [event(5), event(0, id: ids[0])],
      [event(5), event(1, id: ids[1])],
    ]
    for attempt in attempts {
      let error = #expect(throws: TreeRingError.self) {
        try stream.append(contentsOf: attempt)
      }
      #expect(error?.code == .conflict && error?.current == newest)
    }
    let twice = #expect(throws: TreeRingError.self) {
      try stream.append(event(7, id: ids[3]), event(8, id: ids[3]))
    }
    #expect(twice?.code == .invalidInput)
    #expect(store.newestCommit == newest)
  }

  @Test("An append whose first events were truncated is still known; a deleted one is not")
  func truncated() throws {
    let store = try Store.inMemory()
    let stream = store.stream("s")
    try stream.append(contentsOf: events(0..<3))
    try stream.truncate(before: 2)
    let again = try stream.append(contentsOf: events(0..<3))
    #expect(again.isRepeated && again.revisions == 0...2)
    try stream.delete()
    let anew = try stream.append(contentsOf: events(0..<3))
    #expect(!anew.isRepeated && anew.revisions == 3...5)
  }

  @Test("Ids are found after a replay, in a copy, and behind the horizon")
  func kept() throws {
    let files = MemoryFileSystem()
    let folder = "store"
    func open() throws -> Store {
      try Store(path: folder, fileSystem: files, options: StoreOptions())
    }
    var store = try open()
    let first = try store.stream("s").append(contentsOf: events(0..<3))
    for number in 0..<20 { try store.stream("t-\(number % 3)").append(event(number)) }
    try store.compact(to: .before(store.newestCommit))
    try store.close()
    try files.unlink("store/pages")
    store = try open()
    let again = try store.stream("s").append(contentsOf: events(0..<3), expecting: .absent)
    #expect(again.isRepeated && again.revisions == first.revisions)
    #expect(again.position == first.position)
    let all = try store.allEvents().events()
    #expect(numbers(all) == [0, 1, 2] + Array(0..<20))
    #expect(all.map(\.position) == all.map(\.position).sorted())
    #expect(numbers(try store.category("t").events()) == Array(0..<20))
    try store.close()
  }
}
