// Power fails at every call of a workload. Whichever unsynced writes survive, opening finds every
// promised commit.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

/// A log in use, and the expectations after a crash.
final class Workload {
  var disk: SimulatedFileSystem
  var random: SeededGenerator
  /// The payload of each sequenced commit, oldest first.
  var history: [[UInt8]] = []
  /// The number of commits that must survive.
  var promised = 0
  var segmentSize: UInt64
  /// Positions of synced commits, for openings that trust one.
  var positions: [LogPosition] = []
  var isTrusting = false
  private(set) var log: CommitLog?

  init(seed: UInt64) {
    disk = SimulatedFileSystem(seed: seed)
    random = SeededGenerator(seed: seed)
    segmentSize = [700, 2_000, 20_000].randomElement(using: &random) ?? 2_000
  }

  func options(_ access: LogAccess, _ recovery: RecoveryMode) -> LogOptions {
    var options = LogOptions(access: access, segmentSize: segmentSize, recovery: recovery)
    options.logger.logLevel = .critical
    return options
  }

  func open(_ access: LogAccess = .create, _ recovery: RecoveryMode = .tail) throws -> CommitLog {
    var options = options(access, recovery)
    if isTrusting { options.trusted = positions.randomElement(using: &random) }
    let opened = try CommitLog(directory: "log", fileSystem: disk, options: options)
    if let trusted = options.trusted {
      #expect(opened.trust == .accepted, "commit \(trusted.commit)")
    }
    log = opened
    return opened
  }

  func draft(_ number: CommitNumber) -> CommitDraft {
    // Some are so long that zeros are written ahead of the next ones.
    let isLong = number % 5 == 0
    let limit = isLong ? 4000 : [20, 300, 1500][Int(number % 3)]
    let count = Int.random(in: 0..<limit, using: &random)
    let payload = (0..<count).map { _ in UInt8.random(in: 0..<(isLong ? 200 : 4), using: &random) }
    let values =
      number % 4 == 0
      ? [LoggedValue(operation: 0, part: .object, bytes: Self.value(of: payload))] : []
    let durability: Durability =
      [.full, .unsynced, .relaxed(within: .seconds(1000)), .full, .unsynced]
      .randomElement(using: &random) ?? .full
    return CommitDraft(
      number: number, timestamp: Timestamp(microseconds: Int64(number)), operationCount: 1,
      payload: payload, values: values, durability: durability)
  }

  static func value(of payload: [UInt8]) -> [UInt8] { payload.map { $0 ^ 0x5A } + [1, 2, 3] }

  /// Commits, closes and reopens until `steps` are done or a call fails.
  func run(steps: Int) throws {
    var log = try open()
    for _ in 0..<steps {
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        try log.close()
        promised = history.count
        log = try open(.readWrite)
      case 1:
        try log.sync()
        promised = history.count
      default: try commit(log, Int.random(in: 1...3, using: &random))
      }
      if isTrusting, log.durable > 0 { positions.append(try log.position(of: log.durable)) }
    }
    try log.close()
    promised = history.count
  }

  private func commit(_ log: CommitLog, _ count: Int) throws {
    var tickets: [(CommitTicket, Durability)] = []
    for _ in 0..<count {
      let draft = draft(CommitNumber(history.count + 1))
      tickets.append((try log.append(draft), draft.durability))
      history.append(draft.payload)
    }
    for (ticket, durability) in tickets {
      try log.complete(ticket)
      if durability == .full { promised = max(promised, Int(ticket.number)) }
    }
  }

  /// The same workload on another disk.
  func copy(seed: UInt64, disk: SimulatedFileSystem) -> Workload {
    let work = Workload(seed: seed)
    work.disk = disk
    (work.segmentSize, work.history, work.promised) = (segmentSize, history, promised)
    (work.isTrusting, work.positions) = (isTrusting, positions)
    return work
  }

  /// Checks the content of a log after a crash, and returns its number of commits.
  func check(_ log: CommitLog, _ context: String) throws -> Int {
    let found = Int(log.completed)
    #expect(found >= promised, "\(context): \(found) of \(promised) promised commits")
    #expect(found <= history.count, "\(context)")
    var next = 0
    try log.replay(from: 1, through: CommitNumber(found)) { header, bytes in
      #expect(next < history.count && [UInt8](bytes) == history[next], "\(context)")
      next += 1
      #expect(header.number == CommitNumber(next))
      return true
    }
    #expect(next == found, "\(context)")
    for number in 1...CommitNumber(max(found, 1)) where number % 4 == 0 {
      let value = try log.value(commit: number, operation: 0, part: .object)
      #expect(value == Self.value(of: history[Int(number) - 1]), "\(context)")
    }
    return found
  }
}

