// Streams against a naive model, at every commit, with reopening, replay and compaction between.

import Foundation
import TestSupport
import Testing
import TreeRingStreams

@testable import TreeRing
@testable import TreeRingLog

/// Streams as plain arrays.
private struct ModelStreams: Equatable {
  struct Event: Equatable {
    var revision: UInt64
    var number: Int
    var order: Int
  }
  struct Stream: Equatable {
    var events: [Event] = []
    var next: UInt64 = 0
    var maxCount: Int?
  }
  var streams: [String: Stream] = [:]
  var appendCount = 0

  mutating func append(_ numbers: [Int], to name: String) {
    var stream = streams[name] ?? Stream()
    for number in numbers {
      stream.events.append(Event(revision: stream.next, number: number, order: appendCount))
      stream.next += 1
      appendCount += 1
    }
    if let maxCount = stream.maxCount {
      stream.events.removeAll { $0.revision + UInt64(maxCount) < stream.next }
    }
    streams[name] = stream
  }

  /// The events of some streams in the order of their appending.
  func numbers(where fits: (String) -> Bool) -> [Int] {
    streams.filter { fits($0.key) }.flatMap(\.value.events).sorted { $0.order < $1.order }
      .map(\.number)
  }
}

@Suite(.leavesSoundStores) struct StreamModelTests {
  private let names = ["a-1", "a-2", "a", "b-1", "b-1-x", "-c", "!d-1"]

  private func open(_ files: MemoryFileSystem) throws -> Store {
    var options = StoreOptions(memoryBudget: 1 << 20)
    options.pageCellCapacity = 6
    return try Store(path: "store", fileSystem: files, options: options)
  }

  private func check(_ source: Snapshot, _ model: ModelStreams, _ label: Comment) throws {
    var listed: [String] = []
    try source.forEachStream {
      listed.append($0.name)
      return true
    }
    let present = model.streams.filter { !$0.value.events.isEmpty }.keys
    #expect(listed == present.sorted { Key($0) < Key($1) }, label)
    for name in names {
      let expected = model.streams[name] ?? ModelStreams.Stream()
      let stream = source.stream(name)
      let events = try stream.events()
      #expect(events.map(\.revision) == expected.events.map(\.revision), label)
      #expect(numbers(events) == expected.events.map(\.number), label)
      #expect(numbers(try stream.eventsBackward()) == numbers(events).reversed(), label)
      let info = try stream.info()
      #expect(info.revision == expected.events.last?.revision, label)
      #expect(info.firstRevision == expected.events.first?.revision, label)
      #expect(info.count == expected.events.count, label)
      #expect(info.nextRevision == expected.next, label)
      #expect(info.maxCount == expected.maxCount.map { UInt64($0) }, label)
    }
    let categories = Set(
      present.map { $0.split(separator: "-", omittingEmptySubsequences: false)[0] })
    #expect(
      try source.categories().map { Key($0.name) } == categories.map { Key($0) }.sorted(), label)
    for category in ["a", "b", "", "!d", "c"] {
      let expected = model.numbers {
        $0.split(separator: "-", omittingEmptySubsequences: false)[0] == category
      }
      let reader = source.category(category)
      let events = try reader.events()
      #expect(numbers(events) == expected, label)
      #expect(try reader.count == expected.count, label)
      #expect(numbers(try reader.eventsBackward()) == expected.reversed(), label)
      if let middle = events.randomElement()?.position {
        let rest = events.filter { $0.position > middle }
        #expect(try reader.events(after: middle) == rest, label)
        let before = events.filter { $0.position < middle }
        #expect(try reader.eventsBackward(before: middle) == before.reversed(), label)
      }
    }
    #expect(numbers(try source.allEvents().events()) == model.numbers { _ in true }, label)
  }

  @Test("Streams equal the model at every commit", arguments: seeds(1...6))
  func model(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let files = MemoryFileSystem()
    var store = try open(files)
    var model = ModelStreams()
    var states: [CommitNumber: ModelStreams] = [0: model]
    var number = 0
    for turn in 0..<60 {
      let written = try store.write { tx in
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let name = names[Int.random(in: 0..<names.count, using: &random)]
          let stream = tx.stream(name)
          var plain = model.streams[name] ?? ModelStreams.Stream()
          switch Int.random(in: 0..<12, using: &random) {
          case 0:
            let revision = UInt64.random(in: 0...plain.next + 1, using: &random)
            let count = plain.events.count
            plain.events.removeAll { $0.revision < revision }
            #expect(try stream.truncate(before: revision) == count - plain.events.count)
            model.streams[name] = plain
          case 1:
            #expect(try stream.delete() == plain.events.count)
            plain.events = []
            model.streams[name] = plain
          case 2:
            let maxCount = [nil, 1, 3, 8][Int.random(in: 0..<4, using: &random)]
            try stream.setMaxCount(maxCount.map { UInt64($0) })
            plain.maxCount = maxCount
            if let maxCount {
              plain.events.removeAll { $0.revision + UInt64(maxCount) < plain.next }
            }
            model.streams[name] = plain
          default:
            let new = (0..<Int.random(in: 1...4, using: &random)).map { number + $0 }
            number += new.count
            let expected = plain.events.last.map { ExpectedRevision.exactly($0.revision) }
            let appended = try stream.append(new.map { event($0) }, expecting: expected ?? .absent)
            #expect(appended.revisions.lowerBound == plain.next)
            model.append(new, to: name)
          }
        }
      }
      states[written.commit] = model
      let label = Comment(rawValue: "seed \(seed), turn \(turn)")
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        try store.close()
        if turn % 2 == 0 { try files.unlink("store/pages") }
        store = try open(files)
      case 1:
        let horizon = CommitNumber.random(in: 1...store.newestCommit, using: &random)
        try store.compact(to: .before(horizon))
      default: break
      }
      if turn % 10 == 9 {
        for commit in max(store.horizon, 1)...store.newestCommit {
          guard let state = states[commit] else { continue }
          try check(try store.snapshot(at: .commit(commit)), state, label)
        }
      }
    }
    #expect(try store.checkInvariants() == [], "seed \(seed)")
    try store.close()
  }
}
