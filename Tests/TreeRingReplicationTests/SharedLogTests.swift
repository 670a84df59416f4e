// The logs for one process, and the suite for shared logs itself: logs with flaws must fail it.

import TestSupport
import Testing
import TreeRingPlatform
import TreeRingReplication
import TreeRingTesting

@Suite struct SharedLogTests {
  @Test("A log in memory keeps the contract of shared logs")
  func contract() {
    for seed in seeds(1...3) {
      let report = SharedLogChecks(seed: seed).run { count in
        let log = MemoryLog()
        return Array(repeating: log, count: count)
      }
      #expect(report.problems == [], "seed \(seed)")
      #expect(report.checks.count == 8)
    }
  }

  @Test("A log in a folder keeps the contract of shared logs")
  func folder() throws {
    let folder = try TemporaryFolder()
    let report = SharedLogChecks(seed: 7).run { count in
      let log = try FileLog(at: folder.path + "/\(UInt64.random(in: 0 ... .max))")
      return Array(repeating: log, count: count)
    }
    #expect(report.problems == [])
  }

  @Test("The limit of entries is the one asked for, and objects over different logs are a problem")
  func limit() {
    let report = SharedLogChecks(seed: 3, patience: .milliseconds(100)).run { count in
      (0..<count).map { _ in MemoryLog(entryByteLimit: 70_000) }
    }
    #expect(MemoryLog(entryByteLimit: 70_000).entryByteLimit == 70_000)
    let checks = Set(report.problems.map { $0.prefix { $0 != ":" } })
    #expect(checks.isSuperset(of: ["expected numbers", "batches", "reading", "trimming"]))
    #expect(!checks.contains("sizes of entries") && !checks.contains("an empty log"))
  }

  @Test("The suite finds each flaw", arguments: Flaw.allCases)
  func flaws(_ flaw: Flaw) {
    let report = SharedLogChecks(seed: 4, patience: .milliseconds(500)).run { count in
      let log = FlawedLog(flaw)
      return Array(repeating: log, count: count)
    }
    #expect(!report.problems.isEmpty)
  }
}

/// A breach of the contract.
enum Flaw: CaseIterable, Sendable {
  case appendsTwice, ignoresExpected, acceptsFuture, reportsConflict, losesEmptyEntries
  case readsOneLate, ignoresByteLimit, neverWaits, neverWakes, trimsNewest, forgetsTrim
  case restartsNumbers, losesEnd, swapsEntries
}

/// A log in memory with a flaw.
private final class FlawedLog: SharedLog {
  let flaw: Flaw
  let log = MemoryLog()
  let appendCount = Mutex(0)

  init(_ flaw: Flaw) { self.flaw = flaw }

  var entryByteLimit: Int { log.entryByteLimit }

  func ends(within limit: Duration) throws(SharedLogError) -> SharedLogEnds {
    var ends = try log.ends(within: limit)
    if flaw == .restartsNumbers, ends.first > 1 { ends.last = ends.last - ends.first + 1 }
    if flaw == .forgetsTrim { ends.first = 1 }
    if flaw == .trimsNewest, ends.first == ends.last, ends.last > 1 { ends.first += 1 }
    return ends
  }

  func append(
    _ entries: [[UInt8]], after expected: UInt64, within limit: Duration
  ) throws(SharedLogError) -> AppendOutcome {
    let number = appendCount.withLock { count in
      count += 1
      return count
    }
    let last = try log.ends(within: limit).last
    var (entries, expected) = (entries, expected)
    if flaw == .ignoresExpected { expected = last }
    if flaw == .acceptsFuture, expected > last { expected = last }
    if flaw == .appendsTwice { entries += entries }
    if flaw == .losesEmptyEntries { entries = entries.map { $0.isEmpty ? [0] : $0 } }
    if flaw == .swapsEntries { entries.reverse() }
    if flaw == .losesEnd, entries.count > 1, number % 3 == 0 { entries.removeLast() }
    let outcome = try log.append(entries, after: expected, within: limit)
    if flaw == .reportsConflict, number % 7 == 0 { return .conflict }
    return outcome
  }

  func read(
    from first: UInt64, byteLimit: Int, within limit: Duration
  ) throws(SharedLogError) -> [[UInt8]] {
    switch flaw {
    case .readsOneLate:
      return try log.read(from: first + 1, byteLimit: byteLimit, within: limit)
    case .ignoresByteLimit: return try log.read(from: first, byteLimit: .max, within: limit)
    case .neverWaits: return try log.read(from: first, byteLimit: byteLimit, within: .zero)
    case .neverWakes:
      let read = try log.read(from: first, byteLimit: byteLimit, within: .zero)
      if !read.isEmpty { return read }
      Platform.sleep(limit)
      return try log.read(from: first, byteLimit: byteLimit, within: .zero)
    default: return try log.read(from: first, byteLimit: byteLimit, within: limit)
    }
  }

  func trim(before first: UInt64, within limit: Duration) throws(SharedLogError) {
    try log.trim(before: first, within: limit)
  }
}
