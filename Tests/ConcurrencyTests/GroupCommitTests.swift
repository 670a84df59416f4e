// Many threads on one log: order of visibility, shared syncs, relaxed durability.

import Dispatch
import Foundation
import Logging
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

struct GroupCommitTests {
  @Test("Many threads commit at once: every commit is present, in order, after few syncs")
  func manyThreads() throws {
    let folder = try TemporaryFolder()
    var options = SampleCommits.quiet()
    options.segmentSize = 50_000
    let log = try CommitLog(
      directory: folder.path + "/log", fileSystem: PosixFileSystem(), options: options)
    let writer = Sequencer()
    let (threads, each) = (16, 40)
    onThreads(threads) { _ in
      for _ in 0..<each {
        do {
          let ticket = try writer.next { newest in
            try log.append(
              SampleCommits.draft(newest, newest % 3 == 0 ? .unsynced : .full))
          }
          try log.complete(ticket)
          #expect(log.completed >= ticket.number)
        } catch { Issue.record("\(error)") }
      }
    }
    let total = CommitNumber(threads * each)
    #expect(log.completed == total)
    try log.close()
    let again = try CommitLog(
      directory: folder.path + "/log", fileSystem: PosixFileSystem(), options: options)
    var next: CommitNumber = 1
    try again.replay(from: 1, through: total) { header, bytes in
      #expect(header.number == next && [UInt8](bytes) == SampleCommits.payload(next))
      next += 1
      return true
    }
    #expect(next == total + 1)
  }

  /// Appends commits 2 to 20 and completes each on its own thread, while commit 1 is being synced:
  /// so they gather, and one of these threads writes for all. Returns once all have gathered.
  private func gather(
    _ log: CommitLog, _ gate: SyncGate, _ complete: @escaping @Sendable (CommitTicket) -> Void
  ) throws -> [DispatchGroup] {
    let first = try log.append(SampleCommits.draft(1, .full))
    gate.close()
    let leader = beginThreads { _ in complete(first) }
    gate.waitUntilReached()
    let tickets = try (2...20 as ClosedRange<CommitNumber>).map {
      try log.append(SampleCommits.draft($0, .unsynced))
    }
    let others = beginThreads(tickets.count) { complete(tickets[$0]) }
    while log.core.withState({ $0.pending.waiters.count }) < tickets.count { usleep(100) }
    return [leader, others]
  }

  @Test("The thread that writes for others makes their commits visible before they go on")
  func publishing() throws {
    let disk = GatedFileSystem()
    let log = try CommitLog(directory: "log", fileSystem: disk, options: SampleCommits.quiet())
    let (published, calls) = (SharedNumber(0), Counter())
    let groups = try gather(log, disk.gate) { ticket in
      do {
        try log.complete(ticket) {
          _ = calls.next()
          published.raise(to: $0)
        }
        #expect(published.value >= ticket.number)
      } catch { Issue.record("\(error)") }
    }
    disk.gate.open()
    for group in groups { group.wait() }
    #expect(published.value == 20 && log.completed == 20 && calls.count == 2)
    try log.close()
  }

  @Test(
    "Threads whose commits a full device undoes, or a failure leaves unknown, all learn of it",
    arguments: [(DiskFault.noSpace, TreeRingError.Code.noSpace), (.inputOutput, .unknown)])
  func failures(fault: DiskFault, code: TreeRingError.Code) throws {
    let files = SimulatedFileSystem(seed: 1)
    let disk = GatedFileSystem(files)
    let log = try CommitLog(directory: "log", fileSystem: disk, options: SampleCommits.quiet())
    let failures = Mutex<[CommitNumber: TreeRingError.Code]>([:])
    let groups = try gather(log, disk.gate) { ticket in
      let outcome = Result { () throws(TreeRingError) in try log.complete(ticket) }
      if case .failure(let error) = outcome {
        failures.withLock { $0[ticket.number] = error.code }
      }
    }
    // After the sync of commit 1, the write of the others.
    files.fail(after: 2, with: fault)
    disk.gate.open()
    for group in groups { group.wait() }
    let others = 2...20 as ClosedRange<CommitNumber>
    let expected = Dictionary(uniqueKeysWithValues: others.map { ($0, code) })
    #expect(failures.withLock { $0 } == expected && log.completed == 1)
    try? log.close()
  }

  @Test("A relaxed commit after a full one becomes visible only after the full one's sync")
  func visibilityOrder() throws {
    let disk = GatedFileSystem()
    let log = try CommitLog(directory: "log", fileSystem: disk, options: SampleCommits.quiet())
    let first = try log.append(SampleCommits.draft(1, .full))
    disk.gate.close()
    let one = beginThreads { _ in
      do { try log.complete(first) } catch { Issue.record("\(error)") }
    }
    disk.gate.waitUntilReached()
    let second = try log.append(SampleCommits.draft(2, .unsynced))
    let other = beginThreads { _ in
      do { try log.complete(second) } catch { Issue.record("\(error)") }
      #expect(log.completed == 2)
    }
    #expect(log.sequenced == 2)
    #expect(log.completed == 0, "nothing is visible while the first sync runs")
    #expect(try log.readPayload(of: 1) { [UInt8]($1) } == SampleCommits.payload(1))
    #expect(try log.readPayload(of: 2) { [UInt8]($1) } == SampleCommits.payload(2))
    disk.gate.open()
    one.wait()
    other.wait()
    #expect(log.completed == 2 && log.durable == 1)
  }

