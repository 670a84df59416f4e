// A server whose own process writes commits at a rate.

import Foundation
import NIOConcurrencyHelpers
import TreeRing
import TreeRingLive
import TreeRingServer

enum WriterLoad {
  static let groups = 100
  static let rowsPerGroup = 50

  /// Serves a store of its own, and writes commits to it for some seconds.
  ///
  /// - Parameter isNaive: Whether a `NaiveServer` serves it.
  static func run(rate: Int, seconds: Int, isNaive: Bool = false) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "load-\(getpid()).ring")
    defer { try? FileManager.default.removeItem(at: folder) }
    var storeOptions = StoreOptions()
    storeOptions.durability = .relaxed(within: .seconds(1))
    let store = try Store(at: folder.path, options: storeOptions)
    try LoadRow.fill(store, groups: groups, rows: rowsPerGroup)
    if isNaive {
      let server = NaiveServer(store)
      let port = try await server.start()
      let rounds = Task { try await server.run() }
      try await measure(store, port, token: "none", rate, seconds)
      rounds.cancel()
      try await server.stop()
    } else {
      var options = ServerOptions()
      options.port = 0
      let token = TokenTable.random()
      options.tokens = TokenTable(token, LiveAccess(.read))
      options.limits.connectionsPerAddress = 100_000
      let server = try await Server.start(LiveService(store), options)
      let rounds = Task { try await server.run() }
      try await measure(store, server.port, token: token, rate, seconds)
      rounds.cancel()
      try await server.stop()
    }
    try await store.close()
  }

  /// Prints the address, waits for readers, writes, and prints the latencies.
  private static func measure(
    _ store: Store, _ port: Int, token: String, _ rate: Int, _ seconds: Int
  ) async throws {
    FileHandle.standardOutput.write(Data("http://127.0.0.1:\(port)/#token=\(token)\n".utf8))
    try await Task.sleep(for: .seconds(connectingSeconds))
    let latencies = try await Task.detached { try write(store, rate: rate, seconds: seconds) }.value
    FileHandle.standardOutput.write(
      Data("writer: \(latencies.count / seconds) commits/s, \(Quantiles(latencies).text)\n".utf8))
    try await Task.sleep(for: .seconds(2))
  }

  /// The readers connect before the writes begin.
  static let connectingSeconds = 4

  /// Makes the store of a load test. Returns its newest commit.
  static func fill(_ folder: String) throws -> UInt64 {
    let store = try Store(at: folder)
    try LoadRow.fill(store, groups: groups, rows: rowsPerGroup)
    try store.define(
      "quiet", try FieldIndex(bucket: "quiet", group: "group", order: [.init("order")]))
    try store.write { tx in
      for number in 0..<rowsPerGroup {
        try tx.put(LoadRow.row(0, number), for: LoadRow.key(number), in: Bucket<LoadRow>("quiet"))
      }
    }
    defer { try? store.close() }
    return store.newestCommit
  }

  /// Writes commits by the rule until the standard input ends, and prints the newest one then.
  static func follow(_ folder: String, rate: Int, base: UInt64) throws {
    var options = StoreOptions()
    options.durability = .relaxed(within: .milliseconds(20))
    let store = try Store(at: folder, options: options)
    var rule = LoadRule(base: base)
    while rule.commit < store.newestCommit { _ = rule.advance() }
    let isOver = NIOLockedValueBox(false)
    Thread.detachNewThread {
      while readLine() != nil {}
      isOver.withLockedValue { $0 = true }
    }
    let first = rule.commit
    let begin = ContinuousClock.now
    while !isOver.withLockedValue({ $0 }) {
      let due = begin + .microseconds(Int(rule.commit - first) * 1_000_000 / rate)
      let wait = due - ContinuousClock.now
      if wait > .zero { usleep(UInt32(wait.components.attoseconds / 1_000_000_000_000)) }
      try rule.write(to: store)
    }
    let newest = store.newestCommit
    try store.close()
    print(newest)
  }

  private static func write(_ store: Store, rate: Int, seconds: Int) throws -> [Double] {
    var latencies: [Double] = []
    let begin = ContinuousClock.now
    for turn in 0..<(rate * seconds) {
      let due = begin + .microseconds(turn * 1_000_000 / rate)
      let wait = due - ContinuousClock.now
      if wait > .zero {
        usleep(UInt32(wait.components.attoseconds / 1_000_000_000_000))
      }
      if ContinuousClock.now - begin > .seconds(seconds) { break }
      let number = turn * 7919 % (groups * rowsPerGroup)
      let start = ContinuousClock.now
      try store.writeNow { tx in
        try tx.put(
          LoadRow.row(number % groups, number + turn % 1000, turn: turn + 1),
          for: LoadRow.key(number),
          in: LoadRow.bucket)
      }
      latencies.append((ContinuousClock.now - start) / .milliseconds(1))
    }
    return latencies
  }
}

extension Store {
  /// The write that blocks its thread.
  fileprivate func writeNow(_ body: (Transaction) throws -> Void) throws { try write(body) }
}
