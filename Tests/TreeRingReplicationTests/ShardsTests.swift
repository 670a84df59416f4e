// Keys spread over stores on several machines.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingReplication

@Suite(.leavesSoundStores)
struct ShardsTests {
  /// The shared logs of a test, by name.
  private final class Logs: Sendable {
    private let logs = Mutex<[String: MemoryLog]>([:])
    var names: Set<String> { logs.withLock { Set($0.keys) } }
    func log(_ name: String) -> any SharedLog {
      logs.withLock { logs in
        let log = logs[name] ?? MemoryLog()
        logs[name] = log
        return log
      }
    }
  }

  private func open(
    _ name: String, _ logs: Logs, on disk: any FileSystem = MemoryFileSystem(),
    followsAll: Bool = false
  ) throws -> Shards {
    try Shards(
      at: "data", fileSystem: disk,
      options: ShardsOptions(
        replica: ReplicaOptions(
          name: name, store: StoreOptions(logger: quietLogger), limit: .seconds(20)),
        followsAll: followsAll)
    ) { logs.log($0) }
  }

  /// Writes to whichever machine leads the key's shard; looks again when that has changed.
  private func write(_ text: String, _ key: Key, _ machines: [String: Shards]) throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
      for machine in machines.values {
        do {
          try machine.store(for: key).write { try $0.put(text, for: key, in: texts) }
          return
        } catch let error as TreeRingError {
          guard [.notLeader, .notFound, .closed].contains(error.code), .now < deadline else {
            throw error
          }
        }
      }
      Platform.sleep(.milliseconds(2))
    }
  }

  @Test("Every key has one shard, and the table divides all slots")
  func slots() throws {
    for count in [1, 2, 3, 7, 1000, 4096] {
      let names = (0..<count).map { "s\($0)" }
      let shards = try ShardTable.even(names, places: ["a", "b"])
      #expect(shards.first?.slots.lowerBound == 0 && shards.last?.slots.upperBound == 4096)
      for (one, next) in zip(shards, shards.dropFirst()) {
        #expect(one.slots.upperBound == next.slots.lowerBound)
      }
      #expect(shards.allSatisfy { !$0.slots.isEmpty })
    }
    #expect(code { _ = try ShardTable.even(["a", "a"], places: ["p"]) } == .invalidInput)
    #expect(code { _ = try ShardTable.even([], places: ["p"]) } == .invalidInput)
    for name in ["", ".", "..", "a/b", "a\0b", Shards.tableName] {
      #expect(code { _ = try ShardTable.even([name], places: ["p"]) } == .invalidInput)
    }
    // The slots of keys are part of the format.
    #expect(["moby", "customer-42", ""].map { Shard.slot(of: Key($0)) } == [846, 3212, 0])
  }

  @Test("Shards live where the table says, move while they are written, and read as of a date")
  func moving() throws {
    let logs = Logs()
    let (a, b) = (try open("a", logs), try open("b", logs))
    #expect(code { _ = try a.shard(for: "x") } == .notFound)
    try a.create(["s0", "s1", "s2", "s3"], places: ["a", "b"])
    #expect(code { try b.create(["s0"], places: ["a"]) } == .alreadyExists)
    #expect(code { try a.take("nowhere") } == .notFound)
    #expect(!logs.names.contains("nowhere"))
    let machines = ["a": a, "b": b]
    let keys = (0..<200).map { Key("key \($0)") }
    for (index, key) in keys.enumerated() { try write("\(index)", key, machines) }
    let date = Timestamp.now
    let before = try ["s0", "s2"].map { try #require(a.store(of: $0)).newestCommit }
    Platform.sleep(.milliseconds(2))
    // Moves, while another thread writes.
    let moved = Counter()
    let failure = Mutex<(any Error)?>(nil)
    onThreads(2) { thread in
      do {
        if thread == 0 {
          for name in ["s0", "s2", "s1", "s3", "s0"] {
            try (moved.next() < 2 ? b : a).take(name)
            Platform.sleep(.milliseconds(20))
          }
        } else {
          for (index, key) in keys.enumerated() { try write("new \(index)", key, machines) }
        }
      } catch { failure.withLock { $0 = error } }
    }
    #expect(failure.withLock { $0.map { "\($0)" } } == nil)
    // A machine that led the table sees the next change a moment later.
    let places = { try Dictionary(uniqueKeysWithValues: b.all().map { ($0.name, $0.place) }) }
    let deadline = ContinuousClock.now + .seconds(30)
    while try places() != ["s0": "a", "s1": "a", "s2": "b", "s3": "a"], .now < deadline {}
    #expect(try places() == ["s0": "a", "s1": "a", "s2": "b", "s3": "a"])
    let c = try open("c", logs, followsAll: true)
    var found: [Key: String] = [:]
    var old: [Key: String] = [:]
    for (name, snapshot) in try c.snapshots(asOf: .now) {
      for (key, row) in try snapshot.rows(in: texts) {
        #expect(try c.shard(for: key).name == name)
        found[key] = row
      }
    }
    let past = try c.snapshots(asOf: date)
    for snapshot in past.values {
      for (key, row) in try snapshot.rows(in: texts) { old[key] = row }
    }
    #expect(zip(["s0", "s2"], before).allSatisfy { past[$0]?.commit == $1 })
    for (index, key) in keys.enumerated() {
      try #require(found[key] == "new \(index)" && old[key] == "\(index)", "\(key)")
    }
    #expect(code { _ = try c.store(for: keys[0]) } == .notLeader)
    let later = Timestamp(microseconds: Timestamp.now.microseconds + 60_000_000)
    #expect(code { _ = try c.snapshots(asOf: later) } == .invalidInput)
    for machine in [a, b, c] { try machine.close() }
  }

  @Test("Two machines that take shards from each other again and again lose no write")
  func takingTurns() throws {
    let logs = Logs()
    let machines = ["a": try open("a", logs), "b": try open("b", logs)]
    try machines["a"]?.create(["s0", "s1"], places: ["a", "b"])
    let failure = Mutex<(any Error)?>(nil)
    let isOver = Atomic<Bool>(false)
    onThreads(3) { thread in
      do {
        if thread == 2 {
          for number in 0..<300 { try write("\(number)", Key("k\(number)"), machines) }
          return isOver.store(true, ordering: .releasing)
        }
        for turn in 0..<1_000 where !isOver.load(ordering: .acquiring) {
          try machines[(turn + thread) % 2 == 0 ? "a" : "b"]?.take("s\(thread)")
        }
      } catch { failure.withLock { $0 = $0 ?? error } }
    }
    #expect(failure.withLock { $0.map { "\($0)" } } == nil)
    for number in 0..<300 { try write("again", Key("k\(number)"), machines) }
    let count = try machines.values.first?.all().reduce(0) { sum, shard in
      let store = try #require(machines[shard.place]?.store(of: shard.name))
      return try sum + store.snapshot().count(in: texts)
    }
    #expect(count == 300)
    for machine in machines.values { try machine.close() }
  }

  @Test("A machine that opens again leads its shards; one that lost its disk does too")
  func restarting() throws {
    let logs = Logs()
    let disk = MemoryFileSystem()
    var a = try open("a", logs, on: disk)
    try a.create(["s0", "s1"], places: ["a"])
    for number in 0..<20 { try write("\(number)", Key("k\(number)"), ["a": a]) }
    try a.close()
    a = try open("a", logs, on: disk)
    try write("again", "k3", ["a": a])
    try a.close()
    let fresh = try open("a", logs)
    #expect(try fresh.store(for: "k3").snapshot().get("k3", in: texts) == "again")
    #expect(try fresh.snapshots(asOf: .now).values.reduce(0) { try $0 + $1.count(in: texts) } == 20)
    try fresh.close()
  }
}
