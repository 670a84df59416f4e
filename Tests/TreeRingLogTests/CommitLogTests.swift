// Basic use of the log: appended commits are read back, directly and after reopening.

import TestSupport
import Testing
import TreeRingLog

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

  static func payload(_ number: CommitNumber) -> [UInt8] {
    (0..<Int(number * 37 % 900)).map { UInt8(truncatingIfNeeded: $0 / 3 &+ Int(number)) }
  }

  static func values(_ number: CommitNumber) -> [LoggedValue] {
    guard number % 3 == 0 else { return [] }
    return [
      LoggedValue(operation: 0, part: .object, bytes: payload(number + 1)),
      LoggedValue(operation: 0, part: .metadata, bytes: payload(number + 2)),
      LoggedValue(operation: 4, part: .object, bytes: Array(repeating: 7, count: 200_000)),
    ]
  }

  static func draft(_ number: CommitNumber, _ durability: Durability = .full) -> CommitDraft {
    CommitDraft(
      number: number, timestamp: Timestamp(microseconds: Int64(number) * 10),
      operationCount: UInt32(number % 5) + 1, payload: payload(number), values: values(number),
      durability: durability)
  }

  func check(_ log: CommitLog, through newest: CommitNumber) throws {
    var expected: CommitNumber = 1
    try log.replay(from: 1, through: newest) { header, bytes in
      #expect(header.number == expected)
      #expect([UInt8](bytes) == Self.payload(expected))
      expected += 1
      return true
    }
    #expect(expected == newest + 1)
    for number in stride(from: 1, through: newest, by: 7) {
      let header = try log.header(of: number)
      #expect(header.timestamp == Timestamp(microseconds: Int64(number) * 10))
      #expect(try log.readPayload(of: number) { [UInt8]($1) } == Self.payload(number))
      for value in Self.values(number) {
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

  @Test("What was committed is read back, in memory, on disk and after reopening")
  func roundTrip() throws {
    let log = try open(segmentSize: 20_000)
    for number in 1...200 as ClosedRange<CommitNumber> {
      let ticket = try log.append(Self.draft(number))
      #expect(log.sequenced == number)
      #expect(log.completed == number - 1)
      #expect(try log.readPayload(of: number) { [UInt8]($1) } == Self.payload(number))
      for value in Self.values(number) {
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
    try again.complete(again.append(Self.draft(201)))
    try check(again, through: 201)
    // Reopens without a close.
    let third = try open(.readOnly)
    try check(third, through: 201)
    #expect(third.recoveryReport.copiedCommitCount == 0)
    let fourth = try open(.readWrite)
    #expect(fourth.recoveryReport.copiedCommitCount == 1)
    try check(fourth, through: 201)
    try fourth.complete(fourth.append(Self.draft(202)))
    try fourth.close()
    let fifth = try open(.readWrite, recovery: .exact)
    #expect(fifth.recoveryReport.notes == [])
    try check(fifth, through: 202)
    try fifth.close()
    #expect(verifyLog(directory: "log", fileSystem: disk) == [])
  }
}
