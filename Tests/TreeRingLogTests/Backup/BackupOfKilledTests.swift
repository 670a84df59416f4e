// Backups of a store whose writer is killed and restarted at any moment of the backup: no backup is
// ahead of its store, and no sound store is reported as damaged.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

@Suite("Backups of a store whose writer is killed")
struct BackupOfKilledTests {
  /// A process that writes the store; dropping it kills it.
  private struct Process {
    let lock: StoreLock
    let log: CommitLog

    init(_ fileSystem: any FileSystem, segmentSize: UInt64) throws {
      let lock = try StoreLock(path: "store/LOCK", fileSystem: fileSystem)
      self.lock = lock
      var options = DamageTests.options(.create)
      options.segmentSize = segmentSize
      options.durableChanged = { lock.publish(durable: $0) }
      log = try CommitLog(directory: "store/log", fileSystem: fileSystem, options: options)
      lock.publish(durable: log.durable)
    }

    func commit(_ count: Int, _ durability: Durability) throws {
      for _ in 0..<count {
        let number = log.sequenced + 1
        try log.complete(
          log.append(
            CommitDraft(
              number: number, timestamp: Timestamp(microseconds: Int64(number)),
              operationCount: 1, payload: BackupOfKilledTests.payload(number),
              durability: durability)))
      }
    }
  }

  private static func payload(_ number: CommitNumber) -> [UInt8] {
    (0..<40 + number % 7).map { UInt8(truncatingIfNeeded: $0 &* number) }
  }

  private static func check(_ report: CopyReport, _ fileSystem: any FileSystem) throws {
    let copy = try CommitLog(
      directory: "out/log", fileSystem: fileSystem, options: DamageTests.options(.readOnly))
    #expect(copy.completed == report.lastCommit)
    try copy.replay(from: 1, through: copy.completed) { header, bytes in
      #expect([UInt8](bytes) == payload(header.number))
      return true
    }
  }

  @Test("A power failure, also after a kill, leaves in the store every commit of its backup")
  func neverAhead() throws {
    var call = 1
    while true {
      let disk = SimulatedFileSystem(seed: 1)
      try disk.makeDirectory("store")
      try disk.syncDirectory("")
      disk.crash(after: call)
      do {
        let process = try Process(disk, segmentSize: 900)
        try process.commit(4, .full)
        try process.commit(8, .unsynced)
        if !disk.isDown { break }
      } catch { #expect(disk.isDown, "call \(call): \(error)") }
      let killed = disk.afterKill()
      call += 1
      do {
        let report = try CommitLog.backUp(
          of: "store", to: "out", fileSystem: killed, mayLink: call % 2 == 0)
        try Self.check(report, killed)
        for seed in 0..<4 as Range<UInt64> {
          let found = killed.afterCrash(seed: seed, odds: seed == 0 ? 0 : nil)
          let process = try Process(found, segmentSize: 900)
          #expect(process.log.completed >= report.lastCommit, "call \(call) seed \(seed)")
          try process.commit(1, .full)
          let next = try process.log.backUp(to: "out", fileSystem: found, mayLink: true)
          #expect(next.lastCommit == process.log.completed)
        }
      } catch let error as TreeRingError {
        // The log does not exist yet.
        #expect(error.code == .notFound && call < 12, "call \(call): \(error)")
      }
    }
    #expect(call > 10)
  }

  @Test(
    "A backup succeeds although its writer restarts at any call", arguments: [900, 1 << 20],
    [false, true])
  func beginsAgain(segmentSize: UInt64, isRunning: Bool) throws {
    var call = 1
    var isLast = false
    while !isLast {
      let files = MemoryFileSystem()
      try files.makeDirectory("store")
      var first: Process? = try Process(files, segmentSize: segmentSize)
      try first?.commit(5, .full)
      try first?.commit(6, .unsynced)
      let end: CommitNumber = isRunning ? 5 : 11
      // Half of the backups find an earlier one, which holds commits that were never declared
      // durable.
      func kill() {
        first?.lock.release()
        first = nil
      }
      if !isRunning { kill() }
      if call % 2 == 0, !isRunning {
        _ = try CommitLog.backUp(of: "store", to: "out", fileSystem: files, mayLink: false)
      }
      let hook = CallHook()
      var seen = 0
      nonisolated(unsafe) var second: Process?
      nonisolated(unsafe) var calls = call
      let watched = HookedFileSystem(files, beforeCall: { hook.call($0) })
      nonisolated(unsafe) let killFirst = kill
      hook.set { _ in
        calls -= 1
        guard calls == 0 else { return false }
        killFirst()
        second = try? Process(files, segmentSize: segmentSize)
        try? second?.commit(2, .full)
        return true
      }
      let context = "call \(call), segments of \(segmentSize), running \(isRunning)"
      do {
        let report = try CommitLog.backUp(
          of: "store", to: "out", fileSystem: watched, mayLink: call % 3 == 0
        ) { _ in seen += 1 }
        #expect(report.lastCommit >= end, "\(context)")
        try Self.check(report, files)
      } catch { Issue.record("\(context): \(error)") }
      isLast = second == nil
      call += 1
    }
    #expect(call > 20)
  }

  @Test("A backup waits for a writer that holds the lock but has not written its word")
  func hasNotBegun() throws {
    let files = MemoryFileSystem()
    try files.makeDirectory("store")
    do {
      let first = try Process(files, segmentSize: 900)
      try first.commit(5, .full)
      try first.commit(6, .unsynced)
      first.lock.release()
    }
    _ = try CommitLog.backUp(of: "store", to: "out", fileSystem: files, mayLink: false)
    let held = try files.lock("store/LOCK")
    let hook = CallHook()
    nonisolated(unsafe) var calls = 0
    nonisolated(unsafe) var second: Process?
    hook.set { path in
      calls += path == "store/LOCK" ? 1 : 0
      guard calls > 8 else { return false }
      held.release()
      second = try? Process(files, segmentSize: 900)
      return true
    }
    let report = try CommitLog.backUp(
      of: "store", to: "out", fileSystem: HookedFileSystem(files, beforeCall: { hook.call($0) }),
      mayLink: false)
    #expect(second != nil && report.lastCommit == 11)
  }

  @Test("A backup that holds another commit of the same number is refused and not changed")
  func divergedHistory() throws {
    let disk = SimulatedFileSystem(seed: 1)
    try disk.makeDirectory("store")
    let first = try Process(disk, segmentSize: 1 << 20)
    try first.commit(6, .full)
    let early = disk.paths.filter { $0.hasSuffix(".lz4") }.map { ($0, disk.contents(of: $0)) }
    try first.commit(1, .full)
    _ = try first.log.backUp(to: "out", fileSystem: disk, mayLink: true)
    first.lock.release()
    let before = disk.contents(of: "out/log/00000000000000000001.0.lz4")
    // The store in its state before the last commit, with another commit in place of that one.
    for (path, bytes) in early { disk.replace(path, with: bytes) }
    let second = try Process(disk, segmentSize: 1 << 20)
    try second.log.complete(
      second.log.append(
        CommitDraft(
          number: 7, timestamp: Timestamp(microseconds: 7), operationCount: 1, payload: [1])))
    do {
      _ = try second.log.backUp(to: "out", fileSystem: disk, mayLink: true)
      Issue.record("a backup of another history was replaced")
    } catch {
      #expect(error.code == .conflict && error.commit == 7)
    }
    #expect(disk.contents(of: "out/log/00000000000000000001.0.lz4") == before)
  }
}
