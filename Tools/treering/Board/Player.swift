// Advances a board: by commits of another process, a clock, or keys.

import Foundation
import TreeRing
import TreeRingLog

/// Plays a board to its end.
struct Player {
  let store: Store
  private(set) var board: Board
  private let limit: Int
  private var clock: BoardClock?
  /// The last commit of a replay; nil for a live board.
  private let last: CommitNumber?
  /// The next key pressed; nil if none is waiting.
  private let nextKey: () -> BoardKey?
  private var isPaused = false
  private var changes = 0
  /// The moment at which the last change was shown.
  private var shownAt = ContinuousClock.now

  init(
    store: Store, board: Board, limit: Int, clock: BoardClock?, last: CommitNumber?,
    nextKey: @escaping () -> BoardKey?
  ) {
    self.store = store
    self.board = board
    self.limit = limit
    self.clock = clock
    self.last = last
    self.nextKey = nextKey
  }

  /// Plays until the replay is over, the limit is reached, the user quits, or the reader closes the
  /// pipe.
  mutating func play() throws {
    try board.say(state)
    while changes < limit, !Interrupt.isRequested {
      if let key = nextKey() {
        if key == .quit { return }
        try obey(key)
        try board.say(state)
      }
      let target = try target()
      if target > board.commit {
        try advance(to: target)
      } else if let last, board.commit >= last, clock == nil || !board.isOnScreen {
        return
      } else {
        try wait()
      }
    }
  }

  private var state: String {
    let speed = clock.map { " \(Self.shown($0.speed))×" } ?? ""
    let isOver = last.map { board.commit >= $0 } ?? false
    return isOver ? "the end" : isPaused ? "paused" : last == nil ? "live" : "replay\(speed)"
  }

  private static func shown(_ speed: Double) -> String {
    speed == speed.rounded() ? String(Int(speed)) : String(format: "%.3g", speed)
  }

  private mutating func obey(_ key: BoardKey) throws {
    switch key {
    case .pause:
      isPaused.toggle()
      clock?.pause()
    case .faster: clock?.change(speed: 2)
    case .slower: clock?.change(speed: 0.5)
    case .step: try step()
    case .up, .down, .pageUp, .pageDown, .top, .end: try board.scroll(key)
    case .quit: break
    }
  }

  /// Advances to the next commit that changes the shown rows, and sets the clock to it.
  private mutating func step() throws {
    let end = last ?? store.newestCommit
    while board.commit < end, !Interrupt.isRequested {
      if try advance(to: board.commit + 1) { break }
    }
    guard clock != nil, board.commit > 0 else { return }
    let moment = try store.commit(board.commit).timestamp
    clock?.go(to: moment)
  }

  /// The commit that is due now.
  private func target() throws -> CommitNumber {
    if isPaused { return board.commit }
    guard let last else { return store.newestCommit }
    guard let clock else { return min(board.commit + 1, last) }
    return min(try store.commit(at: .date(clock.time())), last)
  }

  /// Advances to a commit. A live board advances to the horizon if that lies beyond the commit.
  /// - Returns: true if the shown rows changed.
  @discardableResult
  private mutating func advance(to target: CommitNumber) throws -> Bool {
    do {
      guard try board.advance(to: target) else { return false }
    } catch let error as TreeRingError where error.code == .beyondHorizon {
      guard last == nil, let horizon = error.current, horizon > target else { throw error }
      // A follower may learn of the writer's horizon before that commit is visible here. A snapshot
      // of the newest state waits for it.
      _ = try store.snapshot()
      return try advance(to: horizon)
    }
    changes += 1
    shownAt = .now
    try board.say(state)
    return true
  }

  /// Pauses for a moment, and ends the highlighting of changed lines.
  /// - Throws: the error that ended following the writer; `OutputClosed` if the pipe is closed.
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
