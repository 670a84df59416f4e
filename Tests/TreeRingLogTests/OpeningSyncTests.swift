// After a clean close an opening leaves its syncs to the first write, and they precede that write:
// of an unsynced copy, and of a log whose close was killed.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

@Suite("Syncs that an opening leaves to the first write")
struct OpeningSyncTests {
  /// The first writes of a log that has been opened.
  enum FirstWrite: CaseIterable {
    case synced, unsynced
    /// After the active segment was sealed.
    case toNextSegment
  }

  private static func open(
    _ disk: SimulatedFileSystem, _ access: LogAccess, segmentSize: UInt64 = 64 << 20
  ) throws -> CommitLog {
    var options = SampleCommits.quiet(access)
    options.segmentSize = segmentSize
    return try CommitLog(directory: "store/log", fileSystem: disk, options: options)
  }

  /// A log with five commits in one segment.
  private static func log(on disk: SimulatedFileSystem) throws -> CommitLog {
    try disk.makeDirectory("store")
    try disk.syncDirectory("")
    let log = try open(disk, .create)
    for number in 1...5 as ClosedRange<CommitNumber> {
      try log.complete(log.append(SampleCommits.draft(number)))
    }
    return log
  }

  /// Opens the log and writes commit 6.
  private static func write(
    _ first: FirstWrite, to disk: SimulatedFileSystem
  ) throws -> CommitLog {
    let log = try open(disk, .readWrite, segmentSize: first == .toNextSegment ? 100 : 64 << 20)
    let durability: Durability = first == .unsynced ? .unsynced : .full
    try log.complete(log.append(SampleCommits.draft(6, durability)))
    return log
  }

  @Test("An opening and a close change nothing; the first write follows the syncs")
  func order() throws {
    for first in FirstWrite.allCases {
      let disk = SimulatedFileSystem(seed: 1)
      try Self.log(on: disk).close()
      var count = disk.callCount
      try Self.open(disk, .readWrite).close()
      #expect(disk.calls(after: count) == [])
      count = disk.callCount
      let log = try Self.write(first, to: disk)
      let file = "store/log/00000000000000000001.0.lz4"
      let calls = disk.calls(after: count)
      #expect(
        calls.prefix(4) == [
          "syncDirectory store/log", "syncDirectory store", "sync \(file)",
          calls.first { !$0.hasPrefix("sync") } ?? "none",
        ], "\(first): \(calls)")
      // They are made once.
      count = disk.callCount
      try log.complete(log.append(SampleCommits.draft(7)))
      #expect(!disk.calls(after: count).contains { $0.hasSuffix(" store") })
      try log.close()
    }
  }

  @Test("Power fails after a commit to a copy that nobody synced: the commit is present")
  func unsyncedCopy() throws {
    for first in FirstWrite.allCases {
      for seed in 1...20 as ClosedRange<UInt64> {
        let source = SimulatedFileSystem(seed: seed)
        try Self.log(on: source).close()
        let disk = SimulatedFileSystem(seed: seed)
        try disk.makeDirectory("store")
        try disk.makeDirectory("store/log")
        for name in try source.list("store/log") {
          let bytes = try #require(source.contents(of: "store/log/\(name)"))
          let file = try disk.open("store/log/\(name)", .createNew)
          try bytes.withUnsafeBytes { (bytes) throws(TreeRingError) in
            try file.write(bytes, at: 0)
          }
        }
        // The name of the store's folder is the business of its creator.
        try disk.syncDirectory("")
        let log = try Self.write(first, to: disk)
        // It makes an unsynced commit durable.
        if first == .unsynced { try log.sync() }
        let found = try Self.open(disk.afterCrash(seed: seed), .readWrite)
        #expect(found.completed == 6, "\(first), seed \(seed)")
        try found.close()
      }
    }
  }

  @Test("A close is killed, another process writes, and power fails: no synced commit is lost")
  func killedClose() throws {
    let disk = SimulatedFileSystem(seed: 1)
    let log = try Self.log(on: disk)
    let moments = Mutex<[SimulatedFileSystem]>([])
    disk.observe { _, _, disk in moments.withLock { $0.append(disk) } }
    try log.close()
    disk.observe(nil)
    let killed = moments.withLock { $0 } + [disk]
    #expect(killed.count > 2)
    for (moment, disk) in killed.enumerated() {
      for first in FirstWrite.allCases {
        let disk = disk.afterKill()
        let later = Mutex<[SimulatedFileSystem]>([])
        disk.observe { _, _, disk in later.withLock { $0.append(disk) } }
        let log = try Self.write(first, to: disk)
        disk.observe(nil)
        for (call, disk) in later.withLock({ $0 }).enumerated() {
          for seed in 1...60 as ClosedRange<UInt64> {
            let found = try Self.open(disk.afterCrash(seed: seed), .readWrite)
            #expect(found.completed >= 5, "moment \(moment), \(first), call \(call), seed \(seed)")
            try found.close()
          }
        }
        for seed in 1...10 as ClosedRange<UInt64> {
          let found = try Self.open(disk.afterCrash(seed: seed), .readWrite)
          let wanted: CommitNumber = first == .unsynced ? 5 : 6
          #expect(found.completed >= wanted, "moment \(moment), \(first), seed \(seed)")
          try found.close()
        }
        try log.close()
      }
    }
  }
}
