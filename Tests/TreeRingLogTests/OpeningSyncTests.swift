// After a clean close an opening leaves its syncs to the first write, or to the first caller who
// wants something durable. They come before either: for an unsynced copy of a log, and for a log
// whose close was killed.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

@Suite("Syncs that an opening leaves to the first write")
struct OpeningSyncTests {
  /// The first call after an opening.
  enum FirstCall: CaseIterable {
    case syncedWrite, unsyncedWrite
    /// A write after which the active segment is sealed.
    case writeToNextSegment
    case sync
    /// The active segment is sealed, as before a compaction.
    case seal
    /// Waits until the newest commit, an old one, is durable.
    case completion

    /// The newest commit after it, and the newest one that it makes durable.
    var newest: CommitNumber { [.sync, .seal, .completion].contains(self) ? 5 : 6 }
    var durable: CommitNumber { self == .unsyncedWrite ? 5 : newest }
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

  /// Opens a log of five commits and makes the first call.
  private static func use(
    _ disk: SimulatedFileSystem, _ first: FirstCall
  ) throws -> CommitLog {
    let isFull = first == .writeToNextSegment
    let log = try open(disk, .readWrite, segmentSize: isFull ? 100 : 64 << 20)
    try use(log, first)
    return log
  }

  private static func use(_ log: CommitLog, _ first: FirstCall) throws {
    switch first {
    case .syncedWrite, .writeToNextSegment:
      try log.complete(log.append(SampleCommits.draft(6)))
    case .unsyncedWrite: try log.complete(log.append(SampleCommits.draft(6, .unsynced)))
    case .sync: try log.sync()
    case .seal:
      try log.seal()
      try log.sync()
    case .completion: try log.complete(log.ticket(for: 5, durability: .full))
    }
  }

  @Test("An opening and a close change nothing; the first call begins with the syncs, once")
  func order() throws {
    for first in FirstCall.allCases {
      let disk = SimulatedFileSystem(seed: 1)
      try Self.log(on: disk).close()
      var count = disk.callCount
      try Self.open(disk, .readWrite).close()
      #expect(disk.calls(after: count) == [])
      count = disk.callCount
      let log = try Self.use(disk, first)
      let file = "store/log/00000000000000000001.0.lz4"
      let calls = disk.calls(after: count)
      let wanted = ["syncDirectory store/log", "syncDirectory store", "sync \(file)"]
      #expect(Array(calls.prefix(3)) == wanted, "\(first): \(calls)")
      count = disk.callCount
      try log.complete(log.append(SampleCommits.draft(first.newest + 1)))
      #expect(!disk.calls(after: count).contains { $0.hasSuffix(" store") })
      try log.close()
    }
  }

  @Test("Power fails after the first call on a copy that nobody synced: what is durable is present")
  func unsyncedCopy() throws {
    for first in FirstCall.allCases {
      for seed in 1...20 as ClosedRange<UInt64> {
        let source = SimulatedFileSystem(seed: seed)
        try Self.log(on: source).close()
        let disk = try source.unsyncedLog(ofStore: "store", seed: seed)
        let log = try Self.use(disk, first)
        if first == .unsyncedWrite { try log.sync() }
        let found = try Self.open(disk.afterCrash(seed: seed), .readWrite)
        #expect(found.completed == first.newest, "\(first), seed \(seed)")
        try found.close()
      }
    }
  }

  @Test("A sync that the first call makes fails: nothing is written, and no sync is retried")
  func failedSync() throws {
    for first in FirstCall.allCases {
      for call in 1...3 {
        for fault in [DiskFault.noSpace, .inputOutput] {
          let disk = SimulatedFileSystem(seed: 1)
          try Self.log(on: disk).close()
          let isFull = first == .writeToNextSegment
          let log = try Self.open(disk, .readWrite, segmentSize: isFull ? 100 : 64 << 20)
          let count = disk.callCount
          disk.fail(after: call, with: fault)
          #expect(throws: TreeRingError.self) { try Self.use(log, first) }
          #expect(disk.callCount == count + call, "\(first), \(call), \(fault)")
          #expect(throws: TreeRingError.self, "\(first), \(call), \(fault)") {
            try log.complete(log.append(SampleCommits.draft(first.newest + 1)))
          }
          #expect(disk.callCount == count + call, "\(first), \(call), \(fault)")
          try? log.close()
          let found = try Self.open(disk.afterKill(), .readWrite)
          #expect(found.completed == 5, "\(first), \(call), \(fault)")
          try found.close()
        }
      }
    }
  }

  @Test("A close is killed, another process goes on, and power fails: no synced commit is lost")
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
      for first in FirstCall.allCases {
        let disk = disk.afterKill()
        let later = Mutex<[SimulatedFileSystem]>([])
        disk.observe { _, _, disk in later.withLock { $0.append(disk) } }
        let log = try Self.use(disk, first)
        disk.observe(nil)
        for (call, disk) in later.withLock({ $0 }).enumerated() {
          for seed in 1...40 as ClosedRange<UInt64> {
            let found = try Self.open(disk.afterCrash(seed: seed), .readWrite)
            #expect(found.completed >= 5, "moment \(moment), \(first), call \(call), seed \(seed)")
            try found.close()
          }
        }
        for seed in 1...10 as ClosedRange<UInt64> {
          let found = try Self.open(disk.afterCrash(seed: seed), .readWrite)
          #expect(found.completed >= first.durable, "moment \(moment), \(first), seed \(seed)")
          try found.close()
        }
        try log.close()
      }
    }
  }
}
