// Power fails before every call of a workload, and the disk keeps some of the unsynced writes. In
// every such state, promised commits exist, the store shows a state that existed, indexes and
// history agree with it, a state seen once remains, and work continues.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Crash sweep of the store")
struct CrashSweepTests {
  /// A moment of a run: the disk before a call, and the promises so far.
  struct Moment: Sendable {
    var call: Int
    var what: String
    /// The name of the running step.
    var step: String
    var promised: Promised
    var disk: SimulatedFileSystem
  }

  @Test("Power may fail at any call, even while opening", arguments: seeds(1...1))
  func crashAnywhere(seed: UInt64) throws {
    try Self.crash(SweepWorkload.mixed(seed: seed), seed: seed, keepCount: 3, "power fails")
  }

  @Test(
    "Power may fail at any call when memory is short, and pages are written before their commits",
    arguments: seeds(1...1).filter { $0 % 3 == 1 })
  func crashWhileCrowded(seed: UInt64) throws {
    let workload = try SweepWorkload.crowded(seed: seed)
    let disk = SimulatedFileSystem(seed: seed)
    try workload.open(disk).write { tx in
      let flood = ScriptedCommit(operations: Flood.operations(puts: true), durability: .unsynced)
      let before = disk.callCount
      try flood.perform(tx)
      #expect(disk.callCount > before, "the transaction fits into the memory")
    }
    try Self.crash(workload, seed: seed, keepCount: 1, "power fails with little memory")
  }

  private static func crash(
    _ workload: SweepWorkload, seed: UInt64, keepCount: Int, _ name: String
  ) throws {
    let tally = SweepTally()
    let keepCount = keepCount * SweepTally.scale
    for moment in try Self.moments(of: workload, seed: seed) {
      tally.add(points: 1)
      var seen: Set<Int> = []
      for keep in 0..<keepCount {
        let crashSeed = seed &* 1_000_000 &+ UInt64(moment.call * 1000 + keep)
        let disk = moment.disk.afterCrash(seed: crashSeed)
        guard seen.insert(disk.fingerprint).inserted else { continue }
        do {
          try Self.check(disk, workload, moment, seed: crashSeed, tally)
        } catch {
          Issue.record(
            "seed \(seed), crash \(crashSeed) before \(moment.call) \(moment.what): \(error)")
        }
      }
    }
    tally.report("\(name), seed \(seed)")
    #expect(tally.states > 50)
  }

  /// Runs a workload without faults, and returns all its moments.
  static func moments(of workload: SweepWorkload, seed: UInt64) throws -> [Moment] {
    let moments = Mutex<[Moment]>([])
    let disk = SimulatedFileSystem(seed: seed)
    let run = SweepRun(workload, on: disk)
    let promises = run.promises
    disk.observe { call, what, disk in
      let step = workload.steps[min(Int(promises.step.value), workload.steps.count - 1)].name
      let moment = Moment(
        call: call, what: what, step: step, promised: promises.value, disk: disk)
      moments.withLock { $0.append(moment) }
    }
    try run.run()
    disk.observe(nil)
    let last = Moment(
      call: disk.callCount + 1, what: "the end", step: "close", promised: promises.value,
      disk: disk.afterKill())
    return moments.withLock { $0 } + [last]
  }

  /// Opens the store after a crash. In some states power fails again during the opening, a reader
  /// opens the store first, or the workload continues to its end.
  private static func check(
    _ found: SimulatedFileSystem, _ workload: SweepWorkload, _ moment: Moment, seed: UInt64,
    _ tally: SweepTally
  ) throws {
    var random = SeededGenerator(seed: seed)
    var disk = found
    let isThorough = Int.random(in: 0..<24, using: &random) == 0
    if isThorough, moment.promised.commits > 0 {
      let reader = try workload.open(disk, .readOnly)
      guard reader.newestCommit >= moment.promised.commits else {
        throw SweepFlaw("the reader lacks some")
      }
      try workload.check(reader, past: 1, &random)
      // A reader writes its pin to `readers/`, and changes nothing else.
      guard disk.recentCalls.allSatisfy({ $0.contains("store/readers") }) else {
        throw SweepFlaw("reading changed \(disk.recentCalls)")
      }
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      disk = try crashWhileOpening(disk, workload, &random, tally)
    }
    let store = try workload.open(disk)
    tally.add(states: 1)
    let newest = store.newestCommit
    guard newest >= moment.promised.commits else {
      throw SweepFlaw("\(newest) of \(moment.promised.commits) promised commits")
    }
    try workload.check(store, past: isThorough ? nil : 2, &random)
    if isThorough || Int.random(in: 0..<4, using: &random) == 0 {
      try workload.checkBeside(disk, moment.promised)
    }
    guard isThorough else { return }
    // Commits seen once remain, whatever the next crash loses.
    let again = disk.afterCrash(seed: seed, odds: 0)
    let seen = try workload.open(again)
    tally.add(states: 1)
    guard seen.newestCommit == newest else {
      throw SweepFlaw("\(newest) commits were seen, \(seen.newestCommit) are there")
    }
    try workload.check(seen, past: 0, &random)
    try seen.close()
    try checkPages(again)
    var promised = moment.promised
    promised.commits = newest
    try finish(workload, on: again, promised: promised, &random)
  }

