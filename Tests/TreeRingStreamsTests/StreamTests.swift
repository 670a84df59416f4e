// Streams of events: appends with expected revisions, reads, retries, truncation, categories.

import Foundation
import TestSupport
import Testing
import TreeRingStreams

@testable import TreeRing
@testable import TreeRingLog

struct Placed: StreamEvent, Equatable { var item: String, count: Int }
struct Shipped: StreamEvent, Equatable {
  static let eventType = "order.shipped"
  var at: Double
}

/// An event whose content is a number.
func event(_ number: Int, id: UUID? = nil) -> NewEvent {
  NewEvent(type: "n", data: Array("\(number)".utf8), id: id)
}

/// The contents of such events.
func numbers(_ events: [RecordedEvent]) -> [Int] {
  events.map { Int(String(decoding: $0.data, as: UTF8.self)) ?? -1 }
}

@Suite(.leavesSoundStores) struct StreamTests {
  @Test("An append returns the revisions and the position of its events")
  func append() throws {
    let store = try Store.inMemory()
    let order = store.stream("order-42")
    #expect(try order.revision == nil)
    let first = try order.append(event(1), event(2), expecting: .absent)
    #expect(first.revisions == 0...1 && !first.isRepeated)
    let second = try order.append(event(3), expecting: .exactly(1))
    #expect(second.revision == 2 && second.position > first.position)
    let events = try order.events()
    #expect(numbers(events) == [1, 2, 3] && events.map(\.revision) == [0, 1, 2])
    #expect(events.map(\.position).last == second.position)
    #expect(events.map(\.position)[1] == first.position)
    #expect(events.allSatisfy { $0.stream == "order-42" && $0.type == "n" && $0.id == nil })
    #expect(EventPosition(second.position.description) == second.position)
  }

  @Test("Only the expected revision lets an append pass; the error states the actual one")
  func expected() throws {
    let expectations: [ExpectedRevision] = [.any, .absent, .present, .exactly(0), .exactly(1)]
    for count in 0...2 {
      for expected in expectations {
        let store = try Store.inMemory()
        if count > 0 { try store.stream("s").append(contentsOf: (0..<count).map { event($0) }) }
        let before = store.newestCommit
        let passes =
          switch expected {
          case .any: true
          case .absent: count == 0
          case .present: count > 0
          case .exactly(let revision): count == Int(revision) + 1
          }
        let label = Comment(rawValue: "\(count) events, \(expected)")
        do {
          try store.stream("s").append(event(9), expecting: expected)
          #expect(passes, label)
          #expect(try store.stream("s").revision == UInt64(count), label)
        } catch let error as TreeRingError {
          #expect(!passes, label)
          #expect(error.code == .wrongExpectedRevision, label)
          #expect(error.current == (count == 0 ? nil : UInt64(count - 1)), label)
          #expect(store.newestCommit == before, label)
        }
      }
    }
  }

