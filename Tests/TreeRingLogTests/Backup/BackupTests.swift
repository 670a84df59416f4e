// Backups of a log: each equals the log at its moment, whatever preceded it and whatever fails
// during it.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct BackupTests {
  @discardableResult
  private func backUp(
    _ log: CommitLog, _ disk: any FileSystem, to folder: String = "out", mayLink: Bool = true
  ) throws -> CopyReport {
    try log.backUp(to: folder, fileSystem: disk, mayLink: mayLink)
  }

  private func open(
    _ disk: any FileSystem, _ folder: String = "out", _ access: LogAccess = .readOnly
  ) throws -> CommitLog {
    let directory = try BackupSwitch.logFolder(
      of: folder, fileSystem: disk, mayWrite: access != .readOnly)
    return try CommitLog(
      directory: directory, fileSystem: disk, options: DamageTests.options(access))
  }

  /// Commits, seals, rewrites.
  private func change(_ work: RewriteWork, _ log: CommitLog) throws {
    for _ in 0..<Int.random(in: 0...8, using: &work.random) { try work.commit(log, .unsynced) }
    if Int.random(in: 0..<3, using: &work.random) == 0 { try log.seal() }
    if Int.random(in: 0..<3, using: &work.random) == 0 {
      work.horizon = CommitNumber.random(in: work.horizon...log.completed, using: &work.random)
      for segment in log.segments.reversed() where segment.isSealed {
        if Int.random(in: 0..<3, using: &work.random) > 0 { try work.rewrite(log, segment) }
      }
    }
  }

  @Test(
    "Each of many incremental backups equals the log at its moment", arguments: seeds(0...19),
    [true, false])
  func incremental(seed: UInt64, mayLink: Bool) throws {
    let work = RewriteWork(seed: seed)
    work.segmentSize = [500, 2_000, 30_000].randomElement(using: &work.random) ?? 500
    var log = try work.open()
    for round in 0..<10 {
      try change(work, log)
      if Int.random(in: 0..<5, using: &work.random) == 0 {
        try log.close()
        log = try work.open(.readWrite)
      }
      let report = try backUp(log, work.disk, mayLink: mayLink)
      let context = "seed \(seed) round \(round)"
      let expected = try work.forms(of: log)
      #expect(report.lastCommit == CommitNumber(expected.count), "\(context)")
      #expect(
        report.byteCount
          == report.copiedByteCount + report.linkedByteCount + report.keptByteCount, "\(context)")
      #expect(mayLink || report.linkedByteCount == 0, "\(context)")
      let copy = try open(work.disk)
      let isSame = try work.forms(of: copy) == expected
      #expect(isSame, "\(context)")
      #expect(verifyLog(directory: "out/log", fileSystem: work.disk) == [], "\(context)")
      #expect(try work.disk.list("out").sorted() == ["LOCK", "log"], "\(context)")
      #expect(
        try work.disk.list("out/log").count == report.segmentCount, "\(context): leftovers")
      // Nothing has changed, so nothing is copied.
      let again = try backUp(log, work.disk, mayLink: mayLink)
      #expect(again.keptByteCount == again.byteCount && again.removedFiles == [], "\(context)")
    }
  }

  @Test(
    "After a power failure at any call of a backup, the older backup opens or the new one",
    arguments: seeds(0...5))
  func crashSweep(seed: UInt64) throws {
    let base = RewriteWork(seed: seed)
    base.segmentSize = 700
    let log = try base.open()
    for _ in 0..<8 { try base.commit(log, .unsynced) }
    // Half of the sweeps begin without an earlier backup.
    if seed % 2 == 0 { try backUp(log, base.disk) }
    let before = seed % 2 == 0 ? try base.forms(of: log) : nil
    for _ in 0..<(seed % 3 == 0 ? 3 : 1) { try change(base, log) }
    try log.close()
    try sweep(base, since: before, seed: seed)
  }

  @Test(
    "The same holds for a log whose writer was killed: commits that recovery moves are kept",
    arguments: seeds(0...5))
  func crashSweepAfterRecovery(seed: UInt64) throws {
    let base = RewriteWork(seed: seed)
    base.segmentSize = seed % 2 == 0 ? 700 : 30_000
    let log = try base.open()
    // Later frames state that the first commits were synced. For the others only commits made after
    // them state it, if there are any.
    for number in 0..<8 { try base.commit(log, number < 4 ? .full : .unsynced) }
    try backUp(log, base.disk)
    let before = try base.forms(of: log)
    for _ in 0..<seed / 2 { try base.commit(log, .unsynced) }
    try sweep(base, since: before, seed: seed)
  }

  /// Repeats a backup of a log to a folder that may hold an earlier backup, with a power failure at
  /// every call.
  ///
  /// - Parameter before: the content of the earlier backup; nil if there is none.
  private func sweep(_ base: RewriteWork, since before: [CommitForm?]?, seed: UInt64) throws {
    var call = 1
    while true {
      let disk = base.disk.afterKill()
      let work = RewriteWork(seed: seed, disk: disk)
      let log = try work.open(.readWrite)
      let after = try work.forms(of: log)
      /// The content of the backup on a disk; nil if no backup opens.
      func check(_ found: SimulatedFileSystem, _ context: String) -> [CommitForm?]? {
        let now = (try? open(found)).flatMap { try? work.forms(of: $0) }
        if let now {
          let isLater = now.count >= before?.count ?? after.count
          let isNew = isLater && now == Array(after.prefix(now.count))
          let isOld = now == before
          #expect(isOld || isNew, "\(context)")
        } else {
          let hadNone = before == nil
          #expect(hadNone, "\(context): the older backup is lost")
        }
        return now
      }
      disk.crash(after: call)
      do {
        try backUp(log, disk, mayLink: seed % 4 != 1)
        break
      } catch { #expect(disk.isDown, "seed \(seed) call \(call): \(error)") }
      for keep in 0..<4 as Range<UInt64> {
        let context = "seed \(seed) call \(call) keep \(keep) \(disk.recentCalls)"
        let found = disk.afterCrash(seed: seed &* 1000 &+ UInt64(call) &* 10 &+ keep)
        let now = check(found, context)
        // The next backup repairs it; so does opening for writing.
        work.disk = found.afterKill()
        let source = try work.open(.readWrite)
        if now != nil {
          let written = try open(found, "out", .readWrite)
          let isSame = try work.forms(of: written) == now
          #expect(isSame, "\(context)")
          try written.close()
        }
        try backUp(source, work.disk)
        let isWhole = try work.forms(of: open(work.disk)) == after
        #expect(isWhole, "\(context) again")
        #expect(try work.disk.list("out").sorted() == ["LOCK", "log"], "\(context)")
      }
      // Only the process was killed; power fails while the next one cleans up after it.
      for second in 1...8 where disk.paths.contains(where: { $0.hasPrefix("out/next/") }) {
        let killed = disk.afterKill()
        killed.crash(after: second)
        _ = try? open(killed, "out", .readWrite)
        let found = killed.afterCrash(seed: seed &* 1000 &+ UInt64(call * 10 + second))
        _ = check(found, "seed \(seed) call \(call) then \(second) \(killed.recentCalls)")
      }
      call += 1
    }
    #expect(call > 4)
  }

  @Test(
    "When a call fails, the older backup opens and the log continues", arguments: seeds(0...3))
  func faultSweep(seed: UInt64) throws {
    let base = RewriteWork(seed: seed)
    base.segmentSize = 700
    let log = try base.open()
    for _ in 0..<8 { try base.commit(log, .unsynced) }
    try backUp(log, base.disk)
    let before = try base.forms(of: log)
    for _ in 0..<2 { try change(base, log) }
    try log.close()
    for fault in [DiskFault.inputOutput, .noSpace] {
      var call = 1
      while true {
        let disk = base.disk.afterKill()
        let work = RewriteWork(seed: seed, disk: disk)
        work.original = base.original
        let log = try work.open(.readWrite)
        let after = try work.forms(of: log)
        let calls = disk.callCount
        disk.fail(after: call, with: fault)
        let context = "seed \(seed) call \(call) \(fault)"
        do {
          try backUp(log, disk)
          if disk.callCount < calls + call { break }
        } catch let error as TreeRingError {
          #expect([.io, .noSpace].contains(error.code), "\(context): \(error)")
        }
        let now = try work.forms(of: open(disk))
        let isOld = now == before
        let isNew = now.count >= before.count && now == Array(after.prefix(now.count))
        #expect(isOld || isNew, "\(context)")
        try work.commit(log)
        try backUp(log, disk)
        let isWhole = try work.forms(of: open(disk)) == work.forms(of: log)
        #expect(isWhole, "\(context) again")
        call += 1
      }
    }
  }

  @Test("A folder with other files, another store or a longer log is refused and not changed")
  func refusals() throws {
    let work = RewriteWork(seed: 1)
    work.segmentSize = 500
    let log = try work.open()
    for _ in 0..<10 { try work.commit(log) }
    func expect(_ code: TreeRingError.Code, _ folder: String) throws {
      let paths = work.disk.paths.filter { !$0.hasSuffix("LOCK") }
      let contents = paths.map { work.disk.contents(of: $0) }
      do {
        try backUp(log, work.disk, to: folder)
        Issue.record("\(folder) was accepted")
      } catch let error as TreeRingError { #expect(error.code == code, "\(error)") }
      #expect(work.disk.paths.filter { !$0.hasSuffix("LOCK") } == paths)
      #expect(paths.map { work.disk.contents(of: $0) } == contents)
    }
    try work.disk.makeDirectory("things")
    try work.disk.open("things/letter.txt", .createNew).close()
    try expect(.alreadyExists, "things")
    try work.disk.makeDirectory("other")
    let other = try CommitLog(
      directory: "other/log", fileSystem: work.disk, options: DamageTests.options(.create))
    try other.complete(other.append(SampleCommits.draft(1)))
    try other.close()
    try expect(.alreadyExists, "other")
    // A backup that was continued as a store of its own.
    try backUp(log, work.disk)
    let copy = try open(work.disk, "out", .readWrite)
    for number in 11...12 as ClosedRange<CommitNumber> {
      try copy.complete(copy.append(SampleCommits.draft(number)))
    }
    try copy.close()
    try expect(.conflict, "out")
    let lock = try work.disk.lock("open/LOCK")
    try work.disk.makeDirectory("open")
    try expect(.locked, "open")
    lock.release()
  }

  @Test("A store cannot be backed up to its own folder")
  func ownFolder() throws {
    let disk = MemoryFileSystem()
    try disk.makeDirectory("store")
    let log = try CommitLog(
      directory: "store/log", fileSystem: disk, options: DamageTests.options(.create))
    try log.complete(log.append(SampleCommits.draft(1)))
    let before = try disk.list("store/log")
    do {
      try backUp(log, disk, to: "store")
      Issue.record("a store was backed up to its own folder")
    } catch let error as TreeRingError { #expect(error.code == .alreadyExists) }
    #expect(try disk.list("store/log") == before)
  }

  @Test("A backup copied file by file, in any order, opens", arguments: seeds(0...9))
  func shuffledCopy(seed: UInt64) throws {
    let work = RewriteWork(seed: seed)
    work.segmentSize = 600
    let log = try work.open()
    for _ in 0..<3 { try change(work, log) }
    for _ in 0..<5 { try work.commit(log) }
    try backUp(log, work.disk)
    let copy = MemoryFileSystem()
    try copy.makeDirectory("far")
    try copy.makeDirectory("far/log")
    for name in try work.disk.list("out/log").shuffled(using: &work.random) {
      copy.setContents(
        of: "far/log/\(name)", to: try #require(work.disk.contents(of: "out/log/\(name)")))
    }
    #expect(try work.forms(of: open(copy, "far")) == work.forms(of: log))
  }

  @Test(
    "A backup keeps few files open, for any number of segments",
    arguments: [LogAccess.readWrite, .readOnly], [true, false])
  func fewOpenFiles(access: LogAccess, mayLink: Bool) throws {
    let disk = MemoryFileSystem()
    var options = DamageTests.options(.create)
    options.segmentSize = 200
    let written = try CommitLog(directory: "log", fileSystem: disk, options: options)
    for number in 1...300 as ClosedRange<CommitNumber> {
      try written.complete(written.append(SampleCommits.draft(number, .unsynced)))
    }
    try written.close()
    let held = HeldFiles()
    let files = HookedFileSystem(disk, opened: { held.note($0) })
    let log = try CommitLog(
      directory: "log", fileSystem: files, options: DamageTests.options(access))
    #expect(log.segments.count > 200)
    for round in 0..<2 {
      _ = held.takePeak()
      try backUp(log, files, mayLink: mayLink)
      let most = held.takePeak()
      #expect(most < 80, "round \(round)")
    }
    try #expect(open(disk).completed == 300)
  }

  @Test("A damaged segment is not copied into a backup; a cancelled backup changes nothing")
  func damageAndCancel() throws {
    let work = RewriteWork(seed: 4)
    work.segmentSize = 600
    let log = try work.open()
    for _ in 0..<12 { try work.commit(log) }
    let path = log.segments[1].path
    let file = try work.disk.open(path, .readWrite)
    let result: Result<Void, TreeRingError> = [0xAA, 0xAB].withUnsafeBytes { bytes in
      Result { () throws(TreeRingError) in try file.write(bytes, at: 300) }
    }
    try result.get()
    do {
      try backUp(log, work.disk, mayLink: false)
      Issue.record("damage was copied")
    } catch let error as TreeRingError {
      #expect(error.code == .corruption && error.file == path)
    }
    for stop in 0..<4 {
      var seen = 0
      do {
        _ = try log.backUp(to: "out", fileSystem: work.disk, mayLink: true) {
          (progress) throws(TreeRingError) in
          #expect(progress.doneByteCount <= progress.byteCount)
          if seen == stop { throw TreeRingError(.cancelled, "Enough.") }
          seen += 1
        }
      } catch { #expect(error.code == .cancelled) }
      #expect(throws: TreeRingError.self) { try open(work.disk) }
    }
  }
}
