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
  /// The next key pressed; nil if none is waiting.
  private let nextKey: () -> BoardKey?
  private var isPaused = false
  private var changes = 0
  /// When the last change was shown.
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

  /// Goes on until the replay is over, the limit is reached, somebody quits, or nobody reads any more.
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
    case .quit: break
    }
  }

  /// Goes on to the next commit that changes what is shown, and sets the clock by it.
  private mutating func step() throws {
    let end = last ?? store.newestCommit
    while board.commit < end, !Interrupt.isRequested {
      if try advance(to: board.commit + 1) { break }
    }
    guard clock != nil, board.commit > 0 else { return }
    let moment = try store.commit(board.commit).timestamp
    clock?.go(to: moment)
  }

  /// The commit to be shown now.
  private func target() throws -> CommitNumber {
    if isPaused { return board.commit }
    guard let last else { return store.newestCommit }
    guard let clock else { return min(board.commit + 1, last) }
    return min(try store.commit(at: .date(clock.time())), last)
  }

  /// Goes on to a commit; a live board to the horizon, where that has passed the commit.
  /// - Returns: whether that has changed what is shown.
  @discardableResult
  private mutating func advance(to target: CommitNumber) throws -> Bool {
    do {
      guard try board.advance(to: target) else { return false }
    } catch let error as TreeRingError where error.code == .beyondHorizon {
      guard last == nil, let horizon = error.current, horizon > target else { throw error }
      // Who follows a writer may hear of its horizon before that commit is visible here; a snapshot of
      // the newest state waits for it.
      _ = try store.snapshot()
      return try advance(to: horizon)
    }
    changes += 1
    shownAt = .now
    try board.say(state)
    return true
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
