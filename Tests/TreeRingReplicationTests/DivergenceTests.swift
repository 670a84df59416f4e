// Logs that are not what a replica has taken: re-created, set back, or continued elsewhere. They
// are found, and nothing changes, neither in the folder nor in the log.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingReplication

@Suite(.leavesSoundStores)
struct DivergenceTests {
  /// A replica that leads, and has written five commits; the last one put "4".
  private func leader(
    of log: any SharedLog, on disk: any FileSystem = MemoryFileSystem(),
    limit: Duration = .seconds(20)
  ) throws -> Replica {
    let replica = try replica("a", log, on: disk, limit: limit)
    try replica.lead()
    for number in 0..<5 { try replica.store.write { try $0.put("\(number)", for: "x", in: texts) } }
    return replica
  }

  /// A log that has the first entries of another one.
  private func copy(of log: any SharedLog, through last: Int) throws -> MemoryLog {
    let entries = try log.read(from: 1, byteLimit: .max, within: .zero)
    let copy = MemoryLog()
    _ = try copy.append(Array(entries[..<last]), after: 0, within: .zero)
    return copy
  }

  @Test("A log that was re-created, set back or continued elsewhere is found, and nothing changes")
  func divergence() throws {
    let log = MemoryLog()
    let disk = MemoryFileSystem()
    let a = try leader(of: log, on: disk)
    let before = try contents(a.store)
    try a.close()
    // The log of the first entries, and then others.
    let other = MemoryLog()
    let entries = try log.read(from: 1, byteLimit: .max, within: .zero)
    _ = try other.append(Array(entries[..<4]), after: 0, within: .zero)
    let limit = Duration.milliseconds(300)
    #expect(code { _ = try replica("a", other, on: disk, limit: limit) } == .diverged)
    let b = try replica("b", other)
    try b.lead()
    for number in 0..<9 { try b.store.write { try $0.put("b\(number)", for: "x", in: texts) } }
    #expect(code { _ = try replica("a", other, on: disk) } == .diverged)
    // An empty log has perhaps lost its entries. It begins with what there is only if told so.
    let empty = MemoryLog()
    #expect(code { _ = try replica("a", empty, on: disk) } == .diverged)
    #expect(try empty.ends(within: .zero).last == 0)
    try replica("a", empty, on: disk, mayBeginLog: true).close()
    try b.close()
    let plain = try Store(
      path: "store", fileSystem: disk, options: StoreOptions(logger: quietLogger))
    #expect(try contents(plain) == before)
    try plain.close()
  }

  @Test("A running replica notices a log that was set back, and keeps its state")
  func setBack() throws {
    let log = SwitchedLog(MemoryLog())
    let a = try leader(of: log, limit: .milliseconds(300))
    let other = try copy(of: log, through: 3)
    try a.stepDown()
    log.turn(to: other)
    let deadline = ContinuousClock.now + .seconds(30)
    while a.status.failure == nil, .now < deadline {}
    #expect(a.status.failure?.code == .diverged)
    #expect(code { try a.catchUp() } == .diverged)
    #expect(try a.store.snapshot().get("x", in: texts) == "4")
    try a.close()
  }

  @Test("A leader whose log was set back says so at its next write, and takes no more")
  func setBackUnderLeader() throws {
    let log = SwitchedLog(MemoryLog())
    let a = try leader(of: log, limit: .milliseconds(300))
    let other = try copy(of: log, through: 3)
    log.turn(to: other)
    do {
      try a.store.write { try $0.put("5", for: "x", in: texts) }
      Issue.record("a log that was set back took a commit")
    } catch let error as TreeRingError {
      #expect(error.code == .unknown && error.message.contains("the log ends before entry"))
    }
    #expect(code { try a.store.write { _ in } } != nil)
    let deadline = ContinuousClock.now + .seconds(30)
    while a.status.failure == nil, .now < deadline {}
    #expect(a.status.failure?.code == .diverged)
    #expect(try other.ends(within: .zero).last == 3)
    #expect(try a.store.snapshot().get("x", in: texts) == "4")
    try? a.close()
  }

