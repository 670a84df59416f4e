// Replicas that compete for a lease: one leads at a time, and another soon after it has failed.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingReplication

@Suite(.leavesSoundStores)
struct FailoverTests {
  private func eventually(_ isSo: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while try !isSo() {
      guard .now < deadline else {
        Issue.record("it did not happen within 30 s")
        return
      }
      Platform.sleep(.milliseconds(5))
    }
  }

  @Test("The holder of the lease leads; another takes over when it closes, fails or steps down")
  func lease() throws {
    let log = MemoryLog()
    let failover = Failover(lease: MemoryLease(), duration: .milliseconds(150))
    let options = { (name: String) in
      ReplicaOptions(
        name: name, store: StoreOptions(logger: quietLogger), limit: .seconds(20),
        failover: failover)
    }
    let open = { (name: String) in
      try Replica(path: "store", fileSystem: MemoryFileSystem(), of: log, options: options(name))
    }
    let a = try open("a")
    try eventually { a.status.isLeading }
    try a.store.write { try $0.put("1", for: "x", in: texts) }
    let b = try open("b")
    try b.catchUp()
    #expect(!b.status.isLeading)
    try a.close()
    try eventually { b.status.isLeading }
    try b.store.write { try $0.put("2", for: "y", in: texts) }
    let c = try open("c")
    try b.stepDown()
    try eventually { c.status.isLeading }
    try c.store.write { try $0.put("3", for: "z", in: texts) }
    // By hand, whoever holds the lease; it stays so.
    try b.lead()
    try b.store.write { try $0.put("4", for: "z", in: texts) }
    Platform.sleep(.milliseconds(400))
    #expect(b.status.isLeading && !c.status.isLeading)
    try c.catchUp()
    #expect(try contents(c.store) == contents(b.store))
    try b.close()
    try c.close()
  }

  @Test("Two replicas that both believe to hold the lease never both write")
  func disagreement() throws {
    let log = MemoryLog()
    let open = { (name: String) in
      try Replica(
        path: "store", fileSystem: MemoryFileSystem(), of: log,
        options: ReplicaOptions(
          name: name, store: StoreOptions(logger: quietLogger), limit: .seconds(20),
          failover: Failover(lease: MemoryLease(), duration: .milliseconds(50))))
    }
    let (a, b) = (try open("a"), try open("b"))
    let deadline = ContinuousClock.now + .seconds(2)
    var written: [String] = []
    var number = 0
    while .now < deadline {
      for replica in [a, b] {
        number += 1
        do {
          try replica.store.write { tx in
            tx.note = "\(number)"
            try tx.put("\(number)", for: "x", in: texts)
          }
          written.append("\(number)")
        } catch let error as TreeRingError where error.code == .notLeader {}
      }
    }
    try a.catchUp()
    try b.catchUp()
    let notes = try (1..<(a.store.newestCommit + 1)).compactMap { try a.store.commit($0).note }
    #expect(notes == written)
    #expect(try contents(a.store) == contents(b.store))
    try a.close()
    try b.close()
  }

  @Test("Replicas that take over under load from each other, again and again, never diverge")
  func takeovers() throws {
    let log = MemoryLog()
    let replicas = try ["a", "b"].map { try replica($0, log) }
    try replicas[0].lead()
    let isOver = Atomic<Bool>(false)
    let written = Mutex<[String]>([])
    let failure = Mutex<String?>(nil)
    onThreads(7) { thread in
      var number = 0
      while !isOver.load(ordering: .relaxed) {
        number += 1
        do {
          if thread == 0 {
            try replicas[number % 2].lead()
            Platform.sleep(.microseconds(500))
            if number == 300 { isOver.store(true, ordering: .relaxed) }
            continue
          }
          let note = "\(thread) \(number)"
          try replicas[thread % 2].store.write { tx in
            tx.note = note
            try tx.put(note, for: Key("\(thread)"), in: texts)
          }
          written.withLock { $0.append(note) }
        } catch {
          if (error as? TreeRingError)?.code == .notLeader {
            Platform.sleep(.microseconds(100))
            continue
          }
          failure.withLock { $0 = "\(error)" }
          isOver.store(true, ordering: .relaxed)
        }
      }
    }
    #expect(failure.withLock(\.self) == nil)
    for replica in replicas {
      try replica.catchUp()
      #expect(replica.status.failure == nil)
    }
    #expect(try contents(replicas[0].store) == contents(replicas[1].store))
    let store = replicas[0].store
    let notes = try (1..<(store.newestCommit + 1)).compactMap { try store.commit($0).note }
    #expect(Set(notes).count == notes.count)
    #expect(Set(notes) == Set(written.withLock(\.self)))
    for replica in replicas { try replica.close() }
  }
}
