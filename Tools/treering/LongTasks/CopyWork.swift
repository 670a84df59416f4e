// The common part of backup, restore and salvage: progress, Ctrl-C, and the final report.

import TreeRing
import TreeRingLive
import TreeRingLog

/// One piece of copying work.
final class CopyWork {
  private let what: String
  private var bar: ProgressBar?
  private let start = ContinuousClock.now

  /// Begins work that Ctrl-C cancels.
  init(_ what: String) {
    self.what = what
    Interrupt.watch()
  }

  /// Draws the progress; false if the work should stop.
  func goOn(_ progress: CopyProgress) -> Bool {
    let bar = bar ?? ProgressBar(what, total: progress.byteCount)
    self.bar = bar
    bar.update(
      done: progress.doneByteCount, count: progress.doneByteCount >> 20, unit: "MiB")
    return !Interrupt.isRequested
  }

  /// Removes the bar; returns the seconds since the beginning.
  func finish() -> Double {
    bar?.finish()
    return (ContinuousClock.now - start) / .seconds(1)
  }

  /// Runs the work. A target that cannot be created gets exit code 73.
  func run<R>(_ body: () throws -> R) throws -> R {
    defer { bar?.finish() }
    return try Self.refusing(body)
  }

  /// Runs work that creates a folder. A folder that cannot be created gets exit code 73.
  static func refusing<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as TreeRingError where [.alreadyExists, .conflict].contains(error.code) {
      throw Failure(.cannotCreate, error.description)
    } catch let error as TreeRingError where error.code == .notFound {
      throw Failure(.noInput, error.description)
    }
  }

  /// Prints the contents of a copy.
  static func report(
    _ report: CopyReport, _ seconds: Double, sentence: String, _ output: Output
  ) throws {
    guard output.isJSON else { return try output.line(sentence) }
    try output.object {
      $0.number("last", report.lastCommit)
      $0.number("segments", report.segmentCount)
      $0.number("bytes", report.byteCount)
      $0.number("copied", report.copiedByteCount)
      $0.number("linked", report.linkedByteCount)
      $0.number("kept", report.keptByteCount)
      $0.number("seconds", seconds, digits: 3)
    }
  }
}
