// Folders and streams of different ages, on real servers: an older folder goes on from where it is;
// a stream that was re-created, set back or continued elsewhere is found, and changes nothing.

import Foundation
import Logging
import Testing
import TreeRing
import TreeRingReplication

@testable import TreeRingNATS

extension NATSTests {
  @Suite struct DivergenceTests {
    @Test("A follower and a leader with old disks go on; behind a trimmed log they are told to end")
    func oldFolders() throws {
      let shop = try Shop()
      var (a, b) = try shop.begin()
      for (name, replica) in [("a", a), ("b", b)] {
        try replica.close()
        try shop.copy(name, to: "\(name)-old")
      }
      (a, b) = (try shop.open("a"), try shop.open("b"))
      try a.lead()
      try shop.write(30, by: a)
      try b.catchUp()
      for (name, replica) in [("a", a), ("b", b)] {
        try replica.close()
        try shop.copy("\(name)-old", to: name)
        #expect(try shop.contents(of: name).count == 20)
      }
      // The old leader's folder first: it has none of the last commits, but the stream has.
      a = try shop.open("a")
      #expect(a.store.newestCommit == 50)
      try a.lead()
      try shop.write(5, by: a)
      b = try shop.open("b")
      try expectEqual([a, b], in: Shop.texts)
      #expect(b.store.newestCommit == 55)
      try b.close()
      try shop.copy("b-old", to: "b")
      try a.trimLog(before: 40)
      shop.expectError(.beyondHorizon) { _ = try shop.open("b") }
      #expect(try shop.contents(of: "b").count == 20)
      try a.close()
    }

    @Test("A stream that was deleted or re-created is found by leader, follower and new openings")
    func recreated() throws {
      let shop = try Shop()
      let (a, b) = try shop.begin()
      let connection = try Connection(shop.servers.options(Shop.stream))
      _ = try connection.request(
        "$JS.API.STREAM.DELETE.\(Shop.stream)", [], within: .seconds(5))
      shop.expectError(.unknown) { try shop.write(1, by: a) }
      // A log makes a stream that is missing. It is empty, and no folder's commits get into it.
      shop.expectError(.diverged) { _ = try shop.open("a-copy", copiedFrom: "a") }
      #expect(try shop.servers.log(Shop.stream).ends(within: .seconds(5)).last == 0)
      let c = try shop.open("c")
      try c.lead()
      try shop.write(3, by: c)
      shop.expectError(.unavailable, .notAllowed) { try b.catchUp() }
      for (name, replica) in [("a", a), ("b", b)] {
        try? replica.close()
        shop.expectError(.diverged) { _ = try shop.open(name) }
        #expect(try shop.contents(of: name).count == 20)
      }
      #expect(c.store.newestCommit == 3)
      try c.close()
    }

    @Test("A stream that was set back, and one that went on elsewhere after that, are found")
    func setBack() throws {
      let shop = try Shop()
      let (a, b) = try shop.begin()
      try shop.servers.stopped { try shop.servers.copyStores(to: "kept") }
      try shop.write(20, by: a)
      try b.catchUp()
      try shop.servers.stopped { try shop.servers.restoreStores(from: "kept") }
      _ = try shop.servers.awaitLeader(of: Shop.stream)
      // The follower notices by itself, the leader at its next write at the latest.
      shop.expectError(.unknown, .diverged, .notLeader) { try shop.write(1, by: a) }
      try shop.awaitFailure(.diverged, of: b)
      try shop.awaitFailure(.diverged, of: a)
      for replica in [a, b] { try? replica.close() }
      shop.expectError(.diverged) { _ = try shop.open("a") }
      let c = try shop.open("c")
      #expect(c.store.newestCommit == 20)
      try c.lead()
      try shop.write(25, by: c)
      for name in ["a", "b"] {
        shop.expectError(.diverged) { _ = try shop.open(name) }
        #expect(try shop.contents(of: name).count == 40)
      }
      #expect(c.store.newestCommit == 45)
      try c.close()
    }
  }
}

/// Replicas of one store, in the folders of a temporary one.
private final class Shop {
  static let texts = Bucket<String>("texts")
  static let stream = "shop"
  let servers: JetStreamServers
  private let folder: URL
  private var count = 0

  init() throws {
    servers = try JetStreamServers(3)
    folder = FileManager.default.temporaryDirectory.appending(path: "shop-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func path(_ name: String) -> String { folder.appending(path: name).path }

  /// Opens a replica; before that, copies the folder of another one.
  func open(_ name: String, copiedFrom other: String? = nil) throws -> Replica {
    if let other { try copy(other, to: name) }
    var options = ReplicaOptions(name: name, limit: .seconds(5))
    options.store.logger.logLevel = .critical
    return try Replica(at: path(name), of: servers.log(Self.stream), options: options)
  }

  /// The replica `a`, which leads and has written 20 commits, and `b`, which has them.
  func begin() throws -> (a: Replica, b: Replica) {
    let (a, b) = (try open("a"), try open("b"))
    try a.lead()
    try write(20, by: a)
    try b.catchUp()
    return (a, b)
  }

  /// Writes commits, each a row of its own.
  func write(_ number: Int, by replica: Replica) throws {
    for _ in 0..<number {
      count += 1
      let text = "\(count) by \(replica.options.name)"
      try replica.store.write { tx in try tx.put(text, for: Key(text), in: Self.texts) }
    }
  }

  /// The rows that the store in a folder has by itself.
  func contents(of name: String) throws -> [String] {
    let store = try Store(at: path(name), options: StoreOptions(mode: .readOnly))
    defer { try? store.close() }
    return try store.snapshot().rows(in: Self.texts).map(\.row)
  }

  func copy(_ name: String, to other: String) throws {
    try shell("rm -rf '\(path(other))'\ncp -a '\(path(name))' '\(path(other))'")
  }

  func expectError(_ codes: TreeRingError.Code..., in body: () throws -> Void) {
    do {
      try body()
      Issue.record("there is no error; wanted \(codes)")
    } catch {
      let code = (error as? TreeRingError)?.code
      #expect(code.map(codes.contains) == true, "\(error)")
    }
  }

  func awaitFailure(_ code: TreeRingError.Code, of replica: Replica) throws {
    let deadline = ContinuousClock.now + .seconds(40)
    while replica.status.failure == nil, .now < deadline { usleep(10_000) }
    #expect(replica.status.failure?.code == code, "\(replica.status)")
  }
}
