// A board's screen under scrolling: it equals the shown lines from its top on, and lines in view
// stay in place when lines above them change.

import Foundation
import TestSupport
import Testing
import TreeRingLive

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings
@testable import treering

@Suite("Boards that scroll", .leavesSoundStores) struct BoardScrollTests {
  private static let rows = Bucket<[UInt8]>.bytes("rows")
  private static let index = GroupIndex("board", on: rows, version: 1) {
    (row: [UInt8]) -> [Place] in
    [Place(in: "g\(row[0])", by: .ascending(Int(row[1])))]
  }

  /// A screen with a head, and the terminal that shows it.
  private struct Stage {
    let store: Store
    var observer: MappingObserver
    var lines = BoardLines()
    var screen: BoardScreen
    var terminal = TerminalModel(height: 24)
    let written: WrittenOutput

    init(_ store: Store, _ folder: TemporaryFolder) throws {
      self.store = store
      observer = store.observer(
        of: Mappings(of: "board", groupsWhere: { _ in true }).hidingEmptySections(), limit: .max)
      written = try WrittenOutput(in: folder)
      screen = try BoardScreen(output: written.output)
    }

    mutating func advance() throws {
      let change = try observer.advance()
      if change.isReset {
        try lines.reset(to: change.after) { $0.key.description }
        try screen.draw(lines, head: "the head")
      } else {
        try screen.apply(try lines.apply(change) { $0.key.description }, to: lines)
      }
    }

    mutating func check(_ label: Comment) throws {
      try screen.footer("the footer")
      terminal.write(try written.take())
      let shown = lines.lines(at: screen.top..<(screen.top + screen.visible)).map {
        $0.isHeading ? $0.text : "  " + $0.text
      }
      let blank = Array(repeating: "", count: screen.visible - shown.count)
      try #require(terminal.lines == ["the head"] + shown + blank + ["the footer"], label)
      #expect(screen.top == 0 || screen.top + screen.visible <= lines.count, label)
    }
  }

  private func change(_ store: Store, _ random: inout SeededGenerator) throws {
    try store.write { tx in
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let key = Key("k\(Int.random(in: 0..<40, using: &random))")
        if Int.random(in: 0..<3, using: &random) == 0 {
          try tx.delete(key, in: "rows")
        } else {
          let row = (0..<2).map { _ in UInt8.random(in: 0..<5, using: &random) }
          try tx.put(row, for: key, in: Self.rows)
        }
      }
    }
  }

  @Test("The screen shows the lines from its top on after every change", arguments: seeds(1...6))
  func screen(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.inMemory(options: StoreOptions(indexes: [Self.index]))
    var stage = try Stage(store, try TemporaryFolder())
    for round in 0..<80 {
      try change(store, &random)
      try stage.advance()
      try stage.check("seed \(seed), round \(round)")
      if round % 3 == 0 {
        try stage.screen.scroll(to: Int.random(in: -3...50, using: &random), of: stage.lines)
        try stage.check("seed \(seed), round \(round), scrolled")
      }
      if round % 5 == 0 { try stage.screen.settle(stage.lines) }
    }
    try store.close()
  }

  @Test("Lines in view stay when lines above them come and go")
  func anchored() throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [Self.index]))
    try store.write { tx in
      for number in 0..<60 {
        try tx.put([1, UInt8(100 + number)], for: Key("k\(number)"), in: Self.rows)
      }
    }
    var stage = try Stage(store, try TemporaryFolder())
    try stage.advance()
    try stage.screen.scroll(to: 20, of: stage.lines)
    try stage.check("scrolled")
    let view = stage.terminal.lines
    try store.write { tx in
      for number in 0..<5 {
        try tx.put([0, UInt8(number)], for: Key("new\(number)"), in: Self.rows)
      }
      try tx.delete("k3", in: "rows")
    }
    try stage.advance()
    try stage.check("changed above")
    #expect(stage.terminal.lines == view && stage.screen.top == 25)
    try stage.screen.scroll(to: .max / 2, of: stage.lines)
    try stage.check("at the end")
    try store.write { try $0.deleteAll(in: "rows", from: "k1", to: "k6") }
    try stage.advance()
    try stage.check("fewer lines than fit below the top")
  }

  @Test("Arrows and page keys arrive as sequences")
  func keys() {
    #expect(BoardKey.sequences["[A"] == .up && BoardKey.sequences["[6~"] == .pageDown)
    #expect(BoardKey(rawValue: "G") == .end)
  }
}
