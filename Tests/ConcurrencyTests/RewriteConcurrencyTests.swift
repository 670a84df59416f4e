// Readers and writers on other threads while segments are rewritten repeatedly.

import Dispatch
import Foundation
import Logging
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

struct RewriteConcurrencyTests {
  @Test("Readers and writers continue while every segment is rewritten, on the real disk too")
  func readersContinue() throws {
    let folder = try TemporaryFolder()
    for fileSystem in [MemoryFileSystem(), PosixFileSystem()] as [any FileSystem] {
      try fileSystem.makeDirectory("\(folder.path)")
      try run(fileSystem, fileSystem is MemoryFileSystem ? "" : "\(folder.path)/")
    }
  }

  private func run(_ fileSystem: any FileSystem, _ prefix: String) throws {
    var options = SampleCommits.quiet()
    options.segmentSize = 3_000
    let log = try CommitLog(directory: "\(prefix)log", fileSystem: fileSystem, options: options)
    let (before, after): (CommitNumber, CommitNumber) = (120, 400)
    for number in 1...before {
      try log.complete(log.append(SampleCommits.draft(number, .none)))
    }
    let isDone = Atomic(false)
    let readers = beginThreads(3) { reader in
      var random = SeededGenerator(seed: UInt64(reader))
      while !isDone.load(ordering: .sequentiallyConsistent) {
        do { try read(log, &random) } catch { Issue.record("\(error)") }
      }
    }
    let writer = beginThreads { _ in
      do {
        for number in before + 1...after {
          try log.complete(log.append(SampleCommits.draft(number, .none)))
        }
      } catch { Issue.record("\(error)") }
    }
    for round in 1...6 as ClosedRange<CommitNumber> {
      let horizon = round * 15
      for segment in log.segments.reversed() where segment.isSealed {
        try log.rewrite(segment: segment.firstCommit, horizon: horizon) { header, _ in
          header.number < horizon && header.number % 3 != 0 ? .drop : .keep
        }
      }
    }
    isDone.store(true, ordering: .sequentiallyConsistent)
    readers.wait()
    writer.wait()
    try log.close()
    let again = try CommitLog(
      directory: "\(prefix)log", fileSystem: fileSystem, options: options)
    #expect(again.completed == after)
    var random = SeededGenerator(seed: 9)
    for _ in 0..<20 { try read(again, &random) }
    #expect(verifyLog(directory: "\(prefix)log", fileSystem: fileSystem) == [])
  }

