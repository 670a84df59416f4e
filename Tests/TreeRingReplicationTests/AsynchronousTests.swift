// The asynchronous forms of replicas and shards: the results and errors of the blocking ones.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingReplication

@Suite("Asynchronous forms of replicas", .leavesSoundStores)
struct AsynchronousTests {
  private func error(_ body: () async throws -> Void) async -> TreeRingError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? TreeRingError)?.code }
  }

  private func options(_ name: String) -> ReplicaOptions {
    ReplicaOptions(name: name, store: StoreOptions(logger: quietLogger))
  }

  @Test("Replicas are opened, lead, catch up, step down and close")
  func replicas() async throws {
    let folder = try TemporaryFolder()
    let log = MemoryLog()
    let a = try await Replica.open(at: folder.path + "/a", of: log, options: options("a"))
    let b = try await Replica.open(at: folder.path + "/b", of: log, options: options("b"))
    try await a.lead()
    for number in 1...5 {
      try await a.store.write { try $0.put("\(number)", for: "x", in: texts) }
    }
    try await b.catchUp()
    #expect(try contents(a.store) == contents(b.store))
    try await a.trimLog(before: 4)
    #expect(await error { try await b.trimLog(before: 9) } == .notFound)
    try await a.stepDown()
    #expect(
      await error { try await a.store.write { try $0.put("6", for: "x", in: texts) } }
        == .notLeader)
    try await b.lead()
    try await b.store.write { try $0.put("7", for: "x", in: texts) }
    try await a.catchUp()
    #expect(try a.store.snapshot().get("x", in: texts) == "7")
    try await a.close()
    #expect(await error { try await a.catchUp() } == .closed)
    try await b.close()
    let path = folder.path + "/c"
    #expect(
      await error { _ = try await Replica.open(at: path, of: log, options: options("c")) }
        == .beyondHorizon)
  }

  @Test("A cancelled task begins no work, but closes")
  func cancelled() async throws {
    let folder = try TemporaryFolder()
    let log = MemoryLog()
    let replica = try await Replica.open(at: folder.path + "/a", of: log, options: options("a"))
    func cancelled(
      _ body: @escaping @Sendable () async throws -> Void
    ) async -> TreeRingError.Code? {
      await Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return await error(body)
      }.value
    }
    #expect(await cancelled { try await replica.lead() } == .cancelled)
    #expect(!replica.status.isLeading)
    #expect(await cancelled { try await replica.catchUp() } == .cancelled)
    #expect(await cancelled { try await replica.close() } == nil)
    #expect(await error { try await replica.lead() } == .closed)
  }

  /// Writes to whichever machine leads the key's shard. Looks again when that has changed: a
  /// machine that has not seen the newest table may take back the lead for a moment.
  private func write(_ key: Key, _ machines: [Shards]) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
      for machine in machines {
        do {
          try await machine.store(for: key).write { try $0.put("text", for: key, in: texts) }
          return
        } catch let error as TreeRingError {
          guard [.notLeader, .notFound].contains(error.code), .now < deadline else {
            throw error
          }
        }
      }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  @Test("Shards are opened, created, moved, read as of a date and closed")
  func shards() async throws {
    let folder = try TemporaryFolder()
    let logs = ["shards": MemoryLog(), "one": MemoryLog(), "two": MemoryLog()]
    func open(_ name: String) async throws -> Shards {
      let options = ShardsOptions(replica: options(name), followsAll: true)
      return try await Shards.open(at: "\(folder.path)/\(name)", options: options) { name in
        try #require(logs[name])
      }
    }
    let (a, b) = (try await open("a"), try await open("b"))
    try await a.create(["one", "two"], places: ["a"])
    try await b.take("two")
    #expect(try b.all().map(\.place) == ["a", "b"])
    for number in 0..<20 { try await write(Key("\(number)"), [a, b]) }
    let snapshots = try await b.snapshots(asOf: .now)
    #expect(try snapshots.values.reduce(0) { try $0 + $1.count(in: texts) } == 20)
    #expect(await error { try await b.take("three") } == .notFound)
    try await a.close()
    try await b.close()
  }
}
