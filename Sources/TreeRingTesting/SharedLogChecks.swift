// The conformance suite of shared logs: the same calls on every adapter, compared with a list of
// entries. SharedLogChecks+Reading.swift and SharedLogChecks+Race.swift have further checks.

internal import Foundation
internal import TreeRingPlatform
public import TreeRingReplication

/// The conformance suite of adapters: checks that a `SharedLog` keeps its contract.
///
///     let report = SharedLogChecks(seed: 1).run { count in
///       let log = MemoryLog()
///       return Array(repeating: log, count: count)
///     }
///     precondition(report.problems.isEmpty)
///
/// It kills no machines: an adapter for a log of several needs tests of its own for that.
public struct SharedLogChecks: Sendable {
  /// The seed of sizes, bytes and numbers. The same seed makes the same calls, except in the race.
  public let seed: UInt64
  /// The time limit of calls that should succeed.
  public let patience: Duration

  /// Creates a suite.
  /// - Parameters:
  ///   - seed: The seed of everything random.
  ///   - patience: The time limit of calls that should succeed. It may be generous: a sound log
  ///     uses little of it.
  public init(seed: UInt64, patience: Duration = .seconds(20)) {
    (self.seed, self.patience) = (seed, patience)
  }

  /// The result of a run.
  public struct Report: Hashable, Sendable {
    /// The names of the checks, in order.
    public internal(set) var checks: [String] = []
    /// The breaches of the contract, each a sentence; none if all is well.
    public internal(set) var problems: [String] = []
  }

  /// Runs all checks, each on a fresh log. The time is that of some thousand calls.
  /// - Parameter makeLog: Makes an empty log and gives so many objects over it, such as
  ///   connections of their own. They may be one and the same.
  public func run(_ makeLog: (_ count: Int) throws -> [any SharedLog]) -> Report {
    var report = Report()
    let checks: [(String, Int, (Trial) throws -> Void)] = [
      ("an empty log", 1, emptyLog), ("expected numbers", 2, expectedNumbers),
      ("batches", 2, batches), ("sizes of entries", 1, sizes), ("reading", 2, reading),
      ("waiting", 3, waiting), ("trimming", 2, trimming), ("a race of writers", 3, race),
    ]
    for (index, (name, count, check)) in checks.enumerated() {
      report.checks.append(name)
      do {
        let logs = try makeLog(count)
        precondition(logs.count == count, "a check needs as many logs as it asks for")
        let trial = Trial(name, logs, seed &* 31 &+ UInt64(index), patience)
        do {
          try check(trial)
        } catch {
          trial.report("\(error)")
        }
        report.problems += trial.problems
      } catch {
        report.problems.append("\(name): the log could not be made: \(error)")
      }
    }
    return report
  }

  private func emptyLog(_ trial: Trial) throws {
    let log = trial.log
    trial.expect(
      log.entryByteLimit >= 65_536, "the limit of entries is \(log.entryByteLimit) bytes")
    trial.expect(try log.ends(within: patience), SharedLogEnds(first: 1, last: 0), "the ends")
    for first in [1, 2, 100] as [UInt64] {
      let entries = try log.read(from: first, byteLimit: 1000, within: .zero)
      trial.expect(entries.isEmpty, "a read from \(first) gives \(entries.count) entries")
    }
    try log.trim(before: 1, within: patience)
    try log.trim(before: 10, within: patience)
    trial.expect(
      try log.ends(within: patience), SharedLogEnds(first: 1, last: 0), "the ends after a trim")
    let outcome = try log.append([[7]], after: 9, within: patience)
    trial.expect(outcome, .conflict, "an append after 9")
    try trial.append([[1], [2]])
    try trial.compare()
  }

  private func expectedNumbers(_ trial: Trial) throws {
    for round in 0..<6 {
      try trial.append(trial.entries(1 + round % 3))
      if trial.isHopeless { return }
      for expected in 0..<UInt64(trial.model.count + 4) where expected != trial.model.count {
        let log = trial.logs[Int(expected) % trial.logs.count]
        let outcome = try log.append(
          trial.entries(1 + Int(expected) % 2), after: expected, within: patience)
        trial.expect(
          outcome, .conflict, "an append after \(expected) to \(trial.model.count) entries")
      }
      let last = UInt64(trial.model.count)
      for log in trial.logs {
        trial.expect(
          try log.ends(within: patience), SharedLogEnds(first: 1, last: last), "the ends")
      }
    }
    // A log may recognize a repeated call. Either way it has no second copy.
    let repeated = trial.entries(1)
    try trial.append(repeated)
    let outcome = try trial.log.append(
      repeated, after: UInt64(trial.model.count - 1), within: patience)
    if case .unknown(let text) = outcome {
      trial.report("the outcome of a repeated append is unknown: \(text)")
    }
    try trial.compare()
  }

  private func batches(_ trial: Trial) throws {
    for count in [1, 2, 3, 17, 200, 1, 60, 1100] {
      try trial.append(trial.entries(count), by: count % trial.logs.count)
      // A batch after a wrong number leaves nothing behind.
      let wrong = UInt64(trial.model.count) + (count % 2 == 0 ? 1 : 0) - 1
      if wrong != trial.model.count {
        let outcome = try trial.log.append(trial.entries(5), after: wrong, within: patience)
        trial.expect(outcome, .conflict, "five entries after \(wrong)")
      }
    }
    try trial.compare()
  }

