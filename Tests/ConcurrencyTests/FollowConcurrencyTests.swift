// A concurrent writer and follower on a disk; the follower learns of commits by the shared word.

import Foundation
import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct FollowConcurrencyTests {
  @Test("A follower keeps up with a writer that syncs, seals, rewrites and starts again")
  func followConcurrently() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.path
    let last: CommitNumber = 400
    let system = PosixFileSystem()
    let finished = Counter()
    async let written: Void = Task.detached {
      defer { _ = finished.next() }
      try Self.write(folder, through: last)
    }.value
    let shown = try await Task.detached { try Self.follow(folder, system, finished) }.value
    try await written
    #expect(shown == last)
    withExtendedLifetime(temporary) {}
  }

  static func write(_ folder: String, through last: CommitNumber) throws {
    let system = PosixFileSystem()
    var next: CommitNumber = 1
    while next <= last {
      let lock = try StoreLock(path: "\(folder)/LOCK", fileSystem: system)
      defer { lock.release() }
      var options = SampleCommits.quiet()
      options.segmentSize = 4_000
      options.durableChanged = { lock.publish(durable: $0) }
      let log = try CommitLog(directory: "\(folder)/log", fileSystem: system, options: options)
      lock.publish(durable: log.durable)
      for _ in 0..<100 {
        try log.complete(log.append(SampleCommits.draft(next, next % 3 == 0 ? .full : .unsynced)))
        if next % 40 == 0, let segment = log.segments.first(where: \.isSealed) {
          try log.rewrite(segment: segment.firstCommit, horizon: 0) { _, _ in .keep }
        }
        next += 1
      }
      try log.close()
    }
  }

  /// Follows until the writer has finished; returns the last visible commit.
  static func follow(
    _ folder: String, _ system: PosixFileSystem, _ finished: Counter
  ) throws -> CommitNumber {
    var word: SharedWord?
    while word == nil { word = try SharedWord.opened("\(folder)/LOCK", system) }
    guard let word else { return 0 }
    var log: CommitLog?
    var value = word.value
    var shown: CommitNumber = 0
    while true {
      let isLast = finished.count > 0
      let now = word.value
      if let durable = now.durable {
        if let log {
          try log.follow(through: durable, hasNewWriter: now.incarnation != value.incarnation)
        } else {
          var options = SampleCommits.quiet(.readOnly)
          options.through = durable
          log = try CommitLog(directory: "\(folder)/log", fileSystem: system, options: options)
        }
        value = now
        guard let log else { continue }
        #expect(log.completed >= shown)
        try log.replay(from: shown + 1, through: log.completed) { header, bytes in
          shown += 1
          #expect(header.number == shown && [UInt8](bytes) == SampleCommits.payload(shown))
          return true
        }
      }
      if isLast { return shown }
    }
  }
}
