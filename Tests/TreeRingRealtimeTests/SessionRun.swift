// Random runs of a client of the SDKs' protocol beside another writer.

import TestSupport
import Testing
import TreeRing

@testable import TreeRingFirebase
@testable import TreeRingRealtime

/// One random run of a client beside another writer.
struct SessionRun {
  private let stage: RealtimeStage
  private let client: SessionClient
  private let seed: UInt64
  private var random: SeededGenerator
  private var tag = 0
  private var gets: [(number: Int, text: String)] = []

  init(_ seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    stage = try RealtimeStage()
    client = try SessionClient(stage)
  }

  private static let locations = ["a", "b", "c/1", "c/x"]

  private mutating func path() -> String {
    let keys = ["a", "b", "c", "1", "x", "k"]
    return (0..<Int.random(in: 1...3, using: &random)).map { _ in random.pick(keys) }
      .joined(separator: "/")
  }

  private mutating func data() -> String {
    // A key of the data may be any; most are those of the paths.
    random.data(depth: 2).json(exporting: true)
  }

  mutating func step() throws {
    switch Int.random(in: 0..<14, using: &random) {
    case 0...2:
      let (path, data) = (path(), data())
      client.ask("p", "{\"p\":\"/\(path)\",\"d\":\(data)}")
    case 3:
      let (path, data) = (path(), data())
      client.ask("m", "{\"p\":\"/\(path)\",\"d\":{\"k\":\(data),\"x/y\":1}}")
    case 4...6:
      let (path, data) = (path(), data())
      _ = stage.ask("PUT", "/\(path).json", data)
    case 7:
      let path = path()
      _ = stage.ask("PATCH", "/\(path).json", #"{"a/1": 1, "b": null}"#)
    case 8, 9: listen()
    case 10 where !client.listens.isEmpty:
      client.unlisten(Int.random(in: 0..<client.listens.count, using: &random))
    case 11: try transaction()
    case 12: try reconnect()
    default: get()
    }
    if !client.session.acceptsInput || random.chance(3) { try check() }
  }

  private mutating func listen() {
    let path = random.pick(Self.locations)
    if random.chance(3) {
      if client.listens.contains(where: { $0.tag == nil && $0.path == path }) { return }
      return client.listen(path, target: "/\(path).json?format=export")
    }
    tag += 1
    let (query, rest) = random.pick([
      (#"{"i":".key","l":2,"vf":"l"}"#, "orderBy=\"$key\"&limitToFirst=2"),
      (#"{"i":".key","sp":"b"}"#, "orderBy=\"$key\"&startAt=\"b\""),
      (#"{"i":".value","l":1,"vf":"r"}"#, "orderBy=\"$value\"&limitToLast=1"),
      (#"{"i":".value","sp":1,"sn":"[MAX_NAME]"}"#, "orderBy=\"$value\"&startAfter=1"),
      (#"{"i":"k","ep":2,"ein":false}"#, "orderBy=\"k\"&endBefore=2"),
      (#"{"l":2,"vf":"l"}"#, "orderBy=\"$priority\"&limitToFirst=2"),
      (#"{"sp":1,"ep":1}"#, "orderBy=\"$priority\"&startAt=1&endAt=1"),
    ])
    client.listen(
      path, query: query, target: "/\(path).json?format=export&\(rest)", tag: tag)
  }

  private mutating func get() {
    let path = random.pick(Self.locations)
    let number = client.ask("g", "{\"p\":\"/\(path)\",\"q\":{\"i\":\".key\",\"l\":1,\"vf\":\"r\"}}")
    gets.append((number, "/\(path).json?format=export&orderBy=\"$key\"&limitToLast=1"))
  }

  /// A write on the condition of a hash that holds or not.
  private mutating func transaction() throws {
    try check()
    let path = path()
    let node = try FirebaseNode(json: Array(stage.get("/\(path).json?format=export").utf8))
    let isRight = random.chance(2)
    let hash = isRight ? node.hash : node.hash + "x"
    let number = client.ask("p", "{\"p\":\"/\(path)\",\"d\":1,\"h\":\"\(hash)\"}")
    try client.drain()
    #expect(client.statuses[number] == (isRight ? "ok" : "datastale"), "seed \(seed)")
  }

  private mutating func reconnect() throws {
    try check()
    let (path, changes) = (path(), random.chance(2))
    client.ask("o", "{\"p\":\"/gone/\(client.number)\",\"d\":{\".sv\":\"timestamp\"}}")
    try client.drain()
    let mark = client.number
    let before = client.dataCount
    try client.reconnect {
      if changes { _ = stage.ask("PUT", "/\(path).json", #"{"1": 2}"#) }
    }
    try client.drain()
    #expect(stage.get("/gone/\(mark - 1).json") != "null", "seed \(seed)")
    if !changes { #expect(client.dataCount == before, "seed \(seed): equal copies came again") }
    try check()
  }

  mutating func check() throws {
    try client.drain()
    #expect(client.isAnswered && !client.session.mayBeDue, "seed \(seed)")
    #expect(client.differences() == [], "seed \(seed)")
    for (number, target) in gets {
      let value = try #require(client.values[number], "seed \(seed): \(number)")
      // The session reads when the answer is taken.
      #expect(String(decoding: value.exportedJSON, as: UTF8.self) == stage.get(target))
    }
    gets = []
  }
}
