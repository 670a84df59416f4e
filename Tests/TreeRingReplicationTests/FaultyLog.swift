// A shared log whose answers are lost, late, repeated and out of order, by a seed. Its entries are
// those of a MemoryLog: what happened is never in doubt, only what the caller learns of it.

import TestSupport
import TreeRingPlatform

@testable import TreeRingReplication

/// The kinds of faults that a faulty log makes, each in percent of the calls.
struct LogFaults: Sendable {
  /// The entry never arrives, and the call has no answer.
  var lost = 0
  /// The entry arrives, and the answer is lost.
  var unanswered = 0
  /// The entry arrives later, before some other call, and the call has no answer.
  var late = 0
  /// The entry arrives twice.
  var repeated = 0
  /// A read answers from a machine that lacks the newest entries.
  var lagging = 0
  /// A call fails for lack of a quorum.
  var unavailable = 0
  /// An append is refused, as by a full log.
  var refused = 0

  static let many = LogFaults(
    lost: 10, unanswered: 10, late: 15, repeated: 10, lagging: 20, unavailable: 10)
}

final class FaultyLog: SharedLog {
  private struct State {
    var random: SeededGenerator
    var faults: LogFaults
    /// Appends under way, in any order.
    var late: [(entries: [[UInt8]], expected: UInt64)] = []
  }

  let log: MemoryLog
  private let state: Mutex<State>

  let entryByteLimit: Int

  /// - Parameter entryByteLimit: A small one makes parts of small batches.
  init(_ log: MemoryLog, seed: UInt64, faults: LogFaults, entryByteLimit: Int = 65_536) {
    self.log = log
    self.entryByteLimit = entryByteLimit
    state = Mutex(State(random: SeededGenerator(seed: seed), faults: faults))
  }

  /// Changes the faults that later calls have.
  func set(_ change: (inout LogFaults) -> Void) { state.withLock { change(&$0.faults) } }

  /// Ends all faults; what is under way arrives.
  func heal() {
    state.withLock { $0.faults = LogFaults() }
    arrive(all: true)
  }

  func ends(within limit: Duration) throws(SharedLogError) -> SharedLogEnds {
    arrive()
    if happens(\.unavailable) { throw .unavailable("no quorum") }
    return try log.ends(within: limit)
  }

  func append(
    _ entries: [[UInt8]], after expected: UInt64, within limit: Duration
  ) throws(SharedLogError) -> AppendOutcome {
    arrive()
    if happens(\.unavailable) { throw .unavailable("no quorum") }
    if happens(\.refused) { throw .refused("The log is full.") }
    if happens(\.lost) {
      // Some of several may have arrived.
      let count = number(in: 0..<entries.count)
      if count > 0 { _ = try log.append(Array(entries[..<count]), after: expected, within: limit) }
      return .unknown("lost")
    }
    if happens(\.late) {
      state.withLock { $0.late.append((entries, expected)) }
      return .unknown("late")
    }
    let outcome = try log.append(entries, after: expected, within: limit)
    if happens(\.repeated) { _ = try log.append(entries, after: expected, within: limit) }
    return happens(\.unanswered) ? .unknown("unanswered") : outcome
  }

  func read(
    from first: UInt64, byteLimit: Int, within limit: Duration
  ) throws(SharedLogError) -> [[UInt8]] {
    arrive()
    if happens(\.unavailable) { throw .unavailable("no quorum") }
    let entries = try log.read(from: first, byteLimit: byteLimit, within: .zero)
    if !happens(\.lagging) { return entries }
    return Array(entries[..<number(in: 0..<(entries.count + 1))])
  }

  func trim(before first: UInt64, within limit: Duration) throws(SharedLogError) {
    try log.trim(before: first, within: limit)
  }

  private func happens(_ fault: KeyPath<LogFaults, Int>) -> Bool {
    state.withLock { Int.random(in: 0..<100, using: &$0.random) < $0.faults[keyPath: fault] }
  }

  private func number(in range: Range<Int>) -> Int {
    state.withLock { Int.random(in: range, using: &$0.random) }
  }

  /// Lets some late appends arrive.
  private func arrive(all: Bool = false) {
    let arriving = state.withLock { state in
      var arriving: [(entries: [[UInt8]], expected: UInt64)] = []
      for index in state.late.indices.reversed()
      where all || Int.random(in: 0..<4, using: &state.random) == 0 {
        arriving.append(state.late.remove(at: index))
      }
      return arriving
    }
    for (entries, expected) in arriving {
      _ = try? log.append(entries, after: expected, within: .zero)
    }
  }
}
