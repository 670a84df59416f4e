// A client of the SDKs' protocol. It keeps one copy of the tree for its listens without a query and
// one of each query, as the SDKs do, and checks the order of messages.

import TestSupport
import Testing
import TreeRingLive
import TreeRingLog

@testable import TreeRingFirebase
@testable import TreeRingRealtime

/// A client of a session, for one thread at a time.
final class SessionClient: @unchecked Sendable {
  /// A listen of the client.
  struct Listen {
    let path: String
    /// The query as the protocol has it, and as REST has it.
    let query: String?
    let target: String
    let tag: Int?
    var isConfirmed = false
  }

  private let stage: RealtimeStage
  private(set) var session: RealtimeSession
  private(set) var tree = FirebaseNode.null
  private var windows: [Int: FirebaseNode] = [:]
  private(set) var listens: [Listen] = []
  /// The requests without an answer, by number, with what they ask for.
  private var asked: [Int: String] = [:]
  private(set) var number = 0
  /// The messages since the last call of `take`.
  private var messages: [String] = []
  /// The number of messages with data, apart from those that there is none.
  private(set) var dataCount = 0
  private(set) var statuses: [Int: String] = [:]
  private(set) var values: [Int: FirebaseNode] = [:]
  /// The writes whose events must precede their answers, and those whose events did not.
  private var expected: [Int: (path: String, value: Int)] = [:]
  private(set) var early: [String] = []
  private var missing = 0
  private var text: [UInt8] = []

  init(_ stage: RealtimeStage) throws {
    self.stage = stage
    session = try stage.service.session(target: "/.ws?v=5", host: "h:1")
  }

  // MARK: - Sending

  @discardableResult
  func ask(_ action: String, _ body: String) -> Int {
    number += 1
    asked[number] = action
    send("{\"t\":\"d\",\"d\":{\"r\":\(number),\"a\":\"\(action)\",\"b\":\(body)}}")
    return number
  }

  /// Sends a message in frames of at most so many bytes.
  func send(_ message: String, frameSize: Int = 16_384) {
    var rest = Array(message.utf8)[...]
    if rest.count > frameSize {
      session.receive(Array(String((rest.count + frameSize - 1) / frameSize).utf8))
    }
    while !rest.isEmpty {
      session.receive(Array(rest.prefix(frameSize)))
      rest = rest.dropFirst(frameSize)
    }
  }

  /// Writes a number where the client listens.
  func put(_ path: String, _ value: Int) {
    let request = ask("p", "{\"p\":\"/\(path)\",\"d\":\(value)}")
    expected[request] = (path, value)
  }

  func listen(_ path: String, query: String? = nil, target: String, tag: Int? = nil) {
    listens.append(Listen(path: path, query: query, target: target, tag: tag))
    if let tag { windows[tag] = .null }
    sendListen(listens[listens.count - 1])
  }

  private func sendListen(_ listen: Listen) {
    let end = listen.tag.map { ",\"q\":\(listen.query ?? "{}"),\"t\":\($0)" } ?? ""
    ask("q", "{\"p\":\"/\(listen.path)\"\(end),\"h\":\"\(copy(of: listen).hash)\"}")
  }

  func unlisten(_ index: Int) {
    let listen = listens.remove(at: index)
    let end = listen.tag.map { ",\"q\":\(listen.query ?? "{}"),\"t\":\($0)" } ?? ""
    ask("n", "{\"p\":\"/\(listen.path)\"\(end)}")
    // The SDKs forget what nobody listens to.
    if let tag = listen.tag { windows[tag] = nil } else { replace(listen.path, by: .null) }
  }

  /// Ends the session, and begins another one with the copies that the client has.
  func reconnect(whileAway: () throws -> Void) throws {
    session.end()
    try whileAway()
    session = try stage.service.session(target: "/.ws?v=5", host: "h:1")
    (asked, missing, text) = ([:], 0, [])
    for listen in listens { sendListen(listen) }
  }

  // MARK: - Copies

  func copy(of listen: Listen) -> FirebaseNode {
    if let tag = listen.tag { return windows[tag] ?? .null }
    return tree[listen.path]
  }

  private func replace(_ path: String, by node: FirebaseNode) {
    guard let path = try? FirebasePath(path) else { return }
    tree.replace(path, by: node)
  }

  // MARK: - Receiving

  /// Takes all messages that are due.
  func drain() throws {
    while let frame = session.nextMessage() {
      #expect(frame.count <= 16_384)
      let part = try #require(String(validating: frame, as: UTF8.self))
      if missing == 0, part.utf8.count <= 6, let count = Int(part) {
        missing = count
        continue
      }
      text += frame
      if missing > 0 { missing -= 1 }
      if missing > 0 { continue }
      try handle(text)
      text = []
    }
  }

  /// The messages since the last call.
  func take() throws -> [String] {
    try drain()
    defer { messages = [] }
    return messages
  }

  private func handle(_ message: [UInt8]) throws {
    messages.append(String(decoding: message, as: UTF8.self))
    let envelope = try RawObject(message)
    guard try envelope.text("t") == "d", let data = envelope["d"] else { return }
    let content = try RawObject(data)
    let body = try RawObject(try #require(content["b"]))
    if case .number(let digits)? = try content.value("r"), let number = Int(digits) {
      let found = asked.removeValue(forKey: number)
      let action = try #require(found, "answered twice")
      statuses[number] = try body.text("s")
      if let write = expected.removeValue(forKey: number),
        tree[write.path].number != Double(write.value)
      {
        early.append("\(write.path): \(write.value)")
      }
      if action == "g", let data = body["d"], statuses[number] == "ok" {
        values[number] = try FirebaseNode(json: data)
      }
      return
    }
    switch try content.text("a") {
    case "d", "m":
      let path = try #require(try body.text("p"))
      let value = try #require(body["d"])
      if value != Array("null".utf8) { dataCount += 1 }
      let tag = try body.tag().map(Int.init)
      try apply(path, value, isMerge: content.text("a") == "m", tag)
    case "c":
      let path = try #require(try body.text("p"))
      listens.removeAll { $0.path == path && ($0.query == nil) == (body["q"] == nil) }
    default: break
    }
  }

  private func apply(_ path: String, _ value: [UInt8], isMerge: Bool, _ tag: Int?) throws {
    var parts = [(path: path, node: value)]
    if isMerge {
      parts = try value.withUnsafeBytes { bytes in
        try NodeReader(bytes).members(0..<bytes.count).map {
          (path + "/" + $0.name, Array(bytes[$0.value]))
        }
      }
    }
    for part in parts {
      let node = try FirebaseNode(json: part.node)
      guard let tag else {
        replace(part.path, by: node)
        continue
      }
      // A listen that the client has given up may still have messages under way.
      guard let listen = listens.first(where: { $0.tag == tag }) else { continue }
      let full = try FirebasePath(part.path).keys
      let base = try FirebasePath(listen.path).keys
      #expect(full.starts(with: base))
      windows[tag]?.replace(FirebasePath(keys: Array(full.dropFirst(base.count))), by: node)
    }
  }

  /// Whether all requests have their answers.
  var isAnswered: Bool { asked.isEmpty }

  /// The listens whose copies differ from what REST reads now.
  func differences() -> [String] {
    listens.compactMap { listen in
      let fresh = stage.get(listen.target)
      let copy = String(decoding: copy(of: listen).exportedJSON, as: UTF8.self)
      return fresh == copy ? nil : "\(listen.target): \(copy) instead of \(fresh)"
    }
  }
}
