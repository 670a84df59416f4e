// A board under the control of a user's keys: a replay, and a store with a concurrent writer.

import Foundation
import TestSupport
import Testing
import TreeRingLive

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings
@testable import treering

@Suite("Boards played with keys") struct PlayerTests {
  /// A user who sees the screen whenever the player asks for a key.
  private final class Person {
    typealias Act = () throws -> BoardKey?
    struct Look {
      /// The footer without dates and times.
      let footer: String
      let head: String
      /// The lines between head and footer.
      let lines: [String]
      let reversed: Set<Int>
    }

    private(set) var looks: [Look] = []
    private var terminal = TerminalModel(height: 24)
    private let acts: [Act]
    private let written: WrittenOutput

    /// - Parameter acts: the actions, one at each look; afterwards the user quits.
    init(_ written: WrittenOutput, _ acts: [Act]) {
      self.written = written
      self.acts = acts
    }

    func nextKey() -> BoardKey? {
      do {
        terminal.write(try written.take())
        let footer = terminal.lines[23].split(separator: "  ").prefix(2).joined(separator: " ")
        looks.append(
          Look(
            footer: footer, head: terminal.lines[0], lines: Array(terminal.lines[1..<23]),
            reversed: Set(terminal.reversedLines.subtracting([23]).map { $0 - 1 })))
        return looks.count <= acts.count ? try acts[looks.count - 1]() : .quit
      } catch {
        Issue.record("\(error)")
        return .quit
      }
    }
  }

  private static let rows = Bucket<[UInt8]>.bytes("f")

  private static func put(_ key: Key, _ group: String, _ number: Int, _ tx: Transaction) throws {
    try tx.put(Array(#"{"o":"\#(group)","t":\#(number)}"#.utf8), for: key, in: rows)
  }

  /// A store with an index at commit 1 and a daily commit. The third of these changes no shown row.
  private static func store() throws -> Store {
    let store = try Store.inMemory()
    let days: [(Transaction) throws -> Void] = [
      { tx in
        try put("a", "JFK", 1, tx)
        try put("b", "JFK", 2, tx)
        try put("c", "LGA", 1, tx)
      },
      { try put("b", "JFK", 0, $0) },
      { try $0.put([1], for: "other", in: Bucket<[UInt8]>.bytes("x")) },
      { tx in
        try put("a", "LGA", 1, tx)
        try tx.delete("b", in: "f")
      },
      { try put("d", "JFK", 1, $0) },
    ]
    try store.write { tx in
      tx.timestamp = try ISO8601.parse("2013-01-01")
      try tx.define("dep", FieldIndex(bucket: "f", group: "o", order: [.init("t")]))
    }
    for (index, day) in days.enumerated() {
      try store.write { tx in
        tx.timestamp = try ISO8601.parse("2013-01-0\(index + 2)")
        try day(tx)
      }
    }
    return store
  }

  /// Plays from one commit to another, or live from the newest, until the user quits.
  private static func play(
    _ store: Store, from first: CommitNumber? = nil, to last: CommitNumber? = nil,
    speed: Double = 60, _ acts: [Person.Act]
  ) throws -> Person {
    let folder = try TemporaryFolder()
    let written = try WrittenOutput(in: folder)
    let person = Person(written, acts)
    var board = Board(
      store: store,
      mappings: Mappings(of: "dep", groupsWhere: { _ in true }).hidingEmptySections(),
      fields: [try JSONPath("t")], output: written.output, isOnScreen: true)
    let first = first ?? store.newestCommit
    try board.begin(at: first)
    var clock: BoardClock?
    if last != nil {
      clock = BoardClock(
        at: try BoardClock.start(at: .commit(first), first, in: store), speed: speed)
    }
    var player = Player(
      store: store, board: board, limit: .max, clock: clock, last: last, nextKey: person.nextKey)
    try player.play()
    return person
  }

  @Test("A replay is paused, stepped from change to change, made faster and slower, and quit")
  func replay() throws {
    let store = try Self.store()
    let keys: [BoardKey] = [
      .pause, .step, .step, .faster, .pause, .slower, .slower, .step, .step, .pause, .quit,
    ]
    let person = try Self.play(store, from: 2, to: 6, keys.map { key in { key } })
    #expect(
      person.looks.map(\.footer) == [
        "[replay 60×] commit 2", "[paused] commit 2", "[paused] commit 3",
        // The step skips the commit that changes no shown row.
        "[paused] commit 5", "[paused] commit 5", "[replay 120×] commit 5", "[replay 60×] commit 5",
        "[replay 30×] commit 5", "[the end] commit 6", "[the end] commit 6", "[the end] commit 6",
      ])
    #expect(person.looks[0].lines[..<5] == ["JFK  (2 rows)", "  1", "  2", "LGA  (1 row)", "  1"])
    #expect(person.looks[0].reversed == [] && person.looks.allSatisfy { $0.head == "  t" })
    #expect(person.looks[2].lines[..<5] == ["JFK  (2 rows)", "  0", "  1", "LGA  (1 row)", "  1"])
    #expect(person.looks[2].reversed == [1])
    #expect(person.looks[3].lines[..<4] == ["LGA  (2 rows)", "  1", "  1", ""])
    #expect(person.looks[3].reversed == [1])
    #expect(
      person.looks[8].lines[..<6] == ["JFK  (1 row)", "  1", "LGA  (2 rows)", "  1", "  1", ""])
    try store.close()
  }

