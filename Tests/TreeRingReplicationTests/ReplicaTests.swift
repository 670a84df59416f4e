// Replicas of one store: the commits of the one that leads reach the others, and no two lead.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingReplication

let texts = Bucket<String>("texts")

/// A replica on a disk of its own.
func replica(
  _ name: String, _ log: any SharedLog, on disk: any FileSystem = MemoryFileSystem(),
  store: StoreOptions = StoreOptions(logger: quietLogger), limit: Duration = .seconds(20),
  mayBeginLog: Bool = false
) throws -> Replica {
  try Replica(
    path: "store", fileSystem: disk, of: log,
    options: ReplicaOptions(name: name, store: store, limit: limit, mayBeginLog: mayBeginLog))
}

/// The code of the error that a call throws.
func code(_ body: () throws -> Void) -> TreeRingError.Code? {
  do {
    try body()
    return nil
  } catch { return (error as? TreeRingError)?.code }
}

func contents(_ store: Store) throws -> [String] {
  let snapshot = try store.snapshot()
  return ["commit \(snapshot.commit)"]
    + (try snapshot.rows(in: texts).map { "\($0.key) \($0.row)" })
}

@Suite(.leavesSoundStores)
struct ReplicaTests {
  @Test(
    "Commits of the replica that leads reach the others, with date, notes, tags and large values")
  func following() throws {
    let log = MemoryLog(entryByteLimit: 65_536)
    let (a, b) = (try replica("a", log), try replica("b", log))
    #expect(code { try a.store.write { try $0.put("1", for: "x", in: texts) } } == .notLeader)
    try a.lead()
    let large = String(repeating: "abcdefgh", count: 40_000)
    var random = SeededGenerator(seed: 1)
    let dense = String(
      decoding: (0..<200_000).map { _ in UInt8.random(in: 32..<127, using: &random) },
      as: UTF8.self)
    try a.store.write { tx in
      tx.note = "first"
      tx.tags = ["begin"]
      tx.idempotencyKey = [1]
      try tx.put("1", for: "x", in: texts)
      try tx.put(large, for: "large", in: texts)
      try tx.put(dense, for: "dense", in: texts)
    }
    try a.store.write { tx in
      try tx.delete("x", in: texts)
      try tx.put("2", for: "y", in: texts)
    }
    try b.catchUp()
    #expect(try contents(a.store) == contents(b.store))
    #expect(try contents(b.store).count == 4)
    for commit in 1...2 as ClosedRange<CommitNumber> {
      #expect(
        try a.store.log.header(of: commit).checksum == b.store.log.header(of: commit).checksum)
    }
    #expect(try b.store.snapshot(at: .tag("begin")).get("x", in: texts) == "1")
    #expect(b.status.leader == "a" && !b.status.isLeading && a.status.isLeading)
    try a.close()
    try b.close()
  }

  @Test("A replica that takes over fences the one that led, whose next write has not happened")
  func fencing() throws {
    let log = MemoryLog()
    let (a, b) = (try replica("a", log), try replica("b", log))
    try a.lead()
    try a.store.write { try $0.put("1", for: "x", in: texts) }
    try b.lead()
    #expect(code { try a.store.write { try $0.put("lost", for: "x", in: texts) } } == .notLeader)
    try b.store.write { try $0.put("2", for: "y", in: texts) }
    try a.catchUp()
    #expect(try contents(a.store) == contents(b.store))
    #expect(!a.status.isLeading && a.status.leader == "b")
    try a.lead()
    try a.store.write { try $0.put("3", for: "z", in: texts) }
    try b.catchUp()
    #expect(try contents(b.store) == ["commit 3", "x 1", "y 2", "z 3"])
    #expect(code { try b.store.write { _ in } } == .notLeader)
    try a.stepDown()
    #expect(code { try a.store.write { _ in } } == .notLeader)
    try a.close()
    try b.close()
  }

  @Test("A replica takes the lead from one that has written again whenever the log's end is known")
  func busyLeader() throws {
    let memory = MemoryLog()
    let log = SwitchedLog(memory)
    let (a, b) = (try replica("a", memory), try replica("b", log))
    try a.lead()
    log.afterEnds {
      let code = code { try a.store.write { try $0.put("1", for: "x", in: texts) } }
      #expect(code == nil || code == .notLeader)
    }
    try b.lead()
    log.afterEnds(nil)
    try b.store.write { try $0.put("2", for: "x", in: texts) }
    #expect(code { try a.store.write { try $0.put("3", for: "x", in: texts) } } == .notLeader)
    try a.catchUp()
    #expect(try contents(a.store) == contents(b.store))
    try a.close()
    try b.close()
  }

  @Test("A folder is a cache: a new one gets every commit, an older one the rest")
  func folders() throws {
    let log = MemoryLog()
    let disk = MemoryFileSystem()
    var a = try replica("a", log, on: disk)
    try a.lead()
    for number in 0..<50 {
      try a.store.write { try $0.put("\(number)", for: Key("k\(number % 7)"), in: texts) }
      if number % 10 == 9 {
        try a.close()
        a = try replica("a", log, on: disk)
        try a.lead()
      }
    }
    let fresh = try replica("b", log)
    #expect(try contents(fresh.store) == contents(a.store))
    #expect(fresh.store.storeID == a.store.storeID)
    #expect(
      try fresh.store.snapshot(at: .commit(20)).rows(in: texts).map(\.row)
        == a.store.snapshot(at: .commit(20)).rows(in: texts).map(\.row))
    try a.close()
    try fresh.close()
  }

  @Test("A store with commits begins a log; others need a backup of it, and trimming a newer one")
  func bases() throws {
    let log = MemoryLog()
    let folder = try TemporaryFolder()
    let plain = try Store(at: folder.path + "/a")
    for number in 0..<5 { try plain.write { try $0.put("\(number)", for: "x", in: texts) } }
    try plain.backUp(to: folder.path + "/b")
    try plain.close()
    var options = ReplicaOptions(name: "a", store: StoreOptions(logger: quietLogger))
    #expect(
      code { _ = try Replica(at: folder.path + "/a", of: log, options: options) } == .diverged)
    #expect(try log.ends(within: .zero).last == 0)
    options.mayBeginLog = true
    let a = try Replica(at: folder.path + "/a", of: log, options: options)
    try a.lead()
    for number in 5..<9 { try a.store.write { try $0.put("\(number)", for: "x", in: texts) } }
    #expect(code { _ = try replica("c", log) } == .beyondHorizon)
    let b = try Replica(at: folder.path + "/b", of: log, options: options)
    #expect(try contents(a.store) == contents(b.store))
    try b.close()
    try a.store.backUp(to: folder.path + "/d")
    try a.trimLog(before: 10)
    #expect(code { try a.trimLog(before: 11) } == .notFound)
    try a.store.write { try $0.put("9", for: "x", in: texts) }
    let d = try Replica(at: folder.path + "/d", of: log, options: options)
    #expect(try contents(a.store) == contents(d.store))
    try d.close()
    try plain.close()
    let old = try Store(at: folder.path + "/e")
    try old.close()
    #expect(
      code { _ = try Replica(at: folder.path + "/e", of: log, options: options) } == .diverged)
    try a.close()
  }

  @Test("Other processes on the machine read a replica's folder, whether or not it leads")
  func localReaders() async throws {
    let log = MemoryLog()
    let folder = try TemporaryFolder()
    let open = { (name: String) in
      try Replica(
        at: "\(folder.path)/\(name)", of: log,
        options: ReplicaOptions(name: name, store: StoreOptions(logger: quietLogger)))
    }
    let (a, b) = (try open("a"), try open("b"))
    try await a.lead()
    let reading = StoreOptions(mode: .readOnly, logger: quietLogger)
    let readers = try ["a", "b"].map { try Store(at: "\(folder.path)/\($0)", options: reading) }
    for number in 1...20 {
      let commit = try await a.store.write { tx in
        try tx.put("\(number)", for: "x", in: texts)
      }.commit
      for reader in readers {
        try await reader.reached(commit)
        let row = try reader.snapshot().get("x", in: texts)
        #expect(row == "\(number)")
      }
    }
    for reader in readers { try await reader.close() }
    try await a.close()
    try await b.close()
  }

  @Test("A write that the log does not answer is unknown; the replica opened again knows")
  func unknown() throws {
    let memory = MemoryLog()
    let log = FaultyLog(memory, seed: 1, faults: LogFaults())
    let disk = MemoryFileSystem()
    let a = try replica("a", log, on: disk, limit: .milliseconds(300))
    try a.lead()
    try a.store.write { try $0.put("1", for: "x", in: texts) }
    log.set { $0.late = 100 }
    #expect(
      code { try a.store.write { try $0.put("2", for: "x", in: texts) } } == .unknown)
    #expect(try a.store.snapshot().get("x", in: texts) == "1")
    try? a.close()
    log.heal()
    let again = try replica("a", log, on: disk)
    #expect(try again.store.snapshot().get("x", in: texts) == "2")
    try again.close()
  }

  @Test("A commit that the log refuses has not happened; the next ones go on")
  func refusal() throws {
    let log = FaultyLog(MemoryLog(), seed: 1, faults: LogFaults())
    let a = try replica("a", log)
    try a.lead()
    try a.store.write { try $0.put("1", for: "x", in: texts) }
    log.set { $0.refused = 100 }
    #expect(code { try a.store.write { try $0.put("2", for: "x", in: texts) } } == .unavailable)
    log.set { $0.refused = 0 }
    try a.store.write { try $0.put("3", for: "y", in: texts) }
    #expect(try contents(a.store) == ["commit 2", "x 1", "y 3"])
    try a.close()
  }

  @Test("Calls that would wait for the write around them are refused")
  func insideWrites() throws {
    let a = try replica("a", MemoryLog())
    try a.lead()
    for call in [a.lead, a.stepDown, a.catchUp, a.close] {
      #expect(code { try a.store.write { _ in try call() } } == .notAllowed)
    }
    try a.store.write { try $0.put("1", for: "x", in: texts) }
    try a.close()
  }

  @Test("A replica that leads may erase nothing, and registers its indexes when it begins to lead")
  func indexes() throws {
    let log = MemoryLog()
    let index = GroupIndex("byFirst", on: texts, version: 1) { text in
      Place(in: String(text.prefix(1)), by: .ascending(text))
    }
    let options = StoreOptions(indexes: [index], logger: quietLogger)
    let (a, b) = (try replica("a", log, store: options), try replica("b", log, store: options))
    #expect(a.store.newestCommit == 0)
    try a.lead()
    try a.store.write { tx in
      for text in ["apple", "avocado", "banana"] { try tx.put(text, for: Key(text), in: texts) }
    }
    try b.catchUp()
    let groups = try b.store.snapshot().index("byFirst").groups().map { "\($0)" }
    #expect(groups == ["a", "b"])
    #expect(code { try a.store.erase("apple", in: texts) } == .notSupported)
    try a.close()
    try b.close()
  }
}
