// A server whose own process writes commits at a rate.

import Foundation
import TreeRing
import TreeRingLive
import TreeRingServer

enum WriterLoad {
  static let groups = 100
  static let rowsPerGroup = 50

  static func run(rate: Int, seconds: Int) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "load-\(getpid()).ring")
    defer { try? FileManager.default.removeItem(at: folder) }
    var storeOptions = StoreOptions()
    storeOptions.durability = .relaxed(within: .seconds(1))
    let store = try Store(at: folder.path, options: storeOptions)
    try LoadRow.fill(store, groups: groups, rows: rowsPerGroup)
    var options = ServerOptions()
    options.port = 0
    let token = TokenTable.random()
    options.tokens = TokenTable(token, LiveAccess(.read))
    options.limits.connectionsPerAddress = 100_000
    let server = try await Server.start(LiveService(store), options)
    let rounds = Task { try await server.run() }
    FileHandle.standardOutput.write(
      Data("http://127.0.0.1:\(server.port)/#token=\(token)\n".utf8))
    // The readers connect before the writes begin.
    try await Task.sleep(for: .seconds(4))
    let latencies = try await Task.detached { try write(store, rate: rate, seconds: seconds) }.value
    print("writer: \(latencies.count / seconds) commits/s, \(Quantiles(latencies).text)")
    try await Task.sleep(for: .seconds(2))
    rounds.cancel()
    try await server.stop()
    try store.close()
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
