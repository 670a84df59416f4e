// A board's screen equals the shown rows, although the board draws only changes.

import Foundation
import TestSupport
import Testing
import TreeRingLive

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings
@testable import treering

@Suite("Boards", .leavesSoundStores) struct BoardTests {
  private static let flights = Bucket<[UInt8]>.bytes("flights")
  /// The first byte of a flight names its group, the second gives the order.
  private static let index = GroupIndex("board", on: flights, version: 1) {
    (row: [UInt8]) -> [Place] in
    [Place(in: "g\(row[0])", by: .ascending(Int(row[1])))]
  }

  /// The text of a row: short, as wide as the screen with the indent, longer, or of wide
  /// characters.
  private static func text(_ row: RowID, _ snapshot: Snapshot) throws -> String {
    let text = "\(row.key) \(try snapshot.get(row.key, in: flights) ?? [])"
    switch row.key.description.utf8.last.map({ $0 % 4 }) {
    case 0: return text + String(repeating: ">", count: 78 - text.count)
    case 1: return text + String(repeating: "+", count: 90)
    case 2: return text + String(repeating: "漢", count: 50)
    default: return text
    }
  }

  /// A line as shown by a terminal of 80 columns.
  private static func cut(_ text: String) -> String {
    var terminal = TerminalModel(height: 1)
    terminal.write("\u{1B}[?7l" + (text.count > 80 ? text.prefix(79) + "…" : text))
    return terminal.lines[0]
  }

  /// The lines of rows that a change inserted or rewrote.
  private static func flips(_ change: Change) -> Set<Int> {
    let outline = change.after.outline
    func line(_ path: RowPath) -> Int {
      outline[..<path.section].reduce(0) { $0 + $1.count + 1 } + path.row + 1
    }
    var paths = change.rows.inserts.map(\.path) + change.rows.moves.map(\.to)
    paths += change.rows.updates.map(\.to)
    for section in change.sections.inserts + change.sections.moves.map(\.to) {
      paths += (0..<outline[section].count).map { RowPath(section: section, row: $0) }
    }
    return Set(paths.map(line))
  }