  private func sizes(_ trial: Trial) throws {
    let limit = trial.log.entryByteLimit
    var sizes: Set<Int> = [0, 1, 2, 3, 1000, limit - 1, limit]
    for power in stride(from: 4, through: 20, by: 4) {
      sizes.formUnion([(1 << power) - 1, 1 << power, (1 << power) + 1])
    }
    for size in sizes.sorted() where size <= limit {
      try trial.append([trial.bytes(size)])
    }
    try trial.append([[], [], trial.bytes(limit), [], trial.bytes(limit), [10], [13, 10, 0]])
    try trial.append((0..<5).map { _ in trial.bytes(min(limit, 1 << 20)) })
    try trial.compare()
  }

  private func trimming(_ trial: Trial) throws {
    let log = trial.log
    try trial.append(trial.entries(12))
    try trial.append(trial.entries(8))
    for first in [8, 5, 8, 1, 0] as [UInt64] {
      try log.trim(before: first, within: patience)
      for log in trial.logs {
        trial.expect(
          try log.ends(within: patience), SharedLogEnds(first: 8, last: 20),
          "the ends after a trim before \(first)")
      }
    }
    try trial.expectTrimmed([1, 7], first: 8)
    try trial.compare(from: 8)
    try trial.append(trial.entries(1))
    try log.trim(before: 1000, within: patience)
    for log in trial.logs {
      trial.expect(
        try log.ends(within: patience), SharedLogEnds(first: 21, last: 21),
        "the ends after a trim beyond the end")
    }
    try trial.expectTrimmed([8, 20], first: 21)
    let outcome = try log.append(trial.entries(1), after: 20, within: patience)
    trial.expect(outcome, .conflict, "an append after a number that was trimmed")
    try trial.append(trial.entries(3))
    try trial.compare(from: 21)
    trial.expect(
      try log.ends(within: patience), SharedLogEnds(first: 21, last: 24), "the ends at last")
  }
}

/// One check: the log, the entries that it should have, and the problems so far.
final class Trial {
  let logs: [any SharedLog]
  let patience: Duration
  private let name: String
  private var generator: SplitMix
  /// The entries that the log should have or have had, from number 1 on.
  var model: [[UInt8]] = []
  private(set) var problems: [String] = []

  init(_ name: String, _ logs: [any SharedLog], _ seed: UInt64, _ patience: Duration) {
    (self.name, self.logs, self.patience) = (name, logs, patience)
    generator = SplitMix(state: seed)
  }

  var log: any SharedLog { logs[0] }

  func report(_ problem: String) { problems.append("\(name): \(problem)") }

  /// Whether the check need not go on: more problems would say no more, and each may take a wait.
  var isHopeless: Bool { problems.count >= 5 }

  func expect(_ isFulfilled: Bool, _ problem: @autoclosure () -> String) {
    if !isFulfilled { report("\(problem()).") }
  }

  func expect<Value: Equatable>(_ value: Value, _ wanted: Value, _ what: String) {
    if value != wanted { report("\(what): \(value) instead of \(wanted).") }
  }

  func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }

  /// Random bytes; half of them such as could end a line or a text.
  func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      for index in 0..<count {
        let word = generator.next()
        let end: UInt8 = [0, 10, 13, 255][Int(word >> 1 & 3)]
        buffer[index] = word & 1 == 0 ? end : UInt8(truncatingIfNeeded: word >> 8)
      }
      initializedCount = count
    }
  }

  /// Entries of some hundred bytes, each different from all others.
  func entries(_ count: Int) -> [[UInt8]] {
    (0..<count).map { _ in bytes(16 + number(0...600)) }
  }

  /// Appends entries, which must succeed.
  func append(_ entries: [[UInt8]], by index: Int = 0) throws {
    let outcome = try logs[index].append(
      entries, after: UInt64(model.count), within: patience)
    expect(outcome, .appended, "an append of \(entries.count) entries after \(model.count)")
    model += entries
  }

  /// Reads the whole log through each object, and compares it with the model.
  func compare(from first: Int = 1) throws {
    for log in logs where !isHopeless {
      var next = first
      while next <= model.count {
        let read = try log.read(from: UInt64(next), byteLimit: 200_000, within: patience)
        if read.isEmpty { return report("entry \(next) of \(model.count) does not arrive.") }
        for entry in read {
          guard next <= model.count else { return report("there is an entry \(next).") }
          guard entry == model[next - 1] else {
            return report("entry \(next) has other bytes than those that were appended.")
          }
          next += 1
        }
      }
    }
  }

  /// Checks that entries were trimmed. A log of several machines may answer for a while from one
  /// that still has them.
  func expectTrimmed(_ numbers: [UInt64], first: UInt64) throws {
    for (number, log) in numbers.flatMap({ number in logs.map { (number, $0) } }) {
      let deadline = ContinuousClock.now + patience
      while true {
        do throws(SharedLogError) {
          let read = try log.read(from: number, byteLimit: 1, within: .zero)
          if let entry = read.first, entry != model[Int(number) - 1] {
            return report("a read of the trimmed entry \(number) gives another one.")
          }
        } catch {
          expect(error, .trimmed(first: first), "a read of the trimmed entry \(number)")
          break
        }
        guard ContinuousClock.now < deadline else {
          return report("a read of the trimmed entry \(number) does not say so.")
        }
        Platform.sleep(.milliseconds(20))
      }
    }
  }
}

/// A seeded generator (SplitMix64, Steele, Lea and Flood 2014).
struct SplitMix: RandomNumberGenerator, Sendable {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