struct CrashTests {
  @Test(
    "A power failure at any call, also during recovery, loses no promised commit and invents none",
    arguments: 0..<12 as Range<UInt64>)
  func crashSweep(seed: UInt64) throws { try sweep(seed: seed, isTrusting: false) }

  @Test(
    "The same holds when opening trusts the position of any synced commit",
    arguments: 0..<12 as Range<UInt64>)
  func trustingCrashSweep(seed: UInt64) throws { try sweep(seed: seed, isTrusting: true) }

  @Test(
    "After one or two kills at any call and a power failure, every visible commit is present",
    arguments: 0..<8 as Range<UInt64>, [false, true])
  func killSweep(seed: UInt64, isTrusting: Bool) throws {
    var call = 1
    while true {
      let work = Workload(seed: seed)
      work.isTrusting = isTrusting
      work.disk.crash(after: call)
      do {
        try work.run(steps: 10)
        break
      } catch { #expect(work.disk.isDown, "seed \(seed) call \(call): \(error)") }
      for kills in 1...2 {
        let context = "seed \(seed) call \(call) kills \(kills)"
        do {
          try endure(kills, work, seed &* 1000 &+ UInt64(call), context)
        } catch { Issue.record("\(context): \(error) \(work.disk.recentCalls)") }
      }
      call += 1
    }
    #expect(call > 10)
  }

  /// Kills, opens and commits; then power fails.
  private func endure(
    _ kills: Int, _ crashed: Workload, _ seed: UInt64, _ context: String
  ) throws {
    let work = crashed.copy(seed: seed, disk: crashed.disk.afterKill())
    for _ in 1..<kills {
      work.disk.crash(after: Int.random(in: 1...8, using: &work.random))
      #expect((try? work.open()) != nil || work.disk.isDown, "\(context)")
      work.disk = work.disk.afterKill()
    }
    let log = try work.open()
    let found = try work.check(log, context)
    work.history.removeLast(work.history.count - found)
    let draft = work.draft(CommitNumber(found + 1))
    try log.complete(log.append(draft))
    try log.sync()
    work.history.append(draft.payload)
    work.promised = found + 1
    let disk = work.disk
    for keep in 0..<3 as Range<UInt64> {
      work.disk = disk.afterCrash(seed: seed &+ keep, odds: keep == 0 ? 0 : nil)
      _ = try work.check(work.open(), context + " keep \(keep)")
    }
  }

  private func sweep(seed: UInt64, isTrusting: Bool) throws {
    var call = 1
    while true {
      let work = Workload(seed: seed)
      work.isTrusting = isTrusting
      work.disk.crash(after: call)
      do {
        try work.run(steps: 10)
        break
      } catch {
        #expect(work.disk.isDown, "seed \(seed) call \(call): \(error)")
      }
      for keep in 0..<4 as Range<UInt64> {
        let context = "seed \(seed) call \(call) keep \(keep)"
        do {
          try recover(work, from: work.disk, seed &* 1000 &+ UInt64(call) &* 10 &+ keep, context)
        } catch { Issue.record("\(context): \(error) \(work.disk.recentCalls)") }
      }
      call += 1
    }
    #expect(call > 10)
  }

  /// Recovers after a crash; power fails again during the recovery.
  private func recover(
    _ crashed: Workload, from disk: SimulatedFileSystem, _ seed: UInt64, _ context: String
  ) throws {
    let work = crashed.copy(seed: seed, disk: disk.afterCrash(seed: seed))
    // An opening for reading gives the same result and changes nothing.
    if work.promised > 0 {
      let reader = try work.open(.readOnly)
      _ = try work.check(reader, context + " reading")
      #expect(work.disk.callCount == 0)
    }
    for again in 1...3 {
      work.disk.crash(after: Int.random(in: 1...8, using: &work.random))
      guard (try? work.open()) == nil else { break }
      #expect(work.disk.isDown, "\(context) recovery \(again)")
      work.disk = work.disk.afterCrash(seed: seed &+ UInt64(again))
    }
    work.disk.crash(after: nil)
    work.disk = work.disk.afterCrash(seed: seed &+ 7)
    let log = try work.open()
    let found = try work.check(log, context)
    work.history.removeLast(work.history.count - found)
    work.promised = found
    // Commits that were visible stay, whatever the next crash takes.
    work.disk = work.disk.afterCrash(seed: seed, odds: 0)
    let seen = try work.open()
    #expect(try work.check(seen, context + " seen") == found)
    try work.run(steps: 5)
    let exact = try work.open(.readWrite, .exact)
    #expect(try work.check(exact, context + " exact") == work.history.count)
    try exact.close()
    #expect(verifyLog(directory: "log", fileSystem: work.disk) == [], "\(context)")
  }
}
