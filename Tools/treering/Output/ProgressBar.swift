// A progress bar on stderr with rate and time left. It appears for work that takes over a second,
// if stderr is a terminal that is not dumb. It does not affect stdout.

import Foundation

/// Progress of one piece of work.
final class ProgressBar {
  private let what: String
  private let total: UInt64?
  private let isShown: Bool
  private let start = ContinuousClock.now
  private var last = ContinuousClock.now
  private var hasDrawn = false

  /// Called for every update, drawn or not; for tests.
  @TaskLocal static var whenUpdated: (@Sendable (_ what: String, _ done: UInt64) -> Void)?

  /// Progress of work with a name; `total` is the final amount, if known.
  init(_ what: String, total: UInt64?) {
    self.what = what
    self.total = total
    isShown = isatty(STDERR_FILENO) == 1 && !Terminal.isDumb
  }

  /// Draws the progress, at most ten times a second.
  ///
  /// - Parameters:
  ///   - done: the amount reached, in the unit of the total.
  ///   - total: the final amount, if it was unknown before.
  ///   - count: the number of things handled, for the rate.
  func update(done: UInt64, of total: UInt64? = nil, count: UInt64, unit: String) {
    Self.whenUpdated?(what, done)
    guard isShown else { return }
    let now = ContinuousClock.now
    guard now - start > .seconds(1), now - last > .milliseconds(100) else { return }
    last = now
    hasDrawn = true
    let seconds = (now - start) / .seconds(1)
    var line = "\r\u{1B}[K\(what) "
    if let total = total ?? self.total, total > 0 {
      let part = min(1, Double(done) / Double(total))
      let filled = Int(part * 30)
      line += String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
      line += String(format: " %3.0f %%  ", part * 100)
      if part > 0 { line += "ETA \(Int((seconds / part - seconds).rounded(.up))) s  " }
    }
    line += "\(Int(Double(count) / seconds)) \(unit)/s"
    StandardError.write(line)
  }

  /// Removes the bar.
  func finish() {
    if hasDrawn { StandardError.write("\r\u{1B}[K") }
  }
}
