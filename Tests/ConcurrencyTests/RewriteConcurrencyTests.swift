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
      try log.complete(log.append(SampleCommits.draft(number, .unsynced)))
    }
    let isDone = Atomic(false)
    let readers = beginThreads(3) { reader in
      var random = SeededGenerator(seed: UInt64(reader))
      while !isDone.load(ordering: .sequentiallyConsistent) {
        do { try SampleCommits.read(log, &random) } catch { Issue.record("\(error)") }
      }
    }
    let writer = beginThreads { _ in
      do {
        for number in before + 1...after {
          try log.complete(log.append(SampleCommits.draft(number, .unsynced)))
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
    for _ in 0..<20 { try SampleCommits.read(again, &random) }
    #expect(verifyLog(directory: "\(prefix)log", fileSystem: fileSystem) == [])
  }

  @Test("Backups by another process, of a log that is written and rewritten, are whole")
  func backups() throws {
    let folder = try TemporaryFolder()
    let files = PosixFileSystem()
    let store = folder.path + "/store"
    let log = try SampleCommits.publishedLog(ofStore: store, files)
    let group = beginThreads { _ in
      do {
        for number in 61...200 as ClosedRange<CommitNumber> {
          try log.complete(
            log.append(SampleCommits.draft(number, number % 9 == 0 ? .full : .unsynced)))
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
      for _ in 0..<5 { try SampleCommits.read(copy, &random) }
    }
    group.wait()
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
