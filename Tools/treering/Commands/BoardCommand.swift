// `treering board`: an index live in the terminal, or a replay of its history.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLive
import TreeRingLog
import TreeRingMappings

struct BoardCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "board",
    abstract: "Shows an index live in the terminal, as another process writes it, or replays it.",
    discussion: """
      The screen is updated by changesets alone. Changed rows are shown in reverse for a moment. \
      The footer shows the cost of the last change. Keys: space pauses, n goes to the next change, \
      + and - change the speed, q quits; the arrows and j and k scroll by a line, f and b by a \
      page, g and G to the ends. Into a pipe the whole board is printed after each change.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index.", transform: NegativeNumber.shown)
  var index: String
  @OptionGroup var shown: MappingArguments
  @Option(
    name: [.customLong("columns"), .customLong("fields")],
    help: "F,…: The fields to show as columns. By default the key and every field.",
    transform: ColumnArguments.paths)
  var fields: [JSONPath]?
  @Flag(help: "Do not cut long fields.") var wide = false
  @Option(help: "Replay from this point in history.", transform: Point.parse) var from: Point?
  @Option(help: "Replay to this point. By default to the newest commit.", transform: Point.parse)
  var to: Point?
  @Option(
    help: "Seconds of history per second: by default 60, and as fast as possible into a pipe.")
  var speed: Double?
  @Option(help: "End after this many changes.") var limit: Int?

  func validate() throws {
    if to != nil, from == nil {
      throw ValidationError("--to is the end of a replay; add --from.")
    }
    if let speed {
      guard speed.isFinite, speed > 0 else { throw ValidationError("--speed must be over 0.") }
      if from == nil { throw ValidationError("--speed is that of a replay; add --from.") }
    }
  }

  func run(_ output: Output) throws {
    let store = try openForReading()
    Interrupt.watch()
    let first = try from?.commit(in: store) ?? store.newestCommit
    let last = try to?.commit(in: store) ?? store.newestCommit
    if to != nil, last < first {
      throw Failure(.no, "--to is commit \(last), before --from, commit \(first).")
    }
    let isOnScreen = output.isTerminal && !output.isJSON && !Terminal.isDumb
    var board = Board(
      store: store, mappings: shown.mappings(of: index),
      fields: fields, isWide: wide, output: output, isOnScreen: isOnScreen)
    // Before `begin`, which takes the terminal and may throw afterwards.
    defer { board.close() }
    try board.begin(at: first)
    var clock: BoardClock?
    if let from, isOnScreen || speed != nil {
      clock = BoardClock(
        at: try BoardClock.start(at: from, first, in: store), speed: speed ?? 60)
    }
    let keys = isOnScreen ? BoardKeys() : nil
    defer { keys?.close() }
    var player = Player(
      store: store, board: board, limit: limit ?? .max, clock: clock,
      last: from == nil ? nil : last, nextKey: { keys?.next() })
    try player.play()
    try store.close()
    if Interrupt.isRequested { throw Failure(.interrupted) }
  }
}
