// Writes that threads run for each other: who runs them, their errors, failures of the device.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Joint writes")
struct JointWriteTests {
  private struct Refusal: Error {}

  /// Two writes in order, and then `count` more at once. The first one's sync waits at a gate until
  /// the thread of the second one has run those of the others, which join during the second's.
  private final class Gathering: Sendable {
    let store: Store
    let disk: GatedFileSystem
    let files = SimulatedFileSystem(seed: 1)
    /// The numbers of the writes that have run, in order, with their threads.
    let runs = Mutex<[(number: Int, thread: UInt)]>([])
    let outcomes = Mutex<[Int: Result<Written<Int>, any Error>]>([:])

    init() throws {
      disk = GatedFileSystem(files)
      store = try Store(
        path: nil, fileSystem: disk,
        options: StoreOptions(durability: .full, logger: quietLogger))
    }

    /// - Parameters:
    ///   - more: runs in the closure of each write.
    ///   - opensEarly: whether the gate opens as soon as all writes have joined.
    func run(
      _ count: Int, expecting: @escaping @Sendable (Int) -> CommitNumber? = { _ in nil },
      more: @escaping @Sendable (Int) throws -> Void = { _ in }, opensEarly: Bool = false,
      beforeOpening: () -> Void = {}
    ) {
      @Sendable func write(_ number: Int) {
        let outcome = Result {
          try store.writeOnAnyThread(expecting: expecting(number)) { tx in
            runs.withLock { $0.append((number, Platform.currentThread)) }
            while number == 1, store.jointWrites.joinedCount < count + 2 { usleep(100) }
            try more(number)
            try tx.put([UInt8(number)], for: Key("\(number)"), in: blobs)
            return number * 10
          }
        }
        outcomes.withLock { $0[number] = outcome }
      }
      disk.gate.close()
      let first = beginThreads { _ in write(0) }
      disk.gate.waitUntilReached()
      let second = beginThreads { _ in write(1) }
      while store.jointWrites.joinedCount < 2 { usleep(100) }
      let others = beginThreads(count) { write($0 + 2) }
      while store.jointWrites.joinedCount < count + 2 { usleep(100) }
      while !opensEarly, store.jointWrites.sequencedCount < count + 1 { usleep(100) }
      beforeOpening()
      disk.gate.open()
      for group in [first, second, others] { group.wait() }
    }

    /// The codes of the writes that have failed, by their numbers.
    var codes: [Int: TreeRingError.Code] {
      outcomes.withLock { $0.compactMapValues { outcome in error { try outcome.get() }?.code } }
    }
  }

  @Test("A waiting writer runs the writes of the others; each gets its own commit and value")
  func together() throws {
    let all = try Gathering()
    all.run(20)
    let runs = all.runs.withLock { $0 }
    #expect(runs.map(\.number).sorted() == Array(0..<22))
    #expect(Set(runs.dropFirst().map(\.thread)).count == 1, "one thread runs 21 writes")
    #expect(runs[0].thread != runs[1].thread)
    for (index, run) in runs.enumerated() {
      let outcome = try #require(all.outcomes.withLock { $0[run.number] })
      let written = try outcome.get()
      #expect(written.commit == CommitNumber(index + 1) && written.value == run.number * 10)
    }
    #expect(all.store.newestCommit == 22)
    #expect(try all.store.statistics().syncCount == 2)
    #expect(try all.store.snapshot().count(in: "blobs") == 22)
    try all.store.close()
  }

  @Test("A write that throws, or expects another commit, fails alone")
  func failures() throws {
    let all = try Gathering()
    all.run(8, expecting: { $0 == 5 ? 999 : nil }, more: { if $0 == 3 { throw Refusal() } })
    for number in 0..<10 {
      let outcome = try #require(all.outcomes.withLock { $0[number] })
      switch number {
      case 3: #expect(throws: Refusal.self) { try outcome.get() }
      case 5: #expect(error { try outcome.get() }?.code == .conflict)
      default: #expect(try outcome.get().value == number * 10)
      }
    }
    #expect(all.store.newestCommit == 8)
    #expect(try all.store.snapshot().contains("3", in: "blobs") == false)
    #expect(try all.store.snapshot().contains("5", in: "blobs") == false)
    try all.store.close()
  }

