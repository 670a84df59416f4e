// What makes a board go on: commits of another process, a clock, or keys.

import Foundation
import TreeRing
import TreeRingLog

/// Plays a board to its end.
struct Player {
  let store: Store
  private(set) var board: Board
  private let limit: Int
  private var clock: BoardClock?
  /// The last commit of a replay; nil for what is live.
  private let last: CommitNumber?
  private var isPaused = false
  private var changes = 0
  /// When the last change was shown.
  private var shownAt = ContinuousClock.now

  init(
    store: Store, board: Board, limit: Int, clock: BoardClock?, last: CommitNumber?
  ) {
    self.store = store
    self.board = board
    self.limit = limit
    self.clock = clock
    self.last = last
  }

  /// Goes on until the replay is over, the limit is reached, somebody quits, or nobody reads any more.
  mutating func play() throws {
    let keys = BoardKeys()
    defer { keys.close() }
    try board.say(state)
    while changes < limit, !Interrupt.isRequested {
      var isStep = false
      if let key = keys.next() {
        if key == .quit { return }
        isStep = key == .step
        obey(key)
        try board.say(state)
      }
      let target = try isStep ? nextChange() : target()
      if target > board.commit {
        try advance(to: target)
      } else if let last, board.commit >= last, clock == nil || !isOnTerminal {
        return
      } else {
        try wait()
      }
    }
  }

  private var isOnTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  private var state: String {
    let speed = clock.map { " \(Self.shown($0.speed))×" } ?? ""
    let isOver = last.map { board.commit >= $0 } ?? false
    let now = isOver ? "the end" : isPaused ? "paused" : last == nil ? "live" : "replay\(speed)"
    return "[\(now)]  space n + - q"
  }

  private static func shown(_ speed: Double) -> String {
    speed == speed.rounded() ? String(Int(speed)) : String(format: "%.3g", speed)
  }

  private mutating func obey(_ key: BoardKey) {
    switch key {
    case .pause:
      isPaused.toggle()
      clock?.pause()
    case .faster: clock?.change(speed: 2)
    case .slower: clock?.change(speed: 0.5)
    case .step, .quit: break
    }
  }

  /// The commit to be shown now.
  private func target() throws -> CommitNumber {
    if isPaused { return board.commit }
    guard let last else { return store.newestCommit }
    guard let clock else { return min(board.commit + 1, last) }
    return min(try store.commit(at: .date(clock.time())), last)
  }

  /// The next commit there is to step to.
  private func nextChange() throws -> CommitNumber {
    min(board.commit + 1, last ?? store.newestCommit)
  }

  private mutating func advance(to target: CommitNumber) throws {
    guard try board.advance(to: target) else { return }
    changes += 1
    shownAt = .now
    try board.say(state)
  }

  /// A moment in which nothing happens; lines that have flipped turn back, and what ends the following
  /// is thrown.
  private mutating func wait() throws {
    if ContinuousClock.now - shownAt > .milliseconds(700) {
      try board.settle()
      try board.say(state)
      shownAt = .now + .seconds(1)
    }
    if last == nil {
      _ = try store.commit(at: .commit(0))
      if Output.isClosed { throw OutputClosed() }
    }
    usleep(10_000)
  }
}
