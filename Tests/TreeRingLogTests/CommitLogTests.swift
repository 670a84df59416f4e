// Basic use of the log: appended commits are read back, directly and after reopening.

import TestSupport
import Testing

@testable import TreeRingLog

struct CommitLogTests {
  let disk = MemoryFileSystem()

  func open(
    _ access: LogAccess = .create, segmentSize: UInt64 = 64 << 20,
    recovery: RecoveryMode = .tail
  ) throws -> CommitLog {
    try CommitLog(
      directory: "log", fileSystem: disk,
      options: LogOptions(access: access, segmentSize: segmentSize, recovery: recovery))
  }

  func check(_ log: CommitLog, through newest: CommitNumber) throws {
    var expected: CommitNumber = 1
    try log.replay(from: 1, through: newest) { header, bytes in
      #expect(header.number == expected)
      #expect([UInt8](bytes) == SampleCommits.payload(expected))
      expected += 1
      return true
    }
    #expect(expected == newest + 1)
    for number in stride(from: 1, through: newest, by: 7) {
      let header = try log.header(of: number)
      #expect(header.timestamp == Timestamp(microseconds: Int64(number) * 10))
      #expect(try log.readPayload(of: number) { [UInt8]($1) } == SampleCommits.payload(number))
      for value in SampleCommits.values(number) {
        #expect(
          try log.value(commit: number, operation: value.operation, part: value.part)
            == value.bytes)
      }
      #expect(try log.newest(atOrBefore: header.timestamp) == number)
      #expect(
        try log.newest(atOrBefore: Timestamp(microseconds: header.timestamp.microseconds - 1))
          == number - 1)
    }
  }

  @Test("Every appended commit is read back, from memory, from disk and after reopening")
  func roundTrip() throws {
    let log = try open(segmentSize: 20_000)
    for number in 1...200 as ClosedRange<CommitNumber> {
      let ticket = try log.append(SampleCommits.draft(number))
      #expect(log.sequenced == number)
      #expect(log.completed == number - 1)
      #expect(try log.readPayload(of: number) { [UInt8]($1) } == SampleCommits.payload(number))
      for value in SampleCommits.values(number) {
        #expect(
          try log.value(commit: number, operation: value.operation, part: value.part)
            == value.bytes)
      }
      try log.complete(ticket)
      #expect(log.completed == number && log.durable == number)
    }
    try check(log, through: 200)
    #expect(log.statistics.segmentCount > 2)
    try log.close()
    let again = try open(.readWrite, segmentSize: 20_000)
    #expect(again.recoveryReport.wasClosedCleanly)
    #expect(again.recoveryReport.notes == [])
    #expect(again.storeID == log.storeID)
    try check(again, through: 200)
    try again.complete(again.append(SampleCommits.draft(201)))
    try check(again, through: 201)
    // Reopens without a close.
    let third = try open(.readOnly)
    try check(third, through: 201)
    #expect(third.recoveryReport.copiedCommitCount == 0)
    let fourth = try open(.readWrite)
    #expect(fourth.recoveryReport.copiedCommitCount == 1)
    try check(fourth, through: 201)
    try fourth.complete(fourth.append(SampleCommits.draft(202)))
    try fourth.close()
    let fifth = try open(.readWrite, recovery: .exact)
    #expect(fifth.recoveryReport.notes == [])
    try check(fifth, through: 202)
    try fifth.close()
    #expect(verifyLog(directory: "log", fileSystem: disk) == [])
  }
}