  @Test("The log syncs commits of relaxed durability in time by itself")
  func relaxed() throws {
    let log = try CommitLog(
      directory: "log", fileSystem: MemoryFileSystem(), options: SampleCommits.quiet())
    try log.complete(log.append(SampleCommits.draft(1, .relaxed(within: .milliseconds(1)))))
    #expect(log.completed == 1)
    var turns = 0
    while log.durable < 1, turns < 100_000 {
      turns += 1
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(1))
    }
    #expect(log.durable == 1)
  }

  @Test("A commit out of order, by number or by date, is refused")
  func refusals() throws {
    let log = try CommitLog(
      directory: "log", fileSystem: MemoryFileSystem(), options: SampleCommits.quiet())
    try log.complete(log.append(SampleCommits.draft(1, .full)))
    for number in [0, 1, 3] as [CommitNumber] {
      do {
        try log.append(SampleCommits.draft(number, .full))
        Issue.record("commit \(number) was accepted")
      } catch { #expect(error.code == .conflict && error.current == 1) }
    }
    var back = SampleCommits.draft(2, .full)
    back.timestamp = Timestamp(microseconds: 9)
    do {
      try log.append(back)
      Issue.record("an earlier timestamp was accepted")
    } catch { #expect(error.code == .invalidInput) }
    for number in [0, 2] as [CommitNumber] {
      do {
        _ = try log.header(of: number)
        Issue.record("commit \(number) was found")
      } catch { #expect(error.code == .notFound) }
    }
    do {
      _ = try log.value(commit: 1, operation: 0, part: .object)
      Issue.record("a value was found")
    } catch { #expect(error.code == .notFound && error.commit == 1) }
  }
}

/// Assigns commit numbers, one caller at a time.
final class Sequencer: @unchecked Sendable {
  // `newest` is accessed with the lock held. NSLock, because the thread sanitizer reports contended
  // use of the standard library's Mutex as a race.
  private let lock = NSLock()
  private var newest: CommitNumber = 0

  func next<R>(_ body: (CommitNumber) throws -> R) rethrows -> R {
    lock.lock()
    defer { lock.unlock() }
    newest += 1
    return try body(newest)
  }
}

/// A latch at which syncs wait.
final class SyncGate: Sendable {
  private let isClosed = Atomic(false)
  private let reached = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)

  func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }
  func open() {
    isClosed.store(false, ordering: .sequentiallyConsistent)
    opened.signal()
  }
  func waitUntilReached() { reached.wait() }
  func pass() {
    guard isClosed.load(ordering: .sequentiallyConsistent) else { return }
    reached.signal()
    opened.wait()
  }
}

/// Files in memory whose syncs wait at a gate.
final class GatedFileSystem: FileSystem {
  let gate = SyncGate()
  private let memory: any FileSystem
  init(_ base: any FileSystem = MemoryFileSystem()) { memory = base }

  func open(_ path: String, _ mode: OpenMode) throws(TreeRingError) -> any File {
    GatedFile(try memory.open(path, mode), gate)
  }
  func exists(_ path: String) throws(TreeRingError) -> Bool { try memory.exists(path) }
  func list(_ directory: String) throws(TreeRingError) -> [String] { try memory.list(directory) }
  func makeDirectory(_ path: String) throws(TreeRingError) { try memory.makeDirectory(path) }
  func rename(_ path: String, to newPath: String) throws(TreeRingError) {
    try memory.rename(path, to: newPath)
  }
  func unlink(_ path: String) throws(TreeRingError) { try memory.unlink(path) }
  func link(_ path: String, to newPath: String) throws(TreeRingError) {
    try memory.link(path, to: newPath)
  }
  func removeDirectory(_ path: String) throws(TreeRingError) { try memory.removeDirectory(path) }
  func syncDirectory(_ path: String) throws(TreeRingError) {}
  func lock(_ path: String) throws(TreeRingError) -> any FileLock { try memory.lock(path) }
  func isLocked(_ path: String) throws(TreeRingError) -> Bool { try memory.isLocked(path) }
}

private final class GatedFile: File {
  let inner: any File
  let gate: SyncGate
  init(_ inner: any File, _ gate: SyncGate) {
    self.inner = inner
    self.gate = gate
  }
  var path: String { inner.path }
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int { try inner.read(into: buffer, at: offset) }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError) {
    try inner.write(bytes, at: offset)
  }
  func sync(_ strength: SyncStrength) throws(TreeRingError) {
    gate.pass()
    try inner.sync(strength)
  }
  func size() throws(TreeRingError) -> UInt64 { try inner.size() }
  func truncate(to size: UInt64) throws(TreeRingError) { try inner.truncate(to: size) }
  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool {
    try inner.allocate(count, at: offset)
  }
  func map(at offset: UInt64, count: Int) throws(TreeRingError) -> any FileMapping {
    try inner.map(at: offset, count: count)
  }
  func close() { inner.close() }
}
