// The pace of an import: commits come as their dates say, so many times as fast, instead of as fast
// as they can. So a history from a file looks like a process that writes.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLog

/// The delays of an import's commits.
struct ImportPace {
  /// Seconds of history in a second.
  let speed: Double
  /// Commits with an earlier date come without delay; nil delays all.
  let begin: Timestamp?
  /// The date of the last delayed commit, and the moment when it was due.
  private var last: (date: Timestamp, due: ContinuousClock.Instant)?

  /// The longest delay of one commit: a night does not stop the show.
  private static let longest = Duration.seconds(2)
  /// The time after which a wait looks for Ctrl-C.
  private static let slice = Duration.milliseconds(50)

  init(speed: Double, begin: Timestamp?) {
    self.speed = speed
    self.begin = begin
  }

  /// Waits until a commit is due. A commit without a date is due at once. Ctrl-C ends the wait.
  mutating func wait(for date: Timestamp?) {
    guard let date, begin.map({ date >= $0 }) ?? true else { return }
    let now = ContinuousClock.now
    let due = last.map { self.due(date, after: $0, at: now) } ?? now
    last = (date, due)
    while !Interrupt.isRequested {
      let rest = due - ContinuousClock.now
      guard rest > .zero else { return }
      let pause = min(rest, Self.slice)
      usleep(UInt32(pause / .microseconds(1)))
    }
  }

  /// The moment when a commit is due. One that is late does not make the next ones early.
  private func due(
    _ date: Timestamp, after last: (date: Timestamp, due: ContinuousClock.Instant),
    at now: ContinuousClock.Instant
  ) -> ContinuousClock.Instant {
    let (gap, overflow) = date.microseconds.subtractingReportingOverflow(last.date.microseconds)
    guard !overflow, gap > 0 else { return last.due }
    let seconds = Double(gap) / 1_000_000 / speed
    let delay = seconds < 2 ? Duration.seconds(seconds) : Self.longest
    return max(last.due + delay, now - Self.longest)
  }
}

/// A date as an argument.
enum ImportDate {
  static func parse(_ text: String) throws -> Timestamp {
    do throws(TreeRingError) {
      return try ISO8601.parse(text)
    } catch {
      throw ValidationError(error.message)
    }
  }
}