  @Test("A replay follows its clock to the end, and waits there for q")
  func clock() throws {
    let store = try Self.store()
    var asked = 0
    let wait: Person.Act = {
      asked += 1
      return asked > 20 ? .quit : nil
    }
    let person = try Self.play(
      store, from: 2, to: 6, speed: 1e9, Array(repeating: wait, count: 100))
    #expect(asked == 21)
    #expect(person.looks.first?.footer == "[replay 1000000000×] commit 2")
    #expect(person.looks.last?.footer == "[the end] commit 6")
    try store.close()
  }

  @Test("Speeds beyond the limits become the nearest limit", arguments: [1e19, 1e308])
  func fast(speed: Double) throws {
    let store = try Self.store()
    let person = try Self.play(store, from: 2, to: 6, speed: speed, [{ .pause }, { .quit }])
    #expect(
      person.looks.map(\.footer) == ["[replay 1000000000×] commit 2", "[paused] commit 2"])
    try store.close()
  }

  @Test("A live board that the horizon has passed during a pause steps to the horizon")
  func horizon() throws {
    let store = try Self.store()
    let person = try Self.play(
      store,
      [
        { .pause },
        {
          for number in 2...5 {
            try store.write { try Self.put("d", "JFK", number, $0) }
          }
          try store.compact(to: .before(9))
          #expect(store.horizon == 9)
          return nil
        },
        { .step }, { .step }, { .quit },
      ])
    #expect(
      person.looks.map(\.footer) == [
        "[live] commit 6", "[paused] commit 6", "[paused] commit 6", "[paused] commit 9",
        "[paused] commit 10",
      ])
    #expect(person.looks[3].lines[..<2] == ["JFK  (1 row)", "  4"])
    #expect(person.looks[4].lines[..<2] == ["JFK  (1 row)", "  5"])
    try store.close()
  }

  @Test("A live board stops while paused, can be stepped, and then catches up")
  func live() throws {
    let store = try Self.store()
    func write(_ number: Int) throws {
      try store.write { try Self.put("d", "JFK", number, $0) }
    }
    let person = try Self.play(
      store,
      [
        {
          try write(2)
          return nil
        },
        { .pause },
        {
          for number in 3...5 { try write(number) }
          return nil
        },
        { .step }, { .pause }, { nil }, { .quit },
      ])
    #expect(
      person.looks.map(\.footer) == [
        "[live] commit 6", "[live] commit 7", "[paused] commit 7", "[paused] commit 7",
        "[paused] commit 8", "[live] commit 10", "[live] commit 10",
      ])
    #expect(person.looks[4].lines[..<2] == ["JFK  (1 row)", "  3"])
    #expect(person.looks[6].lines[..<2] == ["JFK  (1 row)", "  5"])
    #expect(person.looks[6].reversed == [1])
    try store.close()
  }
}