  private func read(_ log: CommitLog, _ random: inout SeededGenerator) throws {
    let number = CommitNumber.random(in: 1...log.completed, using: &random)
    let found = Result { () throws(TreeRingError) in
      try log.readPayload(of: number) { [UInt8]($1) }
    }
    if case .failure(let error) = found, error.code == .beyondHorizon {
      #expect(number < log.horizon && number % 3 != 0)
    } else {
      #expect(try found.get() == SampleCommits.payload(number))
    }
    var last = number - 1
    try log.replay(from: number, through: log.completed) { header, bytes in
      #expect(header.number > last && [UInt8](bytes) == SampleCommits.payload(header.number))
      // Only dropped commits leave gaps.
      for missing in last + 1..<header.number { #expect(missing % 3 != 0) }
      last = header.number
      return true
    }
    #expect(try log.newest(atOrBefore: Timestamp(microseconds: .max)) >= last)
  }

  @Test("Backups by another process, of a log that is written and rewritten, are whole")
  func backups() throws {
    let folder = try TemporaryFolder()
    let files = PosixFileSystem()
    let store = folder.path + "/store"
    try files.makeDirectory(store)
    let lock = try StoreLock(path: store + "/LOCK", fileSystem: files)
    var options = SampleCommits.quiet()
    options.segmentSize = 3_000
    options.durableChanged = { lock.publish(durable: $0) }
    let log = try CommitLog(directory: store + "/log", fileSystem: files, options: options)
    lock.publish(durable: log.durable)
    for number in 1...60 as ClosedRange<CommitNumber> {
      try log.complete(log.append(SampleCommits.draft(number, .none)))
    }
    try log.sync()
    let group = beginThreads { _ in
      do {
        for number in 61...200 as ClosedRange<CommitNumber> {
          try log.complete(
            log.append(SampleCommits.draft(number, number % 9 == 0 ? .full : .none)))
          guard number % 35 == 0 else { continue }
          for segment in log.segments.reversed() where segment.isSealed {
            try log.rewrite(segment: segment.firstCommit, horizon: number / 2) { header, _ in
              header.number < number / 2 && header.number % 3 != 0 ? .drop : .keep
            }
          }
        }
      } catch { Issue.record("\(error)") }
    }
    var last: CommitNumber = 0
    for _ in 0..<12 {
      let reader = try CommitLog.forBackup(of: store, fileSystem: files)
      let report = try reader.backUp(
        to: folder.path + "/out", fileSystem: files, mayLink: last % 2 == 0)
      #expect(report.lastCommit >= last)
      last = report.lastCommit
      let copy = try CommitLog(
        directory: folder.path + "/out/log", fileSystem: files,
        options: SampleCommits.quiet(.readOnly))
      #expect(copy.completed == last)
      var random = SeededGenerator(seed: last)
      for _ in 0..<5 { try read(copy, &random) }
    }
    group.wait()
  }

  @Test("A segment that is rewritten before it is linked is copied from the opened file")
  func rewrittenBeforeLink() throws {
    let folder = try TemporaryFolder()
    let files = PosixFileSystem()
    let store = folder.path + "/store"
    try files.makeDirectory(store)
    let lock = try StoreLock(path: store + "/LOCK", fileSystem: files)
    var options = SampleCommits.quiet()
    options.segmentSize = 3_000
    options.durableChanged = { lock.publish(durable: $0) }
    let log = try CommitLog(directory: store + "/log", fileSystem: files, options: options)
    for number in 1...60 as ClosedRange<CommitNumber> {
      try log.complete(log.append(SampleCommits.draft(number, .none)))
    }
    try log.sync()
    let sealed = log.segments.filter(\.isSealed)
    #expect(sealed.count > 3)
    // Each time before a segment is linked, all segments get new generations.
    let links = Counter()
    let target = HookedFileSystem(files) { path in
      guard path.hasPrefix(store + "/log/") else { return }
      let horizon = CommitNumber(links.next() + 2)
      for segment in sealed {
        do {
          try log.rewrite(segment: segment.firstCommit, horizon: horizon) { _, _ in .keep }
        } catch { Issue.record("\(error)") }
      }
    }
    let reader = try CommitLog.forBackup(of: store, fileSystem: files)
    let report = try reader.backUp(to: folder.path + "/out", fileSystem: target, mayLink: true)
    #expect(links.count == sealed.count, "the backup did not begin again")
    #expect(report.linkedByteCount == 0 && report.lastCommit == 60)
    let copy = try CommitLog(
      directory: folder.path + "/out/log", fileSystem: files,
      options: SampleCommits.quiet(.readOnly))
    #expect(copy.completed == 60)
    var random = SeededGenerator(seed: 1)
    for _ in 0..<20 { try read(copy, &random) }
    try log.close()
  }

  @Test("A backup and a reader succeed although a writer replaces the files that they open next")
  func replacedBeforeOpen() throws {
    // One rewriting in so many openings, so that some period meets each step of the reader.
    for period in 1...40 {
      let files = MemoryFileSystem()
      try files.makeDirectory("store")
      let lock = try StoreLock(path: "store/LOCK", fileSystem: files)
      var options = SampleCommits.quiet()
      options.segmentSize = 3_000
      options.durableChanged = { lock.publish(durable: $0) }
      let log = try CommitLog(directory: "store/log", fileSystem: files, options: options)
      for number in 1...60 as ClosedRange<CommitNumber> {
        try log.complete(log.append(SampleCommits.draft(number, .none)))
      }
      try log.sync()
      let (openings, rewritings) = (Counter(), Counter())
      let limit = Mutex(60)
      let watched = HookedFileSystem(files) { path in
        guard let segment = log.segments.first(where: { $0.path == path && $0.isSealed }),
          openings.next() % period == 0, rewritings.count < limit.withLock({ $0 })
        else { return }
        _ = rewritings.next()
        do {
          try log.rewrite(segment: segment.firstCommit, horizon: 0) { _, _ in .keep }
        } catch { Issue.record("\(error)") }
      }
      let reader = try CommitLog.forBackup(of: "store", fileSystem: watched)
      var random = SeededGenerator(seed: UInt64(period))
      for _ in 0..<5 { try read(reader, &random) }
      limit.withLock { $0 = rewritings.count + 60 }
      let report = try reader.backUp(to: "out", fileSystem: files, mayLink: false)
      #expect(report.lastCommit == 60, "period \(period)")
      limit.withLock { $0 = rewritings.count + 60 }
      for _ in 0..<5 { try read(reader, &random) }
      #expect(rewritings.count > 1, "period \(period)")
      #expect(verifyLog(directory: "out/log", fileSystem: files) == [])
      try log.close()
    }
  }

  @Test("Closing while a segment is rewritten stops the rewriting and waits for it")
  func closing() throws {
    let work = RewriteWork(seed: 4)
    let log = try work.open()
    for _ in 0..<20 { try work.commit(log) }
    let paths = work.disk.paths
    let outcome = Mutex<TreeRingError?>(nil)
    let begun = DispatchSemaphore(value: 0)
    let group = beginThreads { _ in
      do {
        try log.rewrite(segment: 1, horizon: 0) { _, _ in
          begun.signal()
          // Until the log is closed, which the next commit detects.
          while (try? log.header(of: 1)) != nil {}
          return .keep
        }
      } catch let error as TreeRingError {
        outcome.withLock { $0 = error }
      } catch { Issue.record("\(error)") }
    }
    begun.wait()
    try log.close()
    group.wait()
    #expect(outcome.withLock { $0?.code } == .closed)
    #expect(work.disk.paths == paths)
  }
}
