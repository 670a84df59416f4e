// A board on the screen is what is shown, though only what has changed is ever drawn.

import Foundation
import TestSupport
import Testing
import TreeRing
import TreeRingLog
import TreeRingMappings

@testable import treering

@Suite("Boards", .leavesSoundStores) struct BoardTests {
  private static let flights = Bucket<[UInt8]>.bytes("flights")
  /// The first byte of a flight names its group, the second orders it.
  private static let index = GroupIndex("board", on: flights, version: 1) {
    (row: [UInt8]) -> [Place] in
    [Place(in: "g\(row[0])", by: .ascending(Int(row[1])))]
  }

  @Test("The screen shows the first lines after every change", arguments: seeds(1...6))
  func screen(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.inMemory(options: StoreOptions(indexes: [Self.index]))
    let folder = try TemporaryFolder()
    let written = try Written(in: folder)
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
      func text(_ row: RowID) throws -> String {
        "\(row.key) \(try snapshot.get(row.key, in: Self.flights) ?? [])"
      }
      if change.isReset {
        try lines.reset(to: change.after, text)
        try screen.draw(lines)
      } else {
        let edits = try lines.apply(change, text)
        try screen.apply(edits, to: lines)
      }
      if round % 5 == 0 { try screen.settle(lines) }
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
        terminal.lines == Array(expected[..<23]) + ["round \(round)"],
        "seed \(seed), round \(round)")
    }
    try store.close()
  }

  @Test("A clock runs at its speed, stands while paused, and goes on from there")
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
  }

  /// An output that writes to a file, and what has been written since the last look.
  private final class Written {
    let output: Output
    private let handle: FileHandle
    private let path: String

    init(in folder: TemporaryFolder) throws {
      path = folder.path + "/screen"
      try Data().write(to: URL(filePath: path))
      handle = try #require(FileHandle(forUpdatingAtPath: path))
      output = Output(isJSON: false, descriptor: handle.fileDescriptor)
    }

    func take() throws -> String {
      try output.flush()
      let end = try handle.offset()
      try handle.seek(toOffset: 0)
      let data = try handle.readToEnd() ?? Data()
      try handle.truncate(atOffset: 0)
      #expect(end == UInt64(data.count))
      return String(decoding: data, as: UTF8.self)
    }
  }
}