  private static func crashWhileOpening(
    _ found: SimulatedFileSystem, _ workload: SweepWorkload, _ random: inout SeededGenerator,
    _ tally: SweepTally
  ) throws -> SimulatedFileSystem {
    var disk = found
    for _ in 1...2 {
      disk.crash(after: Int.random(in: 1...8, using: &random))
      let opened = try? workload.open(disk)
      let isDown = disk.isDown
      disk.crash(after: nil)
      if opened != nil, !isDown { return disk.afterKill() }
      tally.add(points: 1)
      guard isDown else { throw SweepFlaw("opening failed before power did") }
      disk = disk.afterCrash(seed: random.next())
    }
    return disk
  }

  /// Continues the workload to its end from the store's state, and checks everything.
  static func finish(
    _ workload: SweepWorkload, on disk: SimulatedFileSystem, promised: Promised,
    _ random: inout SeededGenerator
  ) throws {
    let run = SweepRun(workload, on: disk, promised: promised)
    try run.run()
    let findings = verifyLog(directory: "store/log", fileSystem: disk)
    guard findings.isEmpty else { throw SweepFlaw("\(findings)") }
    let store = try workload.open(disk, .readWrite)
    guard Int(store.newestCommit) == workload.script.states.count - 1 else {
      throw SweepFlaw("only \(store.newestCommit) commits at the end")
    }
    try workload.check(store, past: nil, &random)
    try store.close()
    try checkPages(disk)
    try workload.checkBeside(disk, run.promises.value)
  }

  /// Checks that each number of the page file is free, or in use once.
  private static func checkPages(_ disk: SimulatedFileSystem) throws {
    let findings = try verifyPageFile("store/pages", fileSystem: disk)
    guard findings.isEmpty else { throw SweepFlaw("\(findings)") }
  }
}

extension SweepWorkload {
  /// All kinds of steps; new steps belong here.
  static func mixed(seed: UInt64) throws -> SweepWorkload {
    try SweepWorkload(
      seed: seed, segmentSize: [1500, 4000, 12000][Int(seed % 3)],
      steps: [
        .write(3), .group(3), .checkpoint, .lookBack, .write(2), .backUp, .reopen, .group(2), .sync,
        .write(3),
        .checkpoint, .pack, .release, .lookBack, .group(4), .write(2), .losePages, .write(2),
        .checkpoint, .write(1), .pack, .release,
        .checkpoint, .compact(keeping: 12), .backUp, .reopen, .write(2), .sync, .erase, .group(2),
        .compact(keeping: 5), .backUp, .group(3), .write(2), .backUp,
      ])
  }

  /// With the smallest budget: a transaction's pages are written early and read again, and
  /// checkpoints start by themselves.
  static func crowded(seed: UInt64) throws -> SweepWorkload {
    try SweepWorkload(
      seed: seed, segmentSize: [12000, 40000][Int(seed % 2)], memoryBudget: 1 << 20,
      steps: [
        .write(3), .flood, .write(2), .checkpoint, .pack, .release, .write(1), .flood, .losePages,
        .write(1),
        .compact(keeping: 3), .release, .flood, .erase, .write(2),
      ])
  }

  /// A few steps of each kind, for sweeps that run the workload once for every call.
  static func short(seed: UInt64) throws -> SweepWorkload {
    try SweepWorkload(
      seed: seed, segmentSize: [1500, 3000][Int(seed % 2)],
      steps: [
        .write(2), .group(2), .checkpoint, .backUp, .write(3), .reopen, .write(1), .checkpoint,
        .pack, .release, .compact(keeping: 4), .group(2), .erase, .write(2),
      ])
  }

  /// The short workload with the smallest budget.
  static func shortCrowded(seed: UInt64) throws -> SweepWorkload {
    try SweepWorkload(
      seed: seed, segmentSize: 12000, memoryBudget: 1 << 20,
      steps: [
        .write(3), .flood, .checkpoint, .pack, .release, .reopen, .write(2), .erase, .write(1),
      ])
  }
}
