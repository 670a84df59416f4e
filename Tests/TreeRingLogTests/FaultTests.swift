// Failing calls: the log survives a full device, any other failure poisons it, and no promise is
// broken.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct FaultTests {
  enum Mode: CaseIterable { case once, fromThenOn }

  @Test(
    "A call that fails, once or from then on, loses no promised commit and invents none",
    arguments: 0..<6 as Range<UInt64>, Mode.allCases)
  func faultSweep(seed: UInt64, mode: Mode) throws {
    for fault in [DiskFault.inputOutput, .noSpace] {
      var call = 1
      while true {
        let work = Workload(seed: seed)
        switch mode {
        case .once: work.disk.fail(after: call, with: fault)
        case .fromThenOn: work.disk.failAll(after: call, with: fault)
        }
        let context = "seed \(seed) call \(call) \(fault) \(mode)"
        do {
          try work.run(steps: 10)
          if work.disk.callCount < call { break }
        } catch let error as TreeRingError {
          try checkError(error, work, context)
        }
        try reopen(work, context)
        call += 1
      }
    }
  }

  private func checkError(_ error: TreeRingError, _ work: Workload, _ context: String) throws {
    // `conflict`: a full device undid the commit before it in the same call.
    #expect(
      [.io, .noSpace, .unknown, .poisoned, .conflict].contains(error.code), "\(context): \(error)")
    guard let log = work.log else { return }
    if error.code == .noSpace || error.code == .conflict {
      // Permanently undone: the failed commits must not be found later.
      work.history.removeLast(work.history.count - Int(log.sequenced))
    }
    // Completed commits stay readable.
    let completed = Int(log.completed)
    #expect(completed >= work.promised || error.code == .noSpace, "\(context)")
    if completed > 0, !work.disk.isDown {
      do {
        _ = try log.header(of: CommitNumber(completed))
      } catch { #expect(error.code == .closed, "\(context): \(error)") }
    }
  }

  private func reopen(_ work: Workload, _ context: String) throws {
    let disk = work.disk
    let crashes = (3..<12 as Range<UInt64>).map { disk.afterCrash(seed: $0) }
    for next in [disk.afterKill()] + crashes {
      next.failAll(after: nil, with: .noSpace)
      work.disk = next
      let log = try work.open()
      let found = try work.check(log, context)
      // Commits that were visible stay, although the system took lost pages for clean ones.
      work.disk = next.afterCrash(seed: 5, odds: 0)
      #expect(try work.check(work.open(), context + " seen") == found, "\(context)")
    }
  }

  @Test("A full device fails the commits being written; writing resumes when there is room")
  func fullDevice() throws {
    let disk = SimulatedFileSystem(seed: 5)
    var options = LogOptions()
    options.logger.logLevel = .critical
    let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
    let draft = SampleCommits.draft
    try log.complete(log.append(draft(1, .full)))
    let room = Int(log.statistics.byteCount + log.statistics.reservedByteCount)
    disk.setCapacity(room)
    // More than the reserved room.
    let incompressible = (0..<1_200_000).map {
      UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13)
    }
    var number: CommitNumber = 2
    var failed = false
    while !failed {
      let big = incompressible
      var next = draft(number, .full)
      next.values = [LoggedValue(operation: 0, part: .object, bytes: big)]
      let ticket = try log.append(next)
      let second = try log.append(draft(number + 1, .unsynced))
      do {
        try log.complete(ticket)
        try log.complete(second)
        number += 2
      } catch {
        #expect(error.code == .noSpace && error.commit == number)
        #expect(throws: TreeRingError.self) { try log.complete(second) }
        failed = true
      }
    }
    #expect(log.sequenced == number - 1 && log.completed == number - 1)
    do {
      try log.append(draft(number + 1, .full))
      Issue.record("a draft on top of an undone commit was accepted")
    } catch { #expect(error.code == .conflict && error.current == number - 1) }
    // The undone commits are not on the disk, whatever survives.
    for odds in [0, 50, 100] {
      let found = try CommitLog(
        directory: "log", fileSystem: disk.afterCrash(seed: 1, odds: odds), options: options)
      #expect(found.completed == number - 1)
    }
    disk.setCapacity(nil)
    try log.complete(log.append(draft(number, .full)))
    try log.close()
    let again = try CommitLog(directory: "log", fileSystem: disk, options: options)
    #expect(again.completed == number)
    #expect(try again.readPayload(of: number) { [UInt8]($1) } == SampleCommits.payload(number))
  }

  @Test("Commits undone by a full device do not reappear after a crash")
  func undoneStaysUndone() throws {
    for seed in 0..<20 as Range<UInt64> {
      let disk = SimulatedFileSystem(seed: seed)
      let options = SampleCommits.quiet()
      let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
      func draft(_ number: CommitNumber) -> CommitDraft {
        CommitDraft(
          number: number, timestamp: Timestamp(microseconds: 0), operationCount: 1,
          payload: [UInt8(number)], durability: .unsynced)
      }
      try log.complete(log.append(draft(1)))
      try log.sync()
      let tickets = try [log.append(draft(2)), log.append(draft(3))]
      disk.fail(after: 1, with: .noSpace)
      for ticket in tickets {
        do {
          try log.complete(ticket)
          Issue.record("seed \(seed): commit \(ticket.number) completed")
        } catch { #expect(error.code == .noSpace) }
      }
      for crash in 0..<60 as Range<UInt64> {
        let found = try CommitLog(
          directory: "log", fileSystem: disk.afterCrash(seed: crash), options: options)
        #expect(found.completed == 1, "seed \(seed) crash \(crash)")
      }
    }
  }

  @Test("A failed sync poisons the log: waiting commits are `unknown`, reads continue")
  func failedSync() throws {
    let disk = SimulatedFileSystem(seed: 6)
    var options = LogOptions()
    options.logger.logLevel = .critical
    let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
    let draft = SampleCommits.draft
    try log.complete(log.append(draft(1, .full)))
    let first = try log.append(draft(2, .full))
    let second = try log.append(draft(3, .unsynced))
    disk.fail(after: 2, with: .inputOutput)
    for ticket in [first, second, first] {
      do {
        try log.complete(ticket)
        Issue.record("commit \(ticket.number) completed")
      } catch {
        #expect(error.code == .unknown && error.errno == 5 && error.commit == ticket.number)
      }
    }
    #expect(log.completed == 1 && log.durable == 1)
    #expect(try log.readPayload(of: 1) { [UInt8]($1) } == SampleCommits.payload(1))
    let calls = disk.callCount
    do {
      try log.append(draft(4, .full))
      Issue.record("a poisoned log accepted a commit")
    } catch { #expect(error.code == .poisoned) }
    #expect(throws: TreeRingError.self) { try log.sync() }
    #expect(throws: TreeRingError.self) { try log.close() }
    #expect(disk.callCount == calls, "a poisoned log must not sync")
    do {
      _ = try log.header(of: 1)
      Issue.record("a closed log was read")
    } catch { #expect(error.code == .closed) }
  }
}
