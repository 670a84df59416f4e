// A replica on another machine begins with a base from the server of a replica.

import Foundation
import Testing
import TreeRing
import TreeRingLive
import TreeRingRemote
import TreeRingReplication

@testable import TreeRingServer

@Suite("Bases over the network", .serialized)
struct BaseTests {
  private static let texts = Bucket<String>("texts")

  private func rows(_ store: Store) throws -> [String] {
    try store.snapshot().rows(in: Self.texts).map { "\($0.key) \($0.row)" }
  }

  private func write(_ numbers: Range<Int>, to store: Store) throws {
    for number in numbers {
      let text = String(repeating: "text \(number) ", count: 200)
      try store.write { try $0.put(text, for: Key("\(number)"), in: Self.texts) }
    }
  }

  @Test("A new replica of a trimmed log begins with a base from a server, and follows from there")
  func replica() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let log = MemoryLog()
    func open(_ name: String) throws -> Replica {
      try Replica(
        at: folder.appending(path: name).path, of: log, options: ReplicaOptions(name: name))
    }
    let leader = try open("a")
    try await leader.lead()
    try Store.blocking { try write(0..<1_000, to: leader.store) }
    try await leader.trimLog(before: 900)
    do {
      _ = try open("late")
      Issue.record("a replica without a base has opened")
    } catch let error as TreeRingError {
      #expect(error.code == .beyondHorizon && error.message.contains("--base"))
    }
    // Another process would serve the folder in the same way.
    let served = try Store(
      at: folder.appending(path: "a").path, options: StoreOptions(mode: .readOnly))
    var options = ServerOptions()
    options.port = 0
    options.tokens = TokenTable(TestServer.token, LiveAccess(.read))
    var limits = LiveLimits()
    limits.basePieceByteCount = 10_000
    let server = try await Server.start(LiveService(served, limits: limits), options)
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
    let path = folder.appending(path: "b").path
    do {
      try await Store.restore(from: url, to: path, options: RemoteOptions(attempts: 1))
      Issue.record("a request without a token was answered")
    } catch let error as RemoteError {
      #expect(error.code == .tokenRefused)
    }
    let writes = Task { [self] in
      for number in 1_000..<1_500 {
        try Store.blocking { try write(number..<number + 1, to: leader.store) }
        await Task.yield()
      }
    }
    let report = try await Store.restore(
      from: url, to: path, options: RemoteOptions(token: { _ in TestServer.token }))
    #expect(report.lastCommit >= 1_000 && report.copiedByteCount == report.byteCount)
    try await writes.value
    let follower = try open("b")
    try await follower.catchUp()
    let isEqual = try rows(follower.store) == rows(leader.store)
    #expect(isEqual && follower.store.newestCommit == 1_500)
    try await follower.lead()
    try Store.blocking { try write(1_500..<1_510, to: follower.store) }
    try await leader.catchUp()
    #expect(try rows(leader.store).count == 1_510)
    try await server.stop()
    try await served.close()
    try await follower.close()
    try await leader.close()
  }
}
