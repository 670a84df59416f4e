// A server under test, with a store in memory.

import Foundation
import TreeRing
import TreeRingLive

@testable import TreeRingServer

/// A running server on a free port of this machine.
final class TestServer: Sendable {
  static let token = "0123456789abcdef-admin"
  let store: Store
  let server: Server
  let port: Int
  private let rounds: Task<Void, any Error>

  init(
    rows: Int = 20, isWritable: Bool = false, _ change: (inout ServerOptions) -> Void = { _ in }
  ) async throws {
    store = try Store.inMemory()
    let bucket = Bucket<Row>("rows")
    try await store.define(
      "board", try FieldIndex(bucket: "rows", group: "group", order: [.init("order")]))
    try Self.put(0..<rows, in: store, bucket)
    var options = ServerOptions()
    options.port = 0
    options.tokens = TokenTable(Self.token, LiveAccess(.admin))
    change(&options)
    server = try await Server.start(LiveService(store, isWritable: isWritable), options)
    port = server.port
    let server = server
    rounds = Task { try await server.run() }
  }

  /// A server of databases that takes writes; with its own token, or as Firebase's emulator.
  static func databases(
    isEmulator: Bool = false, _ change: (inout ServerOptions) -> Void = { _ in }
  ) async throws -> TestServer {
    try await TestServer(isWritable: true) {
      $0.databases = DatabaseOptions()
      $0.databases?.isEmulator = isEmulator
      change(&$0)
    }
  }

  struct Row: Codable {
    var group: String
    var order: Int
    var text = ""
  }

  private static func put(_ numbers: Range<Int>, in store: Store, _ bucket: Bucket<Row>) throws {
    try store.write { tx in
      for number in numbers {
        try tx.put(
          Row(group: "g\(number % 2)", order: number), for: Key("k\(number)"), in: bucket)
      }
    }
  }

  /// Writes one row.
  func put(_ key: String, _ row: Row) throws {
    try store.write { try $0.put(row, for: Key(key), in: Bucket<Row>("rows")) }
  }

  /// Ends the server, and closes the store after a check of what it left.
  func stop(_ check: () throws -> Void = {}) async throws {
    rounds.cancel()
    try await server.stop()
    try check()
    try await store.close()
  }

  /// Asks on a connection of its own.
  func ask(
    _ target: String, method: String = "GET", token: String? = TestServer.token,
    host: String? = nil, headers: [String] = [], body: String = ""
  ) throws -> (status: Int, head: String, body: String) {
    try TestConnection(port).ask(
      target, method: method, token: token, host: host, headers: headers, body: body, port: port)
  }

  /// An open WebSocket.
  func webSocket(receiveBuffer: Int32? = nil) throws -> TestConnection {
    let connection = try TestConnection(port, receiveBuffer: receiveBuffer)
    let head = try connection.upgrade(token: Self.token, port: port)
    guard head.hasPrefix("HTTP/1.1 101") else { throw TestConnection.Failure(sentence: head) }
    return connection
  }

  /// Waits until a condition holds; false if it does not within seconds.
  func eventually(_ condition: () throws -> Bool) async throws -> Bool {
    for _ in 0..<500 {
      if try condition() { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }

  /// The value of one of the server's figures.
  func figure(_ name: String) throws -> Double? {
    let lines = try ask("/metrics").body.split(separator: "\n")
    return lines.first { $0.hasPrefix(name + " ") }.flatMap { Double($0.dropFirst(name.count + 1)) }
  }
}