  @Test("A replica leads no log that was set back or went on elsewhere, and appends nothing to it")
  func leadingElsewhere() throws {
    for further in 0...3 {
      let log = SwitchedLog(MemoryLog())
      let a = try leader(of: log, limit: .milliseconds(300))
      let other = try copy(of: log, through: 4)
      let b = try replica("b", other)
      try b.lead()
      for number in 0..<further {
        try b.store.write { try $0.put("\(number)", for: "y", in: texts) }
      }
      try a.stepDown()
      let last = try other.ends(within: .zero).last
      log.turn(to: other)
      #expect(code { try a.lead() } == .diverged)
      #expect(try other.ends(within: .zero).last == last)
      try b.store.write { try $0.put("still leads", for: "y", in: texts) }
      #expect(try a.store.snapshot().get("x", in: texts) == "4")
      try a.close()
      try b.close()
    }
  }

  @Test(
    "A log that seems to end early for a moment, by a machine that was cut off, does not diverge")
  func shortForAMoment() throws {
    let log = SwitchedLog(MemoryLog())
    let disk = MemoryFileSystem()
    let a = try leader(of: log, on: disk)
    let whole = log.log
    let stale = try copy(of: log, through: 3)
    try a.close()
    log.turn(to: stale)
    onThreads(2) { thread in
      if thread == 0 {
        Platform.sleep(.milliseconds(200))
        return log.turn(to: whole)
      }
      do {
        let again = try replica("a", log, on: disk)
        #expect(try again.store.snapshot().get("x", in: texts) == "4")
        try again.close()
      } catch { Issue.record("\(error)") }
    }
  }

  @Test("A log with another past is found, although its next commit would fit")
  func otherPast() throws {
    let log = SwitchedLog(MemoryLog())
    let a = try replica("a", log)
    try a.lead()
    try a.store.write { try $0.put("1", for: "x", in: texts) }
    let other = try copy(of: log, through: 3)
    try a.stepDown()
    try a.lead()
    let b = try replica("b", other)
    try b.lead()
    for number in 2...5 {
      try a.store.write { try $0.put("\(number)", for: "x", in: texts) }
      try b.store.write { try $0.put("b\(number)", for: "x", in: texts) }
    }
    try b.store.write { try $0.put("b6", for: "x", in: texts) }
    try a.stepDown()
    log.turn(to: other)
    #expect(code { try a.catchUp() } == .diverged)
    #expect(try a.store.snapshot().get("x", in: texts) == "5")
    try a.close()
    try b.close()
  }
}

/// A shared log that another one can take the place of.
final class SwitchedLog: SharedLog {
  private let current: Monitor<MemoryLog>
  /// Called after each question for the ends.
  private let asked = Monitor<(@Sendable () -> Void)?>(nil)
  /// Called before each read.
  private let reading = Monitor<(@Sendable () -> Void)?>(nil)
  init(_ log: MemoryLog) { current = Monitor(log) }
  func turn(to log: MemoryLog) { current.withLock { $0 = log } }
  func afterEnds(_ call: (@Sendable () -> Void)?) { asked.withLock { $0 = call } }
  func beforeReads(_ call: (@Sendable () -> Void)?) { reading.withLock { $0 = call } }
  var log: MemoryLog { current.withLock { $0 } }

  var entryByteLimit: Int { log.entryByteLimit }
  func ends(within limit: Duration) throws(SharedLogError) -> SharedLogEnds {
    let ends = try log.ends(within: limit)
    asked.withLock { $0 }?()
    return ends
  }
  func append(
    _ entries: [[UInt8]], after expected: UInt64, within limit: Duration
  ) throws(SharedLogError) -> AppendOutcome {
    try log.append(entries, after: expected, within: limit)
  }
  func read(
    from first: UInt64, byteLimit: Int, within limit: Duration
  ) throws(SharedLogError) -> [[UInt8]] {
    reading.withLock { $0 }?()
    return try log.read(from: first, byteLimit: byteLimit, within: limit)
  }
  func trim(before first: UInt64, within limit: Duration) throws(SharedLogError) {
    try log.trim(before: first, within: limit)
  }
}