  @Test(
    "The screen shows the first lines after every change; new and rewritten lines are in reverse",
    arguments: seeds(1...6))
  func screen(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.inMemory(options: StoreOptions(indexes: [Self.index]))
    let folder = try TemporaryFolder()
    let written = try WrittenOutput(in: folder)
    var screen = try BoardScreen(output: written.output)
    var terminal = TerminalModel(height: 24)
    let mappings = Mappings(of: "board", groupsWhere: { _ in true }).hidingEmptySections()
    var observer = store.observer(of: mappings, limit: .max)
    var lines = BoardLines()
    for round in 0..<80 {
      try store.write { tx in
        for _ in 0..<Int.random(in: 1...12, using: &random) {
          let key = Key("k\(Int.random(in: 0..<40, using: &random))")
          if Int.random(in: 0..<3, using: &random) == 0 {
            try tx.delete(key, in: "flights")
          } else {
            let row = (0..<3).map { _ in UInt8.random(in: 0..<5, using: &random) }
            try tx.put(row, for: key, in: Self.flights)
          }
        }
      }
      let snapshot = try store.snapshot()
      let change = try observer.advance(to: snapshot)
      func text(_ row: RowID) throws -> String { try Self.text(row, snapshot) }
      if change.isReset {
        try lines.reset(to: change.after, text)
        try screen.draw(lines)
      } else {
        let edits = try lines.apply(change, text)
        try screen.apply(edits, to: lines)
      }
      try screen.footer("round \(round)")
      terminal.write(try written.take())

      var expected: [String] = []
      for section in change.after.sections {
        expected.append("\(section.group)  (\(Units.count(section.count, "row")))")
        for row in section { expected.append("  \(try text(row))") }
      }
      let all = lines.lines(at: 0..<lines.count).map { $0.isHeading ? $0.text : "  " + $0.text }
      try #require(all == expected, "seed \(seed), round \(round)")
      expected += Array(repeating: "", count: 23)
      try #require(
        terminal.lines == expected[..<23].map(Self.cut) + ["round \(round)"],
        "seed \(seed), round \(round)")
      let flips: Set<Int> = change.isReset ? [] : Self.flips(change).filter { $0 < 23 }
      try #require(
        terminal.reversedLines == flips.union([23]), "seed \(seed), round \(round)")
      if round % 5 == 0 {
        try screen.settle(lines)
        terminal.write(try written.take())
        try #require(terminal.lines[..<23].elementsEqual(expected[..<23].map(Self.cut)))
        try #require(terminal.reversedLines == [23])
      }
    }
    #expect(terminal.isAlternate && !terminal.wraps && !terminal.showsCursor)
    try screen.close()
    terminal.write(try written.take())
    #expect(!terminal.isAlternate && terminal.wraps && terminal.showsCursor)
    try store.close()
  }

  @Test("Affected rows are those that a change inserts, deletes, moves or updates, each once")
  func affected() throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [Self.index]))
    var observer = store.observer(
      of: Mappings(of: "board", groupsWhere: { _ in true }).hidingEmptySections())
    var lines = BoardLines()
    func step(_ body: (Transaction) throws -> Void) throws -> [String] {
      try store.write { try body($0) }
      let change = try observer.advance()
      if change.isReset {
        try lines.reset(to: change.after) { $0.key.description }
      } else {
        _ = try lines.apply(change) { $0.key.description }
      }
      return lines.affected.map(\.key.description).sorted()
    }
    let first = try step { tx in
      for (key, row) in [("a", [1, 1]), ("b", [1, 2]), ("c", [2, 1])] as [(Key, [UInt8])] {
        try tx.put(row, for: key, in: Self.flights)
      }
    }
    #expect(first == ["a", "b", "c"])
    // Moved and rewritten; then deleted; "c" changes only its position.
    #expect(try step { try $0.put([1, 0], for: "b", in: Self.flights) } == ["b"])
    #expect(try step { try $0.delete("b", in: "flights") } == ["b"])
    // The last row of a section moves to another section, which removes the first one.
    #expect(try step { try $0.put([2, 0], for: "a", in: Self.flights) } == ["a"])
    #expect(
      try step { tx in
        try tx.put([3, 0], for: "a", in: Self.flights)
        try tx.put([3, 1], for: "d", in: Self.flights)
      } == ["a", "d"])
  }

  @Test("An unreadable row of the first state or of an inserted section is thrown")
  func unreadable() throws {
    let store = try Store.inMemory(
      options: StoreOptions(pinLimit: PinLimit(commits: 1), indexes: [Self.index]))
    var observer = store.observer(
      of: Mappings(of: "board", groupsWhere: { _ in true }).hidingEmptySections())
    var lines = BoardLines()
    func text(_ row: RowID) -> String { row.key.description }
    /// The change of a new group, whose index is no longer readable.
    func expired(_ group: UInt8) throws -> Change {
      try store.write { try $0.put([group, 1], for: Key("k\(group)"), in: Self.flights) }
      let change = try observer.advance()
      #expect(change.after.outline.count == Int(group))
      for _ in 0..<3 { try store.write { try $0.put([1], for: "x", in: .bytes("other")) } }
      return change
    }
    func isExpiry(_ error: any Error) -> Bool {
      (error as? TreeRingError)?.code == .snapshotExpired
    }
    let first = try expired(1)
    #expect { try lines.reset(to: first.after, text) } throws: { isExpiry($0) }
    try lines.reset(to: try observer.advance().after, text)
    let second = try expired(2)
    #expect { try lines.apply(second, text) } throws: { isExpiry($0) }
    try store.close()
  }

  @Test("A clock runs at its speed, stops while paused, and resumes from there")
  func clock() {
    let start = ContinuousClock.now
    var clock = BoardClock(at: Timestamp(microseconds: 1_000), speed: 60, now: start)
    #expect(clock.time(start + .seconds(2)) == Timestamp(microseconds: 120_001_000))
    clock.pause(start + .seconds(2))
    #expect(clock.time(start + .seconds(9)) == Timestamp(microseconds: 120_001_000))
    clock.pause(start + .seconds(10))
    clock.change(speed: 0.5, start + .seconds(11))
    #expect(clock.time(start + .seconds(13)) == Timestamp(microseconds: 240_001_000))
    #expect(clock.speed == 30)
    clock.pause(start + .seconds(13))
    clock.go(to: Timestamp(microseconds: 5), start + .seconds(14))
    #expect(clock.time(start + .seconds(20)) == Timestamp(microseconds: 5))
    clock.pause(start + .seconds(20))
    #expect(clock.time(start + .seconds(21)) == Timestamp(microseconds: 30_000_005))
    for (asked, speed) in [(1e19, 1e9), (0.5, 0.5), (1e-300, 1.0 / 1024)] {
      #expect(BoardClock(at: Timestamp(microseconds: 0), speed: asked).speed == speed)
    }
  }

  @Test("A replay begins at the given date or that of the commit, but not before the first one")
  func clockStart() throws {
    let store = try Store.inMemory()
    func date(_ text: String) throws -> Timestamp { try ISO8601.parse(text) }
    func start(_ point: Point) throws -> Timestamp {
      try BoardClock.start(at: point, point.commit(in: store), in: store)
    }
    #expect(try start(.date(date("2013-01-05"))) == Timestamp(microseconds: 0))
    for day in 1...3 {
      try store.write { tx in
        tx.timestamp = try date("2013-01-0\(day)T06:00:00Z")
        try tx.put([0, 0], for: "a", in: Self.flights)
      }
    }
    #expect(try start(.date(date("2012-01-01"))) == date("2013-01-01T06:00:00Z"))
    #expect(try start(.date(date("2013-01-02"))) == date("2013-01-02"))
    #expect(try start(.commit(2)) == date("2013-01-02T06:00:00Z"))
    #expect(try start(.back(0)) == date("2013-01-03T06:00:00Z"))
    #expect(try start(.commit(0)) == date("2013-01-01T06:00:00Z"))
  }
}
