// A small Firebase server for tests, written from the protocol alone, over plain sockets. It
// records each request that the protocol does not allow. A test scripts its faults: for each
// request what goes wrong with the answer.

import Foundation
import TestSupport
import TreeRingPlatform

/// A fault of an answer.
enum FakeFault: Sendable {
  /// The connection ends after so many bytes of the answer.
  case drop(after: Int)
  case status(Int, String)
  case redirect(String?)
  /// The stream sends this text after its first event.
  case text(String)
  /// The stream sends this text instead of its first event.
  case onlyText(String)
  /// The answer never comes.
  case silence
  case contentType(String)
}

final class FakeFirebase: Sendable {
  /// A write: the replacement of nodes, sent as a put, or as a patch of children.
  typealias Write = [(path: [String], data: PlainData)]

  private struct State {
    var tree = PlainTree()
    var streams: [Int: FakeStream] = [:]
    var requestCount = 0
    var flaws: [String] = []
    var requests: [FakeRequest] = []
    var connections: [Int: FakeConnection] = [:]
    var random = SeededGenerator(seed: 1)
    /// The valid token; nil if none is needed.
    var token: String?
  }

  private let socket = FakeSocket()
  private let state = Mutex(State())
  private let group = DispatchGroup()
  private let fault: @Sendable (FakeRequest) -> FakeFault?
  /// The size of the pieces in which answers are written; nil for whole events.
  private let piece: Int?

  init(
    seed: UInt64 = 1, piece: Int? = nil,
    fault: @escaping @Sendable (FakeRequest) -> FakeFault? = { _ in nil }
  ) {
    self.piece = piece
    self.fault = fault
    state.withLock { $0.random = SeededGenerator(seed: seed) }
    group.enter()
    _ = beginThreads { [self] _ in
      while let connection = socket.accept() {
        _ = beginThreads { [self] _ in serve(connection) }
      }
      group.leave()
    }
  }

  var port: UInt16 { socket.port }
  func url(_ path: String) -> URL {
    URL(string: "http://127.0.0.1:\(port)/\(path)") ?? URL(filePath: "/")
  }

  /// The requests so far.
  var requests: [FakeRequest] { state.withLock(\.requests) }
  /// The requests that the protocol does not allow.
  var flaws: [String] { state.withLock(\.flaws) }
  /// The connections that are open.
  var connectionCount: Int { state.withLock(\.connections.count) }
  /// The streams that are open.
  var streamCount: Int { state.withLock(\.streams.count) }
  var token: String? {
    get { state.withLock(\.token) }
    set { state.withLock { $0.token = newValue } }
  }
  var tree: PlainTree { state.withLock(\.tree) }

  func end() {
    socket.end()
    for connection in state.withLock({ Array($0.connections.values) }) { connection.end() }
    for stream in state.withLock({ Array($0.streams.values) }) { stream.end() }
    group.wait()
  }

  // MARK: - Writing

  func put(_ data: PlainData, at path: [String]) { write([(path, data)], at: path, isPatch: false) }

  /// Replaces children of a location at once; names may have several parts.
  func patch(_ children: [[String]: PlainData], at path: [String]) {
    let write = children.map { (path: path + $0.key, data: $0.value) }
    self.write(write, at: path, isPatch: true)
  }

  private func write(_ write: Write, at path: [String], isPatch: Bool) {
    state.withLock { state in
      let before = state.tree
      for (path, data) in write { state.tree.put(data, at: path) }
      for stream in state.streams.values {
        stream.send(
          write, at: path, isPatch: isPatch, before: before, after: state.tree, &state.random)
      }
    }
  }

  /// Ends all streams, each possibly in the middle of an event.
  func dropStreams() {
    for stream in state.withLock({ Array($0.streams.values) }) { stream.end() }
  }

  /// Sends a text to all streams.
  func send(_ text: String) {
    for stream in state.withLock({ Array($0.streams.values) }) { stream.append(text) }
  }