  @Test(
    "Every writer of a batch learns that a full device has undone it, or that it is unknown",
    arguments: [(DiskFault.noSpace, TreeRingError.Code.noSpace), (.inputOutput, .unknown)])
  func device(fault: DiskFault, code: TreeRingError.Code) throws {
    let all = try Gathering()
    // After the sync of the first write comes the writing of the others.
    all.run(8, beforeOpening: { all.files.fail(after: 2, with: fault) })
    #expect(all.codes == Dictionary(uniqueKeysWithValues: (1..<10).map { ($0, code) }))
    #expect(all.store.newestCommit == 1)
    if code == .noSpace {
      let next = try all.store.writeOnAnyThread { try $0.put([1], for: "next", in: blobs) }
      #expect(next.commit == 2)
      #expect(try all.store.snapshot().count(in: "blobs") == 2)
    }
    try? all.store.close()
  }

  @Test("Long closures are left to the threads of the next batches")
  func longClosures() throws {
    let all = try Gathering()
    all.run(6, more: { if $0 > 1 { usleep(12_000) } }, opensEarly: true)
    let runs = all.runs.withLock { $0 }
    #expect(runs.count == 8)
    #expect(Set(runs.map(\.thread)).count > 2)
    #expect(all.codes.isEmpty)
    #expect(all.store.newestCommit == 8)
    try all.store.close()
  }

  @Test("Completed writers go on while the thread of one of them still runs another closure")
  func busyThread() throws {
    let all = try Gathering()
    let done = Atomic(0)
    all.run(
      8,
      more: { _ in
        guard all.runs.withLock({ $0.count }) == 10 else { return }
        // All but this write and that of the thread that runs it.
        for _ in 0..<10_000 where done.load(ordering: .relaxed) < 8 {
          done.store(all.outcomes.withLock { $0.count }, ordering: .relaxed)
          usleep(1000)
        }
      },
      opensEarly: true,
      beforeOpening: { while all.runs.withLock({ $0.count }) < 10 { usleep(100) } })
    #expect(done.load(ordering: .relaxed) >= 8)
    #expect(all.codes.isEmpty && all.store.newestCommit == 10)
    try all.store.close()
  }

  @Test("Inside the closure of a write, it is refused; so is it by a store that is closed")
  func refusals() throws {
    let store = try Store.inMemory()
    let put: @Sendable (Transaction) throws -> Void = { try $0.put([1], for: "a", in: blobs) }
    try store.writeOnAnyThread { _ in
      #expect(code { try store.writeOnAnyThread(put) } == .notAllowed)
      #expect(code { try store.write { try $0.put([1], for: "a", in: blobs) } } == .notAllowed)
    }
    try store.write { _ in #expect(code { try store.writeOnAnyThread(put) } == .notAllowed) }
    #expect(store.newestCommit == 0)
    try store.close()
    #expect(code { try store.writeOnAnyThread(put) } == .closed)
  }

  @Test("Under an idempotency key it returns the first commit; without operations the newest one")
  func reported() throws {
    let store = try Store.inMemory()
    for _ in 0..<2 {
      let written = try store.writeOnAnyThread { tx in
        tx.idempotencyKey = [1]
        try tx.put([1], for: "a", in: blobs)
      }
      #expect(written.commit == 1)
    }
    #expect(try store.writeOnAnyThread { _ in }.commit == 1)
    #expect(try store.writeOnAnyThread { try $0.contains("a", in: "blobs") }.value)
    try store.close()
  }
}
