// The check of writers that race: each number belongs to exactly one entry, and each append tells
// the truth about its own.

internal import Foundation
internal import TreeRingPlatform
internal import TreeRingReplication

/// An append and its outcome.
private struct AppendCall: Sendable {
  var expected: UInt64
  var entries: [[UInt8]]
  var outcome: AppendOutcome
}

extension SharedLogChecks {
  /// Six writers over all objects, and a reader that follows.
  func race(_ trial: Trial) throws {
    let calls = Mutex<[AppendCall]>([])
    let followed = Mutex<[[UInt8]]>([])
    let failures = Mutex<[String]>([])
    let areWritersDone = Mutex(false)
    let (logs, patience, seed) = (trial.logs, patience, seed)
    let writers = threads(6) { number in
      var generator = SplitMix(state: seed &+ UInt64(number) << 32)
      do throws(SharedLogError) {
        try Self.write(number, to: logs[number % logs.count], patience, &generator) { call in
          calls.withLock { $0.append(call) }
        }
      } catch {
        failures.withLock { $0.append("a writer failed: \(error)") }
      }
    }
    let follower = threads(1) { _ in
      do throws(SharedLogError) {
        let log = logs[logs.count - 1]
        while true {
          let isLast = areWritersDone.withLock(\.self)
          let next = followed.withLock { UInt64($0.count) + 1 }
          let last = isLast ? try log.ends(within: patience).last : .max
          if next > last { return }
          let read = try log.read(
            from: next, byteLimit: 5000, within: isLast ? patience : .milliseconds(50))
          if isLast, read.isEmpty { return }
          followed.withLock { $0 += read }
        }
      } catch {
        failures.withLock { $0.append("a reader failed: \(error)") }
      }
    }
    writers.wait()
    areWritersDone.withLock { $0 = true }
    follower.wait()
    for failure in failures.withLock(\.self) { trial.report(failure) }
    let entries = followed.withLock(\.self)
    let ends = try trial.log.ends(within: patience)
    trial.expect(
      ends, SharedLogEnds(first: 1, last: UInt64(entries.count)), "the ends of the entries read")
    trial.model = entries
    try trial.compare()
    judge(calls.withLock(\.self), entries, trial)
  }

  /// Appends batches, each after the newest entry that the writer knows of.
  private static func write(
    _ number: Int, to log: any SharedLog, _ patience: Duration, _ generator: inout SplitMix,
    _ record: (AppendCall) -> Void
  ) throws(SharedLogError) {
    var expected: UInt64 = 0
    for round in 0..<40 {
      let count = Int.random(in: 1...4, using: &generator)
      let entries = (0..<count).map { index in
        [UInt8(number), UInt8(round), UInt8(index)]
          + Array(repeating: 65, count: Int.random(in: 0...200, using: &generator))
      }
      let outcome = try log.append(entries, after: expected, within: patience)
      record(AppendCall(expected: expected, entries: entries, outcome: outcome))
      if outcome == .appended {
        expected += UInt64(count)
      } else {
        expected = try log.ends(within: patience).last
      }
      // Now and then a writer looks away, and others get ahead of it.
      if Int.random(in: 0..<4, using: &generator) == 0 { Platform.sleep(.milliseconds(1)) }
    }
  }

  private func judge(_ calls: [AppendCall], _ entries: [[UInt8]], _ trial: Trial) {
    var appendedCount = 0
    for call in calls {
      let start = Int(call.expected)
      let kept = zip(call.entries, entries.dropFirst(start)).prefix { $0 == $1 }.count
      appendedCount += kept
      let what = "an append of \(call.entries.count) entries after \(call.expected)"
      switch call.outcome {
      case .appended:
        trial.expect(kept == call.entries.count, "\(what) was appended, but \(kept) are there")
      case .conflict:
        trial.expect(kept < call.entries.count, "\(what) was a conflict, but all are there")
        trial.expect(
          start + kept < entries.count,
          "\(what) was a conflict, but nothing else has its place")
      case .unknown(let text):
        trial.report("the outcome of \(what) is unknown: \(text)")
      }
    }
    trial.expect(
      appendedCount == entries.count,
      "the log has \(entries.count) entries; \(appendedCount) are where their appends put them")
    trial.expect(Set(entries).count == entries.count, "the log has an entry twice")
  }
}