  @Test("Events are read from any revision, in both directions")
  func reading() throws {
    let store = try Store.inMemory()
    // Streams of which one's name begins with the other's.
    for name in ["s", "s-", "s\u{1}", "t", "sa"] {
      for number in 0..<6 { try store.stream(name).append(event(number)) }
    }
    for name in ["s", "s-", "s\u{1}", "t", "sa"] {
      let stream = store.stream(name)
      for from in 0...7 {
        for limit in [0, 1, 3, 100] {
          let forward = Array((0..<6).dropFirst(from).prefix(limit))
          #expect(numbers(try stream.events(from: UInt64(from), limit: limit)) == forward)
          let backward = Array((0..<6).prefix(from + 1).reversed().prefix(limit))
          #expect(
            numbers(try stream.eventsBackward(from: UInt64(from), limit: limit)) == backward)
        }
      }
      #expect(numbers(try stream.eventsBackward()) == [5, 4, 3, 2, 1, 0])
      let snapshot = try store.snapshot().stream(name)
      #expect(try snapshot.event(at: 3).map { numbers([$0]) } == [3])
      #expect(try snapshot.event(at: 6) == nil)
    }
  }

  @Test("Typed events decode by their type's name; metadata is JSON, kept without space")
  func typed() throws {
    let store = try Store.inMemory()
    let placed = Placed(item: "tea", count: 2)
    let id = UUID()
    try store.stream("o").append(
      try NewEvent(placed, metadata: Array(#"{ "user": "emma", "type":"x" }"#.utf8), id: id),
      try NewEvent(Shipped(at: 1.5), coder: .binary()))
    let events = try store.stream("o").events()
    #expect(events.map(\.type) == ["Placed", "order.shipped"])
    #expect(try events[0].decode(as: Placed.self) == placed)
    #expect(try events[0].decode(as: Shipped.self) == nil)
    #expect(try events[1].decode(as: Shipped.self) == Shipped(at: 1.5))
    #expect(events[0].metadata == Array(#"{"user":"emma","type":"x"}"#.utf8))
    #expect(events[0].id == id && events[1].metadata == nil)
    #expect(String(decoding: events[0].data, as: UTF8.self) == #"{"count":2,"item":"tea"}"#)
    #expect(throws: TreeRingError.self) {
      try store.stream("o").append(NewEvent(type: "x", data: [], metadata: Array("{".utf8)))
    }
    #expect(throws: TreeRingError.self) {
      try store.stream("o").append(NewEvent(type: "", data: []))
    }
  }

  @Test("Names that streams cannot have are refused before anything is written")
  func names() throws {
    let store = try Store.inMemory()
    let long = String(repeating: "x", count: 256)
    for (name, code) in [
      ("", TreeRingError.Code.invalidInput), ("$all", .invalidInput), ("a\0b", .invalidInput),
      (long, .tooLarge),
    ] {
      let stream = store.stream(name)
      for attempt in [
        { _ = try stream.append(event(1)) }, { _ = try stream.events() },
        { _ = try stream.delete() },
      ] {
        let error = #expect(throws: TreeRingError.self) { try attempt() }
        #expect(error?.code == code)
      }
    }
    #expect(store.newestCommit == 0)
    let error = #expect(throws: TreeRingError.self) {
      try store.stream("s").append(contentsOf: [])
    }
    #expect(error?.code == .invalidInput)
    try store.stream(String(repeating: "x", count: 255)).append(event(1))
    let categories = try store.snapshot().categories()
    #expect(categories.map(\.name.count) == [255])
  }

  @Test("Appends to several streams, and rows, make one commit, or none")
  func severalStreams() throws {
    let store = try Store.inMemory()
    try store.stream("a-1").append(event(0))
    let before = store.newestCommit
    let written = try store.write { tx in
      try tx.put([1], for: "row", in: .bytes("rows"))
      let first = try tx.stream("a-1").append([event(1)], expecting: .exactly(0))
      #expect(try tx.stream("a-1").revision == 1)
      let second = try tx.stream("b-1").append([event(2), event(3)], expecting: .absent)
      #expect(numbers(try tx.stream("b-1").reader.events()) == [2, 3])
      return (first, second)
    }
    #expect(written.commit == before + 1)
    #expect(written.value.0.position.commit == written.commit)
    #expect(written.value.0.position < written.value.1.position)
    let all = try store.allEvents().events(after: EventPosition(commit: before, operation: .max))
    #expect(numbers(all) == [1, 2, 3])

    #expect(throws: TreeRingError.self) {
      try store.write { tx in
        try tx.stream("a-1").append([event(7)])
        try tx.put([2], for: "row", in: .bytes("rows"))
        try tx.stream("b-1").append([event(8)], expecting: .absent)
      }
    }
    #expect(store.newestCommit == written.commit)
    #expect(try store.stream("a-1").revision == 1)
  }

  @Test("Every past commit shows the streams as they were")
  func past() throws {
    let store = try Store.inMemory()
    let stream = store.stream("order-1")
    var commits: [(CommitNumber, [Int])] = [(0, [])]
    for number in 0..<5 {
      try stream.append(event(number))
      commits.append((store.newestCommit, Array(0...number)))
    }
    try stream.truncate(before: 3)
    commits.append((store.newestCommit, [3, 4]))
    try stream.delete()
    commits.append((store.newestCommit, []))
    try stream.append(event(5), expecting: .absent)
    commits.append((store.newestCommit, [5]))
    for (commit, expected) in commits {
      let snapshot = try store.snapshot(at: .commit(commit))
      #expect(numbers(try snapshot.stream("order-1").events()) == expected, "at \(commit)")
      #expect(numbers(try snapshot.category("order").events()) == expected, "at \(commit)")
      #expect(try snapshot.stream("order-1").info().count == expected.count)
    }
    #expect(try stream.revision == 5)
  }

  @Test("Truncation and deletion never give a revision twice")
  func truncation() throws {
    let store = try Store.inMemory()
    let stream = store.stream("s")
    #expect(try stream.truncate(before: 7) == 0)
    try stream.append(contentsOf: (0..<5).map { event($0) })
    #expect(try stream.truncate(before: 2) == 2)
    #expect(try stream.info().firstRevision == 2)
    #expect(try stream.truncate(before: 2) == 0)
    #expect(try stream.delete() == 3)
    let info = try stream.info()
    #expect(info.revision == nil && info.count == 0 && info.nextRevision == 5)
    #expect(try stream.append(event(5), expecting: .absent).revision == 5)
    #expect(try stream.truncate(before: 6) == 1)
    #expect(try stream.delete() == 0)
    #expect(try stream.append(event(6)).revision == 6)
    var names: [String] = []
    try store.snapshot().forEachStream {
      names.append($0.name); return true
    }
    #expect(names == ["s"])
  }

  @Test("A limit of events deletes the oldest ones with each append")
  func maxCount() throws {
    let store = try Store.inMemory()
    let stream = store.stream("s")
    try stream.append(contentsOf: (0..<5).map { event($0) })
    try stream.setMaxCount(3)
    #expect(numbers(try stream.events()) == [2, 3, 4])
    try stream.append(event(5))
    #expect(numbers(try stream.events()) == [3, 4, 5])
    try stream.append(contentsOf: (6..<12).map { event($0) })
    #expect(numbers(try stream.events()) == [9, 10, 11])
    #expect(try stream.info().maxCount == 3)
    try stream.delete()
    try stream.append(contentsOf: (12..<17).map { event($0) })
    #expect(numbers(try stream.events()) == [14, 15, 16])
    try stream.setMaxCount(nil)
    try stream.append(event(17))
    #expect(numbers(try stream.events()) == [14, 15, 16, 17])
    let error = #expect(throws: TreeRingError.self) { try stream.setMaxCount(0) }
    #expect(error?.code == .invalidInput)
  }

  @Test(
    "A row that is no event behind a stream is an error, and is not overwritten",
    arguments: [[0x7F], [UInt8](repeating: 0xFF, count: 7), [UInt8](repeating: 0xFF, count: 9)])
  func foreignRow(_ end: [UInt8]) throws {
    let store = try Store.inMemory()
    try store.stream("s").append(event(0))
    try store.write {
      try $0.put([1], for: Key(bytes: Array("s\0".utf8) + end), in: .bytes("events"))
    }
    let error = #expect(throws: TreeRingError.self) { try store.stream("s").append(event(1)) }
    #expect(error?.code == .invalidInput)
    #expect(numbers(try store.stream("s").events()) == [0])
  }

  @Test("Rows just outside of a stream's keys are none of it")
  func neighbours() throws {
    let store = try Store.inMemory()
    let stream = store.stream("s")
    for (number, key) in ["r\u{7F}", "s", "s\0", "s\u{1}", "s\u{1}x"].enumerated() {
      try store.write { try $0.put([1], for: Key(key), in: .bytes("events")) }
      #expect(try stream.append(event(number)).revision == UInt64(number))
    }
    #expect(numbers(try stream.events()) == [0, 1, 2, 3, 4])
  }

  @Test("A stream at the last possible revision takes no more events")
  func lastRevision() throws {
    let store = try Store.inMemory()
    try store.write { tx in
      try tx.put([1], for: EventKey.of("t", .max), in: .bytes("events"))
    }
    let full = #expect(throws: TreeRingError.self) { try store.stream("t").append(event(1)) }
    #expect(full?.code == .tooLarge)
    #expect(try store.stream("t").events().first?.type == "")
    #expect(try store.stream("t").eventsBackward().first?.revision == .max)
  }
}
