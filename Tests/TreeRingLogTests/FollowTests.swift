// A log opened for reading follows the writing one, whatever the writer does.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct FollowTests {
  /// Writes, closes, crashes, reopens and compacts, while a follower checks the log from time to
  /// time.
  @Test(
    "A follower sees every durable commit, through seals, restarts, crashes and rewriting",
    arguments: seeds(1...8))
  func follow(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let disk = MemoryFileSystem()
    let segmentSize = [900, 3_000, 1 << 20].randomElement(using: &random) ?? 900
    var options = TrustedTests.options(.create, segmentSize: UInt64(segmentSize))
    var writer = try CommitLog(directory: "log", fileSystem: disk, options: options)
    let reader = try CommitLog(
      directory: "log", fileSystem: disk, options: TrustedTests.options(.readOnly))
    var (next, hasNewWriter): (CommitNumber, Bool) = (1, false)
    for step in 0..<200 {
      let context = "seed \(seed) step \(step)"
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        if Bool.random(using: &random) { try writer.close() }
        // Without a close the state is that after a kill: commits may be moved to another segment.
        options.access = .readWrite
        writer = try CommitLog(directory: "log", fileSystem: disk, options: options)
        #expect(writer.completed == next - 1, "\(context)")
        hasNewWriter = true
      case 1:
        try writer.seal()
      case 2:
        for segment in writer.segments where segment.isSealed && Bool.random(using: &random) {
          try writer.rewrite(segment: segment.firstCommit, horizon: 0) { _, _ in .keep }
        }
      case 3..<12:
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let durability: Durability = Bool.random(using: &random) ? .full : .unsynced
          try writer.complete(writer.append(TrustedTests.draft(next, durability)))
          next += 1
        }
      default:
        let durable = writer.durable
        let found = try reader.follow(through: durable, hasNewWriter: hasNewWriter)
        hasNewWriter = false
        #expect(found == durable && reader.completed == durable, "\(context)")
        guard durable > 0 else { continue }
        try TrustedTests.check(reader, through: durable, context)
      }
    }
  }

  @Test("A follower of a crashed writer that never synced sees what its successor recovers")
  func recovered() throws {
    let disk = MemoryFileSystem()
    var writer = try CommitLog(
      directory: "log", fileSystem: disk, options: TrustedTests.options(.create))
    var options = TrustedTests.options(.readOnly)
    options.through = 0
    let reader = try CommitLog(directory: "log", fileSystem: disk, options: options)
    #expect(reader.completed == 0)
    for number in 1...5 as ClosedRange<CommitNumber> {
      try writer.complete(writer.append(TrustedTests.draft(number, .unsynced)))
    }
    #expect(try reader.follow(through: 0) == 0)
    writer = try CommitLog(
      directory: "log", fileSystem: disk, options: TrustedTests.options(.readWrite))
    #expect(try reader.follow(through: 5, hasNewWriter: true) == 5)
    try TrustedTests.check(reader, through: 5, "recovered")
  }

  @Test("A follower of a log that was cut back or replaced throws `storeRewound`")
  func rewound() throws {
    for isReplaced in [false, true] {
      let disk = MemoryFileSystem()
      var writer = try CommitLog(
        directory: "log", fileSystem: disk,
        options: TrustedTests.options(.create, segmentSize: 900))
      var saved: [String: [UInt8]] = [:]
      for number in 1...40 as ClosedRange<CommitNumber> {
        if number == 30 {
          for name in try disk.list("log") { saved[name] = disk.contents(of: "log/\(name)") }
        }
        try writer.complete(writer.append(TrustedTests.draft(number)))
      }
      let reader = try CommitLog(
        directory: "log", fileSystem: disk, options: TrustedTests.options(.readOnly))
      #expect(reader.completed == 40)
      for name in try disk.list("log") { try disk.unlink("log/\(name)") }
      if !isReplaced {
        for (name, bytes) in saved { disk.setContents(of: "log/\(name)", to: bytes) }
      }
      writer = try CommitLog(
        directory: "log", fileSystem: disk, options: TrustedTests.options(.create))
      for count in 0..<20 {
        do {
          _ = try reader.follow(through: writer.durable, hasNewWriter: true)
          Issue.record("replaced \(isReplaced), \(count) commits later: no error")
        } catch {
          #expect(error.code == .storeRewound, "\(error)")
        }
        var draft = TrustedTests.draft(writer.durable + 1)
        draft.payload = Array("another history \(count)".utf8)
        try writer.complete(writer.append(draft))
      }
    }
  }

  @Test("Following stops at the requested commit, and requires a log opened for reading")
  func bounds() throws {
    let sample = try TrustedTests.Sample(segmentSize: 2_000, closes: true)
    for start in [0, 1, 17, 40] as [CommitNumber] {
      var options = TrustedTests.options(.readOnly)
      options.through = start
      let log = try CommitLog(directory: "log", fileSystem: sample.disk(), options: options)
      #expect(log.completed == start)
      for target in [start, start + 1, start + 30, 90] {
        #expect(try log.follow(through: target) == target)
        #expect(throws: TreeRingError.self) { try log.header(of: target + 1) }
        if target > 0 { try TrustedTests.check(log, through: target, "\(start) \(target)") }
      }
      #expect(try log.follow(through: 200) == 90)
    }
    let writer = try CommitLog(
      directory: "log", fileSystem: sample.disk(), options: TrustedTests.options(.readWrite))
    #expect(throws: TreeRingError.self) { try writer.follow(through: 90) }
  }
}
