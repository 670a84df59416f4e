// Opening from a stored position: the same log, read only from there on.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

struct TrustedTests {
  static let commits: CommitNumber = 90

  /// A log's files, the positions of its commits during the writing, and its content.
  struct Sample {
    var files: [String: [UInt8]] = [:]
    var positions: [LogPosition] = []

    init(segmentSize: UInt64, commits: CommitNumber = TrustedTests.commits, closes: Bool) throws {
      let disk = MemoryFileSystem()
      let log = try CommitLog(
        directory: "log", fileSystem: disk,
        options: TrustedTests.options(.create, segmentSize: segmentSize))
      positions.append(try log.position(of: 0))
      for number in 1...commits {
        try log.complete(log.append(TrustedTests.draft(number)))
        positions.append(try log.position(of: number))
      }
      if closes { try log.close() }
      for name in try disk.list("log") { files[name] = disk.contents(of: "log/\(name)") }
    }

    func disk(_ change: (inout [String: [UInt8]]) -> Void = { _ in }) throws -> MemoryFileSystem {
      var files = files
      change(&files)
      let disk = MemoryFileSystem()
      try disk.makeDirectory("log")
      for (name, bytes) in files { disk.setContents(of: "log/\(name)", to: bytes) }
      return disk
    }

    var names: [String] { files.keys.sorted() }
  }

  static func options(
    _ access: LogAccess, segmentSize: UInt64 = 64 << 20, trusted: LogPosition? = nil,
    recovery: RecoveryMode = .tail
  ) -> LogOptions {
    var options = LogOptions(access: access, segmentSize: segmentSize, recovery: recovery)
    options.logger.logLevel = .critical
    options.trusted = trusted
    return options
  }

  static func payload(_ number: CommitNumber) -> [UInt8] {
    (0..<Int(20 + number % 90)).map { UInt8(truncatingIfNeeded: $0 &+ Int(number)) }
  }

  static func draft(_ number: CommitNumber, _ durability: Durability = .full) -> CommitDraft {
    CommitDraft(
      number: number, timestamp: Timestamp(microseconds: Int64(number / 3)), operationCount: 1,
      payload: payload(number),
      values: number % 10 == 0
        ? [LoggedValue(operation: 0, part: .object, bytes: payload(number + 1))] : [],
      durability: durability)
  }

