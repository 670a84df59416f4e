// Every call of a workload fails, in turn: once, or from then on. The error is a typed one, reads
// continue, promised commits exist after reopening, and the workload can be completed. Also a
// device that lies: confirmed writes that are lost or misdirected, and flipped bits. Every read
// then returns right data or throws an error that reports the damage.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Fault sweep of the store")
struct FaultSweepTests {
  enum Mode: CaseIterable { case once, fromThenOn }

  @Test(
    "Any call may fail: promises are kept, reads continue, and reopening repairs the store",
    arguments: seeds(1...1),
    DiskFault.allCases)
  func failAnywhere(seed: UInt64, fault: DiskFault) throws {
    let workload =
      seed % 4 == 0
      ? try SweepWorkload.shortCrowded(seed: seed) : try SweepWorkload.short(seed: seed)
    let tally = SweepTally()
    for mode in Mode.allCases {
      var call = 1
      while true {
        let disk = SimulatedFileSystem(seed: seed &* 31 &+ UInt64(call))
        switch mode {
        case .once: disk.fail(after: call, with: fault)
        case .fromThenOn: disk.failAll(after: call, with: fault)
        }
        let run = SweepRun(workload, on: disk)
        let context = "seed \(seed), call \(call) \(fault) \(mode)"
        do {
          try endure(run, fault, seed: seed &* 1000 &+ UInt64(call), tally)
        } catch { Issue.record("\(context), step \(run.stepName): \(error) \(disk.recentCalls)") }
        if disk.faultCount == 0 { break }
        tally.add(points: 1)
        call += 1
      }
    }
    tally.report("calls fail with \(fault), seed \(seed)")
  }

  /// Runs a workload into the fault, and checks the store in use and the disk found afterwards.
  private func endure(
    _ run: SweepRun, _ fault: DiskFault, seed: UInt64, _ tally: SweepTally
  ) throws {
    let disk = run.disk
    var random = SeededGenerator(seed: seed)
    do {
      try run.run()
    } catch let error as TreeRingError {
      try Self.checkCode(error)
      // The open store still serves reads, with the same contents.
      if let store = run.store {
        guard store.newestCommit >= run.promises.commits.value else {
          throw SweepFlaw("a promise is gone")
        }
        try Self.checkWhatIsLeft(store, run, &random)
        if Bool.random(using: &random) { try Self.checkWhatIsKept(store, run, &random) }
        if error.code == .noSpace, fault == .noSpace {
          // There is room again: the same store resumes its work.
          disk.failAll(after: nil, with: fault)
          do {
            try run.run()
          } catch let error as TreeRingError where [.poisoned, .io].contains(error.code) {
            // A sync had failed, or the truncation of the tail.
          }
        }
      }
    }
    disk.failAll(after: nil, with: fault)
    let promised = run.promises.value
    run.move(to: disk.afterKill())
    var seen: Set<Int> = []
    let keepCount = UInt64(3 * SweepTally.scale)
    for found in [disk.afterKill()] + (0..<keepCount).map({ disk.afterCrash(seed: seed &+ $0) }) {
      guard seen.insert(found.fingerprint).inserted else { continue }
      let store = try run.workload.open(found)
      tally.add(states: 1)
      guard store.newestCommit >= promised.commits else {
        throw SweepFlaw("\(store.newestCommit) of \(promised.commits) promised commits")
      }
      try run.workload.check(store, past: 1, &random)
      try run.workload.checkBeside(found, promised)
      let newest = store.newestCommit
      // Commits seen once remain, although the system took lost pages for clean ones.
      let seen = try run.workload.open(found.afterCrash(seed: 5, odds: 0))
      guard seen.newestCommit == newest else {
        throw SweepFlaw("\(newest) commits were seen, \(seen.newestCommit) are there")
      }
    }
    if Int.random(in: 0..<6, using: &random) == 0 {
      let found = disk.afterCrash(seed: seed &+ 9)
      try CrashSweepTests.finish(run.workload, on: found, promised: promised, &random)
    }
  }

  /// Checks the contents of a store in which a call has failed. If a row is half erased and the
  /// trees could not be rebuilt, the store refuses reads of the past; then it accepts no commit
  /// either.
  private static func checkWhatIsLeft(
    _ store: Store, _ run: SweepRun, _ random: inout SeededGenerator
  ) throws {
    try run.workload.check(store, past: 0, &random)
    do {
      try run.workload.check(store, past: 2, &random)
    } catch let error as TreeRingError where error.code == .poisoned && run.stepName == "erase" {
      guard code(of: { try store.put([1], for: "k0") }) == .poisoned else {
        throw SweepFlaw("the past is refused, and commits go on")
      }
    }
  }

  /// The same after the system has dropped pages that a failed sync left clean: a read is right, or
  /// an error reports the loss.
  private static func checkWhatIsKept(
    _ store: Store, _ run: SweepRun, _ random: inout SeededGenerator
  ) throws {
    store.evictCleanPages()
    run.disk.dropCaches()
    do {
      try checkWhatIsLeft(store, run, &random)
    } catch let error as TreeRingError {
      guard detects(error) else { throw error }
    }
  }

  private static func checkCode(_ error: TreeRingError) throws {
    // A conflict: a full device undid the previous commit of the same group.
    let allowed: [TreeRingError.Code] = [.io, .noSpace, .unknown, .poisoned, .conflict]
    guard allowed.contains(error.code) else { throw SweepFlaw("\(error.code): \(error)") }
  }

