// Failures during the rewriting of a segment: every commit stays readable in its old or its new
// form, none is missing, and no failure affects the log's writer.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct RewriteFaultTests {
  /// A closed log of some segments, and a log opened from a copy of its disk.
  private func work(_ seed: UInt64, on base: RewriteWork) -> RewriteWork {
    let work = RewriteWork(seed: seed, disk: base.disk.afterKill())
    work.original = base.original
    return work
  }

  private func base(_ seed: UInt64) throws -> RewriteWork {
    let base = RewriteWork(seed: seed)
    base.segmentSize = [600, 1_500].randomElement(using: &base.random) ?? 600
    let log = try base.open()
    for _ in 0..<12 { try base.commit(log, .unsynced) }
    try log.close()
    return base
  }

  /// Rewrites every sealed segment, newest first, with commits in between, twice.
  private func run(_ work: RewriteWork, _ log: CommitLog) throws {
    for _ in 0..<2 {
      try log.seal()
      work.horizon = CommitNumber.random(in: work.horizon...log.durable, using: &work.random)
      for segment in log.segments.reversed() where segment.isSealed {
        try work.rewrite(log, segment) {
          if Int.random(in: 0..<8, using: &work.random) == 0 { try work.commit(log) }
        }
      }
    }
  }

  @Test(
    "After a power failure at any call of a rewriting, each commit has its old or new form",
    arguments: seeds(0...3))
  func crashSweep(seed: UInt64) throws {
    let base = try base(seed)
    var call = 1
    while true {
      let work = work(seed, on: base)
      work.segmentSize = base.segmentSize
      let log = try work.open(.readWrite)
      work.disk.crash(after: call)
      do {
        try run(work, log)
        break
      } catch {
        #expect(work.disk.isDown, "seed \(seed) call \(call): \(error)")
      }
      for keep in 0..<4 as Range<UInt64> {
        let context = "seed \(seed) call \(call) keep \(keep) \(work.disk.recentCalls)"
        let disk = work.disk
        work.disk = disk.afterCrash(seed: seed &* 1000 &+ UInt64(call) &* 10 &+ keep)
        do {
          try work.check(work.open(.readOnly), context + " read only", reopened: true)
          let found = try work.open(.readWrite)
          // The commit in progress at the power failure may be present or not.
          #expect(found.completed + 1 >= CommitNumber(work.original.count), "\(context)")
          try work.check(found, context, reopened: true)
          try found.close()
          #expect(verifyLog(directory: "log", fileSystem: work.disk) == [], "\(context)")
          let names = try work.disk.list("log")
          #expect(Set(names.map { $0.prefix(20) }).count == names.count, "leftovers: \(names)")
        } catch { Issue.record("\(context): \(error)") }
        work.disk = disk
      }
      call += 1
    }
    #expect(call > 30)
  }

  @Test(
    "When a call of a rewriting fails, the log continues, and the next rewriting succeeds",
    arguments: seeds(0...3), [DiskFault.inputOutput, .noSpace])
  func faultSweep(seed: UInt64, fault: DiskFault) throws {
    let base = try base(seed)
    for stays in [false, true] {
      var call = 1
      while true {
        let work = work(seed, on: base)
        let log = try work.open(.readWrite)
        work.horizon = 9
        let context = "seed \(seed) call \(call) \(fault) \(stays ? "stays" : "once")"
        if stays {
          work.disk.failAll(after: call, with: fault)
        } else {
          work.disk.fail(after: call, with: fault)
        }
        let calls = work.disk.callCount
        do {
          for segment in log.segments.reversed() where segment.isSealed {
            try work.rewrite(log, segment)
          }
          if work.disk.callCount < calls + call { break }
        } catch let error as TreeRingError {
          #expect(
            error.code == (fault == .noSpace ? .noSpace : .io), "\(context): \(error)")
        }
        try work.check(log, context)
        work.disk.failAll(after: nil, with: fault)
        try work.commit(log)
        for segment in log.segments.reversed() where segment.isSealed {
          try work.rewrite(log, segment)
        }
        try work.check(log, context + " again")
        try log.close()
        #expect(verifyLog(directory: "log", fileSystem: work.disk) == [], "\(context)")
        try work.check(work.open(.readWrite), context + " reopened")
        call += 1
      }
      #expect(call > 8)
    }
  }

  @Test("A rewriting that is cancelled at any commit leaves the folder unchanged")
  func cancelling() throws {
    let base = try base(7)
    for stop in 0..<12 {
      let work = work(7, on: base)
      let log = try work.open(.readWrite)
      let paths = work.disk.paths
      var seen = 0
      do {
        for segment in log.segments where segment.isSealed {
          try log.rewrite(segment: segment.firstCommit, horizon: 12) { _, _ in
            seen += 1
            if seen > stop { throw TreeRingError(.cancelled, "Enough.") }
            return .keep
          }
        }
      } catch let error as TreeRingError { #expect(error.code == .cancelled) }
      let names = Set(work.disk.paths.map { $0.prefix(24) })
      #expect(names == Set(paths.map { $0.prefix(24) }))
      #expect(!work.disk.paths.contains { $0.hasSuffix(".tmp") })
      try log.close()
      try work.check(work.open(), "stopped at \(stop)")
    }
  }

  @Test("Without room for the old segment's size, a rewriting fails before it writes anything")
  func noRoom() throws {
    let base = try base(8)
    let work = work(8, on: base)
    let log = try work.open(.readWrite)
    let used = work.disk.paths.reduce(0) { $0 + (work.disk.contents(of: $1)?.count ?? 0) }
    work.disk.setCapacity(used + 200)
    let before = log.statistics.writtenByteCount
    do {
      try log.rewrite(segment: 1, horizon: 0) { _, _ in
        Issue.record("the rewriting began")
        return .keep
      }
      Issue.record("the rewriting succeeded")
    } catch let error as TreeRingError { #expect(error.code == .noSpace) }
    #expect(log.statistics.writtenByteCount == before)
    try work.check(log, "full")
    work.disk.setCapacity(nil)
    try log.rewrite(segment: 1, horizon: 0) { _, _ in .keep }
    try work.check(log, "room again")
  }

  @Test("Of two generations the higher is current, and opening for writing removes the lower")
  func leftovers() throws {
    let work = try base(9)
    let log = try work.open(.readWrite)
    let first = try #require(log.segments.first)
    let bytes = try #require(work.disk.contents(of: first.path))
    work.horizon = first.lastCommit + 1
    try work.rewrite(log, first)
    try log.close()
    let file = try work.disk.open(first.path, .createNew)
    let result: Result<Void, TreeRingError> = bytes.withUnsafeBytes { bytes in
      Result { () throws(TreeRingError) in try file.write(bytes, at: 0) }
    }
    try result.get()
    try work.check(work.open(.readOnly), "read only")
    #expect(work.disk.paths.contains(first.path))
    let again = try work.open(.readWrite)
    try work.check(again, "for writing")
    #expect(again.recoveryReport.removedFiles == [first.path])
    #expect(!work.disk.paths.contains(first.path))
  }
}
