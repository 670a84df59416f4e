// `treering board`: a mapping live in the terminal, or replaying history.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLog
import TreeRingMappings

struct BoardCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "board",
    abstract: "Shows an index live in the terminal, as another process writes it, or replays it.",
    discussion: """
      Only changesets are applied to what is on the screen; rows that have changed are shown in \
      reverse. The footer says what the last change has cost. Keys: space pauses, n goes to the next \
      change, + and - change the speed, q quits. Into a pipe it prints the whole board after each \
      change.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index.") var index: String
  @OptionGroup var shown: MappingArguments
  @Option(help: "F,…: the JSON fields of a row to show; without it the whole object.")
  var fields: String?
  @Option(help: "Replay from this point in history.", transform: Point.parse) var from: Point?
  @Option(help: "Replay to this point; without it to the newest commit.", transform: Point.parse)
  var to: Point?
  @Option(
    help: "How many seconds of history a second shows; into a pipe without it: as fast as can be.")
  var speed: Double?
  @Option(help: "End after so many changes.") var limit: Int?

  func validate() throws {
    if to != nil, from == nil {
      throw ValidationError("--to says where a replay ends: add --from.")
    }
    if let speed {
      guard speed.isFinite, speed > 0 else { throw ValidationError("--speed must be over 0.") }
      if from == nil { throw ValidationError("--speed is that of a replay: add --from.") }
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
    var board = try Board(
      store: store, mappings: shown.mappings(of: index),
      fields: fields?.split(separator: ",").map(String.init), output: output)
    try board.begin(at: first)
    defer { board.close() }
    var player = Player(
      store: store, board: board, limit: limit ?? .max,
      clock: try clock(at: first, in: store, output), last: from == nil ? nil : last)
    try player.play()
    try store.close()
  }

  /// The clock of a replay that keeps time; nil for one that does not, and for what is live.
  private func clock(
    at first: CommitNumber, in store: Store, _ output: Output
  ) throws -> BoardClock? {
    guard from != nil, speed != nil || Board.isOnScreen(output) else { return nil }
    let begin = first == 0 ? Timestamp(microseconds: 0) : try store.commit(first).timestamp
    return BoardClock(at: begin, speed: speed ?? 60)
  }
}