  /// Sends a text to all streams, and ends them.
  func endStreams(_ text: String) {
    for stream in state.withLock({ Array($0.streams.values) }) {
      stream.append(text)
      stream.finish()
    }
  }

  // MARK: - Answering

  private func serve(_ connection: FakeConnection) {
    let number = state.withLock { state in
      state.requestCount += 1
      state.connections[state.requestCount] = connection
      return state.requestCount
    }
    defer {
      connection.end()
      state.withLock { _ = $0.connections.removeValue(forKey: number) }
    }
    guard let head = connection.head() else { return }
    let request = state.withLock { state in
      let request = FakeRequest(head, number: state.requests.count)
      state.requests.append(request)
      if let flaw = request.flaw { state.flaws.append(flaw) }
      return request
    }
    answer(request, on: connection, number)
  }

  private func answer(_ request: FakeRequest, on connection: FakeConnection, _ number: Int) {
    let fault = fault(request)
    switch fault {
    case .status(let status, let text):
      return reply(connection, status, "{ \"error\" : \"\(text)\" }")
    case .redirect(let target):
      let location = target.map { "Location: \($0)\r\n" } ?? ""
      connection.write("HTTP/1.1 307 Temporary Redirect\r\n\(location)Content-Length: 0\r\n\r\n")
      return
    case .silence:
      while !connection.isClosedByClient { Platform.sleep(.milliseconds(2)) }
      return
    default: break
    }
    if let token, request["auth"] != token,
      request.headers["authorization"] != "Bearer \(token)"
    {
      return reply(connection, 401, "{ \"error\" : \"Auth token is expired\" }")
    }
    switch FakeQuery.read(request) {
    case .failure(let refusal):
      state.withLock { $0.flaws.append(refusal.text) }
      reply(connection, 400, "{ \"error\" : \"\(refusal.text)\" }")
    case .success(let query) where request.isStream:
      stream(request, query, fault, on: connection, number)
    case .success(let query):
      let data = state.withLock { query.data($0.tree, request.path) }
      let body = data.json(exporting: query.isExport)
      if case .contentType(let type) = fault { return reply(connection, 200, body, type: type) }
      if case .drop(let count) = fault {
        reply(connection, 200, body, cut: count)
      } else {
        reply(connection, 200, body)
      }
    }
  }

  private func reply(
    _ connection: FakeConnection, _ status: Int, _ body: String,
    type: String = "application/json; charset=utf-8", cut: Int? = nil
  ) {
    let answer =
      "HTTP/1.1 \(status) Status\r\nContent-Type: \(type)\r\n"
      + "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n" + body
    let bytes = Array(answer.utf8).prefix(cut ?? .max)
    connection.write(String(decoding: bytes, as: UTF8.self), piece: piece)
  }

  private func stream(
    _ request: FakeRequest, _ query: FakeQuery, _ fault: FakeFault?,
    on connection: FakeConnection, _ number: Int
  ) {
    let stream = FakeStream(request.path, query)
    let first = state.withLock { state in
      state.streams[number] = stream
      return query.data(state.tree, request.path).json(exporting: query.isExport)
    }
    defer { state.withLock { _ = $0.streams.removeValue(forKey: number) } }
    var type = "text/event-stream; charset=utf-8"
    if case .contentType(let other) = fault { type = other }
    let head =
      "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nCache-Control: no-cache\r\n"
      + "Connection: close\r\n\r\n"
    var left = Int.max
    if case .drop(let count) = fault { left = count }
    var event = FakeStream.event("put", "/", first)
    if case .text(let text) = fault { event += text }
    if case .onlyText(let text) = fault { event = text }
    var next: String? = head + event
    while let text = next {
      let bytes = Array(text.utf8).prefix(left)
      left -= bytes.count
      guard connection.write(String(decoding: bytes, as: UTF8.self), piece: piece), left > 0 else {
        return
      }
      next = stream.next { connection.isClosedByClient }
    }
  }
}