  static func check(_ log: CommitLog, through last: CommitNumber, _ context: String) throws {
    #expect(log.completed == last, "\(context)")
    for number in [last, 1, last / 2, last / 3] where number > 0 {
      #expect(try log.readPayload(of: number) { [UInt8]($1) } == payload(number), "\(context)")
      let moment = Timestamp(microseconds: Int64(number / 3))
      let newest = min(number / 3 * 3 + 2, last)
      #expect(try log.newest(atOrBefore: moment) == newest, "\(context)")
    }
    var next: CommitNumber = 1
    try log.replay(from: 1, through: last) { header, bytes in
      #expect(header.number == next && [UInt8](bytes) == payload(next), "\(context)")
      next += 1
      return true
    }
    #expect(next == last + 1, "\(context)")
    for number in stride(from: 10, through: last, by: 10) {
      #expect(
        try log.value(commit: number, operation: 0, part: .object) == payload(number + 1))
    }
  }

  func expect(_ code: TreeRingError.Code, _ context: String, _ body: () throws -> Void) {
    do {
      try body()
      Issue.record("\(context): no error")
    } catch {
      #expect((error as? TreeRingError)?.code == code, "\(context): \(error)")
    }
  }

  @Test(
    "Opening from the position of any commit gives the same log, to read, to append to and to seal",
    arguments: [3_000, 20_000] as [UInt64], [true, false])
  func anyPosition(segmentSize: UInt64, closes: Bool) throws {
    let sample = try Sample(segmentSize: segmentSize, closes: closes)
    for position in sample.positions {
      for access in [LogAccess.readOnly, .readWrite] {
        let context = "commit \(position.commit), \(access), closed \(closes)"
        let disk = try sample.disk()
        let log = try CommitLog(
          directory: "log", fileSystem: disk,
          options: Self.options(access, segmentSize: segmentSize, trusted: position))
        #expect(log.trust == .accepted, "\(context)")
        #expect(log.recoveryReport.droppedByteCount == 0, "\(context)")
        if position.commit % 2 == 0 { try Self.check(log, through: Self.commits, context) }
        #expect(try log.position(of: position.commit) == position, "\(context)")
        guard access == .readWrite else { continue }
        let more = Self.commits + 30
        for number in (Self.commits + 1)...more {
          try log.complete(log.append(Self.draft(number)))
        }
        try Self.check(log, through: more, context)
        try log.close()
        let exact = try CommitLog(
          directory: "log", fileSystem: disk,
          options: Self.options(.readWrite, trusted: position, recovery: .exact))
        #expect(exact.trust == .accepted, "\(context)")
        #expect(verifyLog(directory: "log", fileSystem: disk) == [], "\(context)")
      }
    }
  }

  @Test("Damage before the position is found by reads and by `verifyLog`; after it, by opening")
  func damage() throws {
    let sample = try Sample(segmentSize: 3_000, closes: true)
    #expect(sample.names.count > 4)
    let position = sample.positions[45]
    let log = try CommitLog(
      directory: "log", fileSystem: sample.disk(), options: Self.options(.readOnly))
    for number in 1...Self.commits {
      let header = try log.header(of: number)
      for offset in [20, Int(header.storedByteCount) - 2] {
        let name = String(header.file.dropFirst(4))
        let disk = try sample.disk { $0[name]?[Int(header.offset) + offset] ^= 0x40 }
        let context = "commit \(number) byte \(offset)"
        #expect(!verifyLog(directory: "log", fileSystem: disk).isEmpty, "\(context)")
        func open() throws -> CommitLog {
          try CommitLog(
            directory: "log", fileSystem: disk,
            options: Self.options(.readWrite, trusted: position))
        }
        if number > 45 || (number == 45 && offset == 20) {
          expect(.corruption, context) { _ = try open() }
        } else {
          let found = try open()
          expect(.corruption, context) {
            try found.replay(from: 1, through: Self.commits) { _, _ in true }
            _ = try found.value(commit: number, operation: 0, part: .object)
          }
        }
      }
    }
  }

  @Test("A damaged directory before the position is found by the first lookup through it")
  func damagedDirectory() throws {
    let sample = try Sample(segmentSize: 3_000, closes: true)
    let name = sample.names[1]
    let offset = (sample.files[name]?.count ?? 0) - 30
    let disk = try sample.disk { $0[name]?[offset] ^= 1 }
    let log = try CommitLog(
      directory: "log", fileSystem: disk,
      options: Self.options(.readOnly, trusted: sample.positions[80]))
    let first = CommitNumber(name.prefix(20)) ?? 0
    expect(.corruption, "entries") { _ = try log.header(of: first + 1) }
    #expect(try log.header(of: first - 1).number == first - 1)
  }

  @Test("A commit that recovery has moved since is still trusted")
  func moved() throws {
    let disk = MemoryFileSystem()
    var positions: [LogPosition] = []
    do {
      let log = try CommitLog(
        directory: "log", fileSystem: disk, options: Self.options(.create))
      for number in 1...20 as ClosedRange<CommitNumber> {
        try log.complete(log.append(Self.draft(number, number == 9 ? .full : .unsynced)))
        positions.append(try log.position(of: number))
      }
    }
    // The log was not closed. The commits behind the 9th are moved to another segment.
    let again = try CommitLog(
      directory: "log", fileSystem: disk, options: Self.options(.readWrite))
    #expect(again.recoveryReport.copiedCommitCount > 0)
    for position in positions {
      let log = try CommitLog(
        directory: "log", fileSystem: disk, options: Self.options(.readOnly, trusted: position))
      #expect(log.trust == .accepted)
      try Self.check(log, through: 20, "commit \(position.commit)")
      #expect(try log.position(of: position.commit).identity == position.identity)
    }
  }

  @Test("Commits before the position are never copied as doubtful ones")
  func provenByPosition() throws {
    let sample = try Sample(segmentSize: 64 << 20, commits: 20, closes: false)
    for position in sample.positions.dropFirst() {
      let log = try CommitLog(
        directory: "log", fileSystem: sample.disk(),
        options: Self.options(.readWrite, trusted: position))
      // The frame of the last commit states that the ones before it are synced.
      #expect(log.recoveryReport.copiedCommitCount == (position.commit == 20 ? 0 : 1))
      try Self.check(log, through: 20, "commit \(position.commit)")
    }
  }

  @Test("A log that ends before the position is refused and not changed")
  func behind() throws {
    let sample = try Sample(segmentSize: 3_000, closes: true)
    let position = sample.positions[90]
    let log = try CommitLog(
      directory: "log", fileSystem: sample.disk(), options: Self.options(.readOnly))
    let cut = Int(try log.header(of: 88).offset)
    let last = sample.names[sample.names.count - 1]
    let disks = [
      try sample.disk { $0[last] = nil },
      try sample.disk { $0[last]?.removeSubrange(cut...) },
      try sample.disk { $0[last]?.removeSubrange((cut + 5)...) },
    ]
    for (index, disk) in disks.enumerated() {
      let before = try disk.list("log").sorted().map { disk.contents(of: "log/\($0)") }
      expect(.logBehindPages, "\(index)") {
        _ = try CommitLog(
          directory: "log", fileSystem: disk,
          options: Self.options(.readWrite, trusted: position))
      }
      #expect(try disk.list("log").sorted().map { disk.contents(of: "log/\($0)") } == before)
    }
    expect(.logBehindPages, "no log") {
      _ = try CommitLog(
        directory: "log", fileSystem: MemoryFileSystem(),
        options: Self.options(.create, trusted: position))
    }
  }

  @Test("A segment missing before the position is corruption")
  func missing() throws {
    let sample = try Sample(segmentSize: 3_000, closes: true)
    for name in sample.names.dropLast() {
      let disk = try sample.disk { $0[name] = nil }
      expect(.corruption, name) {
        _ = try CommitLog(
          directory: "log", fileSystem: disk,
          options: Self.options(.readWrite, trusted: sample.positions[90]))
      }
    }
  }

  @Test("A position of another log is refused, and all of the log is read")
  func foreign() throws {
    let sample = try Sample(segmentSize: 3_000, closes: true)
    let other = try Sample(segmentSize: 3_000, commits: 50, closes: true)
    for number in [0, 1, 30, 50] {
      var options = Self.options(.readWrite, trusted: other.positions[number])
      let log = try CommitLog(directory: "log", fileSystem: sample.disk(), options: options)
      // The same content has the same identity, so only the beginning distinguishes the logs.
      if number == 0 { #expect(log.trust != .accepted) }
      options.trusted?.identity ^= 1
      options.trusted?.salt ^= 1
      let changed = try CommitLog(directory: "log", fileSystem: sample.disk(), options: options)
      guard case .refused = changed.trust else {
        Issue.record("commit \(number) was trusted")
        continue
      }
      try Self.check(changed, through: Self.commits, "commit \(number)")
      options.trustedStoreID = 1
      options.trusted?.commit = 1_000
      let third = try CommitLog(directory: "log", fileSystem: sample.disk(), options: options)
      #expect(third.trust == .refused("it belongs to another store"))
    }
  }
}