  @Test("Any reading call may fail: a typed error, and no damage", arguments: seeds(1...1))
  func failReads(seed: UInt64) throws {
    let workload = try SweepWorkload.short(seed: seed)
    let tally = SweepTally()
    for mode in Mode.allCases {
      var call = 1
      while true {
        let disk = SimulatedFileSystem(seed: seed)
        if mode == .once { disk.failRead(after: call) } else { disk.failAllReads(after: call) }
        let run = SweepRun(workload, on: disk)
        let context = "seed \(seed), read \(call) \(mode)"
        do {
          do {
            try run.run()
          } catch let error as TreeRingError { try Self.checkCode(error) }
          let (promised, hits) = (run.promises.value, disk.faultCount)
          run.move(to: disk.afterKill())
          var random = SeededGenerator(seed: seed &+ UInt64(call))
          let found = disk.afterCrash(seed: seed &+ UInt64(call))
          try CrashSweepTests.finish(workload, on: found, promised: promised, &random)
          tally.add(points: 1, states: 1)
          if hits == 0 { break }
        } catch { Issue.record("\(context), step \(run.stepName): \(error)") }
        call += SweepTally.scale > 1 ? 1 : 1 + call / 20
      }
    }
    tally.report("reads fail, seed \(seed)")
  }

  @Test(
    "A write that is lost or lands elsewhere is detected or absent", arguments: seeds(1...1),
    SilentFault.allCases)
  func deceive(seed: UInt64, fault: SilentFault) throws {
    let workload = try SweepWorkload.short(seed: seed)
    let tally = SweepTally()
    var call = 1
    var refused = 0
    while true {
      let disk = SimulatedFileSystem(seed: seed &* 31 &+ UInt64(call))
      disk.deceive(after: call, with: fault)
      let run = SweepRun(workload, on: disk)
      let context = "seed \(seed), write \(call) \(fault)"
      run.afterStep = { store in
        if try !Self.isRightOrRefused(store, run, fault, seed: seed) { refused += 1 }
      }
      do {
        do {
          try run.run()
        } catch let error as TreeRingError {
          guard Self.detects(error) else { throw error }
        }
        let hits = disk.faultCount
        run.move(to: disk.afterKill())
        for crash in 0..<3 as Range<UInt64> {
          let found = crash == 0 ? disk.afterKill() : disk.afterCrash(seed: seed &+ crash)
          tally.add(states: 1)
          if try !Self.isRightOrRefused(found, workload, seed: seed) { refused += 1 }
        }
        if hits == 0 { break }
        tally.add(points: 1)
      } catch { Issue.record("\(context), step \(run.stepName): \(error)") }
      call += 1
    }
    tally.report("writes are \(fault), seed \(seed), \(refused) refused")
  }

  @Test("A flipped bit anywhere is detected or has no effect", arguments: seeds(1...1))
  func flipBits(seed: UInt64) throws {
    let workload = try SweepWorkload.short(seed: seed)
    let tally = SweepTally()
    var random = SeededGenerator(seed: seed)
    var refused = 0
    for moment in try CrashSweepTests.moments(of: workload, seed: seed) {
      tally.add(points: 1)
      for _ in 0..<4 * SweepTally.scale {
        let disk = moment.disk.afterCrash(seed: random.next())
        let files = disk.paths.filter { disk.contents(of: $0)?.isEmpty == false }
        guard let path = files.randomElement(using: &random), let bytes = disk.contents(of: path)
        else { continue }
        let flip = random.next()
        disk.flipBit(path, in: 0..<bytes.count, seed: flip)
        tally.add(states: 1)
        do {
          if try !Self.isRightOrRefused(disk, workload, seed: flip) { refused += 1 }
        } catch let error as TreeRingError
          where error.code == .notAStore && moment.promised.commits == 0
        {
          // Without a segment only LOCK tells whose folder it is.
          refused += 1
        } catch {
          Issue.record(
            "seed \(seed), \(moment.call) \(moment.what), flip \(flip) \(path): \(error)")
        }
      }
    }
    tally.report("bits flip, seed \(seed), \(refused) refused")
  }

  /// Whether an error may stand for damage.
  private static func detects(_ error: TreeRingError) -> Bool {
    let codes: [TreeRingError.Code] = [
      .corruption, .unsupportedFormat, .logBehindPages, .poisoned, .unknown, .io, .notFound,
    ]
    return codes.contains(error.code)
  }

  /// The same for the store that wrote, when it has to read all its pages again from the file. A
  /// misdirected write may have hit a page that was fetched before; so the system keeps its copies
  /// in that case.
  private static func isRightOrRefused(
    _ store: Store, _ run: SweepRun, _ fault: SilentFault, seed: UInt64
  ) throws -> Bool {
    var random = SeededGenerator(seed: seed)
    store.evictCleanPages()
    if fault == .lost { run.disk.dropCaches() }
    do {
      try run.workload.check(store, past: 2, &random)
    } catch let error as TreeRingError {
      guard detects(error) else { throw error }
      return false
    }
    return true
  }

  /// Opens a store and compares it with the script; false if it was refused. Throws if its contents
  /// are wrong.
  private static func isRightOrRefused(
    _ disk: SimulatedFileSystem, _ workload: SweepWorkload, seed: UInt64
  ) throws -> Bool {
    var random = SeededGenerator(seed: seed)
    do {
      let store = try workload.open(disk)
      try workload.check(store, past: 2, &random)
      try store.close()
    } catch let error as TreeRingError {
      guard detects(error) else { throw error }
      return false
    }
    return true
  }
}
