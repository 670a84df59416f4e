// Backups and readers whose files are replaced, by a rewriting, just before they open or link them.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

struct ReplacedFilesTests {
  @Test("A segment that is rewritten before it is linked is copied from the opened file")
  func rewrittenBeforeLink() throws {
    let folder = try TemporaryFolder()
    let files = PosixFileSystem()
    let store = folder.path + "/store"
    let log = try SampleCommits.publishedLog(ofStore: store, files)
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
    for _ in 0..<20 { try SampleCommits.read(copy, &random) }
    try log.close()
  }

  @Test("A backup and a reader succeed although a writer replaces the files that they open next")
  func replacedBeforeOpen() throws {
    // One rewriting in so many openings, so that some period meets each step of the reader.
    for period in 1...40 {
      let files = MemoryFileSystem()
      let log = try SampleCommits.publishedLog(ofStore: "store", files)
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
      for _ in 0..<5 { try SampleCommits.read(reader, &random) }
      limit.withLock { $0 = rewritings.count + 60 }
      let report = try reader.backUp(to: "out", fileSystem: files, mayLink: false)
      #expect(report.lastCommit == 60, "period \(period)")
      limit.withLock { $0 = rewritings.count + 60 }
      for _ in 0..<5 { try SampleCommits.read(reader, &random) }
      #expect(rewritings.count > 1, "period \(period)")
      #expect(verifyLog(directory: "out/log", fileSystem: files) == [])
      try log.close()
    }
  }
}
