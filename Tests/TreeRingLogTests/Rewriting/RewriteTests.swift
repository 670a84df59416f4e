// Rewriting segments without failures: kept commits, removed commits, concurrent readers.

import Logging
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

struct RewriteTests {
  @Test(
    "A rewritten log holds the chosen commits, also after reopening and rewriting again",
    arguments: seeds(0...15))
  func rewriting(seed: UInt64) throws {
    let work = RewriteWork(seed: seed)
    work.segmentSize = [1_200, 4_000, 60_000].randomElement(using: &work.random) ?? 1_200
    var log = try work.open()
    for round in 0..<3 {
      for _ in 0..<(work.segmentSize == 60_000 ? 200 : 30) { try work.commit(log, .unsynced) }
      let newest = log.sequenced
      work.horizon = CommitNumber.random(in: work.horizon...newest, using: &work.random)
      if Bool.random(using: &work.random) { try log.seal() }
      for segment in log.segments.reversed() where segment.isSealed {
        let before = segment.byteCount
        try work.rewrite(log, segment)
        let now = try #require(log.segments.first { $0.firstCommit == segment.firstCommit })
        #expect(now.generation == segment.generation + 1 && now.horizon == work.horizon)
        #expect(now.lastCommit == segment.lastCommit && before > 0)
      }
      try work.check(log, "seed \(seed) round \(round)")
      try work.check(work.open(.readOnly), "seed \(seed) round \(round) read only")
      try log.close()
      #expect(verifyLog(directory: "log", fileSystem: work.disk) == [])
      log = try work.open(.readWrite)
      #expect(log.recoveryReport.removedFiles == [])
      try work.check(log, "seed \(seed) round \(round) reopened")
    }
  }

  @Test("A file that is opened while its segment is rewritten is not kept open")
  func openedDuringRewriting() throws {
    let disk = MemoryFileSystem()
    let held = HeldFiles()
    let next = Mutex<CommitLog?>(nil)
    let files = HookedFileSystem(
      disk,
      opened: { file in
        held.note(file)
        let log = next.withLock { log in
          defer { log = nil }
          return log
        }
        do {
          _ = try log?.rewrite(segment: 1, horizon: 0) { _, _ in .keep }
        } catch { Issue.record("\(error)") }
      })
    var options = DamageTests.options(.create)
    options.segmentSize = 500
    let log = try CommitLog(directory: "log", fileSystem: files, options: options)
    for number in 1...20 as ClosedRange<CommitNumber> {
      try log.complete(log.append(SampleCommits.draft(number, .unsynced)))
    }
    next.withLock { $0 = log }
    #expect(try log.header(of: 1).number == 1)
    #expect(log.segments[0].generation == 1)
    let removed = try held.paths.filter { try !disk.exists($0) }
    #expect(removed == [])
  }

  @Test("The newest segment can be rewritten after sealing; sealing an empty one does nothing")
  func sealing() throws {
    let work = RewriteWork(seed: 1)
    let log = try work.open()
    try log.seal()
    #expect(log.segments.count == 1 && log.segments[0].isSealed == false)
    for _ in 0..<3 { try work.commit(log) }
    do {
      try log.rewrite(segment: 1, horizon: 0) { _, _ in .keep }
      Issue.record("an active segment was rewritten")
    } catch let error as TreeRingError { #expect(error.code == .notAllowed) }
    try log.seal()
    try log.seal()
    #expect(log.segments.map(\.isSealed) == [true])
    try log.rewrite(segment: 1, horizon: 0) { _, _ in .keep }
    try work.commit(log)
    #expect(log.segments.map(\.firstCommit) == [1, 4])
    #expect(log.segments.map(\.isSealed) == [true, false])
    try work.check(log, "sealed")
    try log.close()
    try work.check(work.open(), "reopened")
  }

  @Test("A rewriting with invalid arguments throws and changes nothing")
  func refusals() throws {
    let work = RewriteWork(seed: 2)
    var log = try work.open()
    for _ in 0..<40 { try work.commit(log, .unsynced) }
    let paths = work.disk.paths
    let first = log.segments[1].firstCommit
    func expect(
      _ code: TreeRingError.Code, _ segment: CommitNumber, _ horizon: CommitNumber,
      _ transform: (CommitHeader) throws -> Rewriting
    ) throws {
      do {
        try log.rewrite(segment: segment, horizon: horizon) { header, _ in
          try transform(header)
        }
        Issue.record("\(code) was not thrown")
      } catch let error as TreeRingError { #expect(error.code == code, "\(error)") }
      #expect(work.disk.paths == paths)
      try work.check(log, "\(code)")
    }
    try expect(.notFound, first + 1, 0) { _ in .keep }
    try expect(.invalidInput, first, 41) { _ in .keep }
    try expect(.invalidInput, first, first) { _ in .drop }
    // The values kept are those that the commit's own payload names.
    try expect(.corruption, first, 0) { _ in
      .replace(payload: [], keptValues: [(operation: 7, part: .object)])
    }
    try expect(.cancelled, first, 40) { header in
      guard header.number < first + 1 else { throw TreeRingError(.cancelled, "Enough.") }
      return .drop
    }
    try expect(.closed, first, 40) { _ in throw TreeRingError(.closed, "Enough.") }
    try work.commit(log)
    try log.close()
    do {
      try log.rewrite(segment: first, horizon: 0) { _, _ in .keep }
      Issue.record("a closed log was rewritten")
    } catch let error as TreeRingError { #expect(error.code == .closed) }
    log = try work.open(.readOnly)
    do {
      try log.rewrite(segment: first, horizon: 0) { _, _ in .keep }
      Issue.record("a log opened for reading was rewritten")
    } catch let error as TreeRingError { #expect(error.code == .notAllowed) }
  }

  @Test("Commits continue while a segment is rewritten, and a kept commit keeps its identity")
  func commitsContinue() throws {
    let work = RewriteWork(seed: 3)
    let log = try work.open()
    for _ in 0..<30 { try work.commit(log) }
    work.horizon = 20
    let identities = try (1...30).map { try log.header(of: $0).checksum }
    for segment in log.segments where segment.isSealed {
      try work.rewrite(log, segment) { try work.commit(log, .full) }
    }
    try work.check(log, "after")
    for number in 1...30 as ClosedRange<CommitNumber> {
      guard let header = try? log.header(of: number) else { continue }
      let same = try log.readPayload(of: number) { [UInt8]($1) }
      let isKept =
        same == work.original[Int(number) - 1].payload
        && header.payloadByteCount == UInt64(same.count)
      if header.checksum == identities[Int(number) - 1] { #expect(isKept) }
    }
    try log.close()
    try work.check(work.open(), "reopened")
  }
}
