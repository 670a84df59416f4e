// Sessions of the SDKs' protocol: random runs of a client, golden traces, and bad messages.

import Foundation
import TestSupport
import Testing
import TreeRing
import TreeRingLog
import TreeRingPlatform

@testable import TreeRingFirebase
@testable import TreeRingLive
@testable import TreeRingRealtime

@Suite struct SessionTests {
  @Test(arguments: seeds(1...25)) func copiesOfAClientEqualTheTree(seed: UInt64) throws {
    var run = try SessionRun(seed)
    for _ in 0..<80 { try run.step() }
    try run.check()
  }

  @Test func messagesComeInTheirOrder() throws {
    let stage = try RealtimeStage()
    _ = stage.ask("PUT", "/rooms/a.json", #"{"text":"Hi","sent":1}"#)
    let client = try SessionClient(stage)
    let hello = try client.take()
    #expect(hello.count == 1 && hello[0].hasPrefix(#"{"t":"c","d":{"t":"h","d":{"ts":"#))
    #expect(hello[0].contains(#","v":"5","h":"h:1","s":""#))
    func trace(_ action: String, _ body: String) throws -> [String] {
      client.ask(action, body)
      return try client.take().map { String($0.dropFirst(#"{"t":"d","d":"#.count).dropLast()) }
    }
    let hash = try FirebaseNode(json: Array(#"{"a":{"text":"Hi","sent":1}}"#.utf8)).hash
    let window = #"{"i":"sent","l":1,"vf":"r"}"#
    let ok = #""b":{"s":"ok","d":""#
    let steps: [(String, String, [String])] = [
      ("s", #"{"c":{"sdk.js.9":1}}"#, [#"{"r":1,\#(ok)"}}"#]),
      (
        "q", #"{"p":"/rooms","h":""}"#,
        [
          #"{"a":"d","b":{"p":"rooms","d":{"a":{"sent":1,"text":"Hi"}}}}"#,
          #"{"r":2,"b":{"s":"ok","d":{}}}"#,
        ]
      ),
      ("n", #"{"p":"/rooms"}"#, [#"{"r":3,\#(ok)"}}"#]),
      ("q", #"{"p":"/rooms","h":"\#(hash)"}"#, [#"{"r":4,"b":{"s":"ok","d":{}}}"#]),
      (
        "q", #"{"p":"/rooms","q":\#(window),"t":7,"h":""}"#,
        [
          #"{"a":"d","b":{"p":"rooms","d":{"a":{"sent":1,"text":"Hi"}},"t":7}}"#,
          #"{"r":5,"b":{"s":"ok","d":{}}}"#,
        ]
      ),
      (
        "p", #"{"p":"/rooms/b","d":{"sent":2}}"#,
        [
          #"{"a":"d","b":{"p":"rooms/b","d":{"sent":2}}}"#,
          #"{"a":"m","b":{"p":"rooms","d":{"a":null,"b":{"sent":2}},"t":7}}"#,
          #"{"r":6,\#(ok)"}}"#,
        ]
      ),
      (
        "m", #"{"p":"/rooms/b","d":{"sent":3,"by/name":"Bo"}}"#,
        [
          #"{"a":"m","b":{"p":"rooms/b","d":{"sent":3,"by/name":"Bo"}}}"#,
          #"{"a":"m","b":{"p":"rooms/b","d":{"sent":3,"by/name":"Bo"},"t":7}}"#,
          #"{"r":7,\#(ok)"}}"#,
        ]
      ),
      (
        "p", #"{"p":"/rooms/c","d":1,"h":"no"}"#,
        [#"{"r":8,"b":{"s":"datastale","d":"Transaction hash does not match"}}"#]
      ),
      ("p", #"{"p":"/rooms/c/.priority","d":1,"h":""}"#, [#"{"r":9,\#(ok)"}}"#]),
    ]
    for (action, body, expected) in steps {
      #expect(try trace(action, body) == expected, "\(action) \(body)")
    }
    // A transaction: the hash of what there is.
    let present = try FirebaseNode(json: Array(stage.get("/rooms.json?format=export").utf8)).hash
    #expect(
      try trace("p", #"{"p":"/rooms","d":null,"h":"\#(present)"}"#) == [
        #"{"a":"d","b":{"p":"rooms","d":null}}"#,
        #"{"a":"d","b":{"p":"rooms/b","d":null,"t":7}}"#, #"{"r":10,\#(ok)"}}"#,
      ])
    #expect(try trace("p", #"{"p":"/rooms","d":5,"h":""}"#).last == #"{"r":11,\#(ok)"}}"#)
    #expect(try trace("g", #"{"p":"/rooms"}"#) == [#"{"r":12,"b":{"s":"ok","d":5}}"#])
    client.send(#"{"t":"c","d":{"t":"p","d":{}}}"#)
    #expect(try client.take() == [#"{"t":"c","d":{"t":"o","d":null}}"#])
    client.send("0")
    #expect(try client.take() == [] && client.session.acceptsInput)
  }

  @Test func longMessagesHaveACountBeforeThem() throws {
    var random = SeededGenerator(seed: 7)
    for size in [0, 1, 16_383, 16_384, 16_385, 32_768, 70_000] {
      let text = (0..<size).map { _ in random.pick(["a", "ö", "€", "😀"]) }.joined()
      var cutter = FrameCutter(Array(text.utf8))
      var joiner = FrameJoiner(limit: 1 << 20)
      var joined: [UInt8] = []
      while let frame = cutter.next() {
        #expect(frame.count <= 16_384 && String(validating: frame, as: UTF8.self) != nil)
        if let message = try joiner.take(frame) { joined = message }
      }
      #expect(joined == Array(text.utf8) && cutter.isDone)
    }
    let stage = try RealtimeStage()
    let client = try SessionClient(stage)
    let long = String(repeating: "ä", count: 40_000)
    client.ask("p", "{\"p\":\"/x\",\"d\":\"\(long)\"}")
    client.listen("x", target: "/x.json?format=export")
    try client.drain()
    #expect(client.isAnswered && client.differences() == [])
  }

  @Test func badMessagesGetAnswersOrEndTheSession() throws {
    var options = RealtimeOptions()
    options.bodyByteCount = 200_000
    let stage = try RealtimeStage(options: options)
    let refused = [
      ("x", "{}"), ("q", "{}"), ("q", "[]"), ("q", #"{"p":1}"#), ("q", #"{"p":"/a.b","h":""}"#),
      ("q", #"{"p":"/a","h":1}"#), ("q", #"{"p":"/a","q":1,"t":1,"h":""}"#),
      ("q", #"{"p":"/a","q":{"l":-1},"t":1}"#), ("q", #"{"p":"/a","q":{"sp":{}},"t":1}"#),
      ("q", #"{"p":"/a","t":"x"}"#), ("q", #"{"p":"/a/.priority"}"#), ("g", #"{"q":{}}"#),
      ("g", #"{"p":"/a","q":{"i":".key","sp":5}}"#), ("p", #"{"p":"/a"}"#),
      ("p", #"{"p":"/a","d":{"$":1}}"#), ("p", #"{"p":"/a","d":1,"h":2}"#),
      ("p", #"{"p":"/.info/x","d":1}"#), ("m", #"{"p":"/a","d":1}"#),
      ("m", #"{"p":"/a","d":{"b":1,"b/c":2}}"#), ("m", #"{"p":"/a","d":{},"h":""}"#),
      ("o", #"{"p":"/a"}"#), ("om", #"{"p":"/a","d":[]}"#), ("oc", "{}"), ("auth", "{}"),
      ("auth", #"{"cred":"unknown"}"#), ("gauth", #"{"cred":"owner","authvar":1}"#),
      ("p", "{\"p\":\"\(String(repeating: "/a", count: 40))\",\"d\":1}"),
      ("p", #"{"p":"/a","d":{".sv":"no"}}"#), ("q", ""),
    ]
    let client = try SessionClient(stage)
    for (action, body) in refused {
      let number = client.ask(action, body.isEmpty ? "null" : body)
      try client.drain()
      let status = client.statuses[number]
      #expect(status != nil && status != "ok", "\(action) \(body): \(status ?? "nothing")")
    }
    #expect(!client.session.isOver && stage.get("/.json") == "null")
    for message in [
      "x", "{}", "[]", "null", #"{"t":"d"}"#, #"{"t":"d","d":{}}"#, #"{"t":"d","d":{"r":"x"}}"#,
      #"{"t":"e","d":{}}"#, #"{"t":"d","d":{"r":1.5,"a":"s"}}"#, "\u{0}", "{\"t\":\"d\",\"d\":{",
      String(repeating: "[", count: 3_000), "1234567",
    ] {
      let client = try SessionClient(stage)
      _ = try client.take()
      client.send(message)
      let messages = try client.take()
      #expect(messages.count == 1 && messages[0].hasPrefix(#"{"t":"c","d":{"t":"s","d":""#))
      #expect(client.session.isOver && !client.session.mayBeDue, "\(message.prefix(40))")
      client.send(message)
      client.session.end()
    }
    let flood = try SessionClient(stage)
    flood.send("999999")
    for _ in 0..<30 { flood.session.receive([UInt8](repeating: 0x20, count: 16_384)) }
    #expect(try flood.take().count == 2 && flood.session.isOver)
  }

  @Test func answersAndListensAreBounded() throws {
    let stage = try RealtimeStage()
    let client = try SessionClient(stage)
    var count = 0
    while client.session.acceptsInput, count < 100 {
      client.ask("s", "{}")
      count += 1
    }
    #expect(count == 15)
    try client.drain()
    #expect(client.session.acceptsInput)
    for index in 0..<RealtimeSession.listenLimit {
      client.ask("q", "{\"p\":\"/l/\(index)\",\"h\":\"\"}")
      try client.drain()
    }
    let last = client.ask("q", #"{"p":"/more","h":""}"#)
    try client.drain()
    #expect(client.statuses[last] == "failure" && client.statuses[last - 1] == "ok")
  }

  @Test func theEndOfASessionMakesItsWrites() throws {
    let stage = try RealtimeStage()
    _ = stage.ask("PUT", "/.json", #"{"keep": 1, "on": {"a": true, "b": true}, "n": 4}"#)
    let client = try SessionClient(stage)
    for (action, body) in [
      ("o", #"{"p":"/on/a","d":null}"#), ("o", #"{"p":"/on/b","d":null}"#),
      ("oc", #"{"p":"/on/b","d":null}"#), ("o", #"{"p":"/keep","d":2}"#),
      ("o", #"{"p":"/keep","d":3}"#), ("om", #"{"p":"/","d":{"x/y":1,"x/z":2}}"#),
      ("oc", #"{"p":"/x/z"}"#), ("o", #"{"p":"/n","d":{".sv":{"increment":2}}}"#),
    ] { client.ask(action, body) }
    try client.drain()
    #expect(client.isAnswered && Set(client.statuses.values) == ["ok"])
    let before = stage.store.newestCommit
    client.session.end()
    client.session.end()
    #expect(stage.get("/.json") == #"{"keep":3,"n":6,"on":{"b":true},"x":{"y":1}}"#)
    #expect(stage.store.newestCommit == before + 4)
    #expect(client.session.nextMessage() == nil && client.session.isOver)
  }

  @Test func rightsFollowTheToken() throws {
    let held = HeldToken()
    var options = RealtimeOptions()
    options.tokens = { $0 == "reader" && held.isValid ? LiveAccess(.read) : nil }
    let stage = try RealtimeStage(options: options)
    #expect(
      stage.setRules(
        #"{"rules": {"open": {".read": true, ".write": true}, "user": {".read": "auth != null"}}}"#
      ).status == 200)
    let client = try SessionClient(stage)
    func status(_ action: String, _ body: String) throws -> String? {
      let number = client.ask(action, body)
      try client.drain()
      return client.statuses[number]
    }
    #expect(try status("q", #"{"p":"/secret","h":""}"#) == "permission_denied")
    #expect(try status("p", #"{"p":"/secret","d":1}"#) == "permission_denied")
    #expect(try status("o", #"{"p":"/secret","d":1}"#) == "permission_denied")
    #expect(try status("auth", #"{"cred":"wrong"}"#) == "invalid_token")
    #expect(try status("gauth", #"{"cred":"reader"}"#) == "ok")
    #expect(try status("q", #"{"p":"/secret","h":""}"#) == "ok")
    #expect(try status("q", #"{"p":"/open","h":""}"#) == "ok")
    #expect(try status("p", #"{"p":"/open","d":1}"#) == "permission_denied")
    _ = try client.take()
    #expect(try status("unauth", "{}") == "ok")
    #expect(try client.take().first == #"{"t":"d","d":{"a":"c","b":{"p":"secret"}}}"#)
    #expect(try status("p", #"{"p":"/open","d":1}"#) == "ok")
    #expect(try status("gauth", #"{"cred":"reader"}"#) == "ok")
    // Rules that change end listens too.
    _ = stage.setRules(#"{"rules": {}}"#)
    #expect(try status("gauth", #"{"cred":"owner","noauth":true}"#) == "ok")
    #expect(try client.take().contains { $0.contains(#""a":"c","b":{"p":"open"}"#) })
    #expect(try status("gauth", #"{"cred":"reader"}"#) == "ok")
    _ = try client.take()
    held.withdraw()
    #expect(!client.session.mayBeDue)
    client.session.requestCheck()
    #expect(client.session.mayBeDue)
    let revoked = #"{"a":"ac","b":{"s":"invalid_token","d":"Could not parse auth token."}}"#
    #expect(try client.take() == ["{\"t\":\"d\",\"d\":\(revoked)}"] && client.session.isOver)
  }

  @Test func otherVersionsAreRefused() throws {
    let stage = try RealtimeStage()
    for target in ["/.ws", "/.ws?v=4", "/.ws?v=5&ns=", "/.ws?v=5&ns=a/b", "/.ws?v=5&ns=%ff"] {
      #expect(throws: RealtimeRefusal.self, "\(target)") {
        try stage.service.session(target: target, host: "h")
      }
    }
    let session = try stage.service.session(target: "/.ws?v=5&ns=chat&ls=x&p=1:2", host: "h")
    #expect(session.database.bucket == "rtdb/chat")
  }

  @Test func answersWaitForAnEarlierWriteThatHasNotEnded() throws {
    let stage = try RealtimeStage()
    let client = try SessionClient(stage)
    client.listen("l", target: "/l.json?format=export")
    try client.drain()
    let path = [try FirebaseKey("l"), try FirebaseKey("a")]
    let node = FirebaseNode(.scalar(1))
    // The commit is visible, but its writer has not said so yet.
    let commit = try stage.store.write { tx in
      try tx.put(node.json, for: Key(bytes: TreeKey.leaf(path)), in: .bytes("rtdb"))
      stage.service.recent.begin(
        WriteEffect(
          bucket: "rtdb", base: nil, writes: [NodeWrite(path: path, node: node)], byteCount: 9),
        as: tx.commit)
    }.commit
    let read = client.ask("g", #"{"p":"/l"}"#)
    client.put("l/b", 2)
    try client.drain()
    #expect(client.statuses.count == 1 && !client.session.mayBeDue)
    stage.service.recent.end(commit, isWritten: true)
    #expect(client.session.mayBeDue)
    try client.drain()
    #expect(client.isAnswered && client.early == [] && client.differences() == [])
    #expect(client.values[read] == client.tree["l"])
  }

  @Test func nothingIsLostBesideWritersOnOtherThreads() throws {
    let stage = try RealtimeStage()
    let done = Atomic(0)
    let failures = Mutex<[String]>([])
    let clients = try (0..<5).map { _ in try SessionClient(stage) }
    // Writers come first: there may be fewer threads than clients.
    DispatchQueue.concurrentPerform(iterations: clients.count) { thread in
      let client = clients[thread]
      defer { done.add(1, ordering: .releasing) }
      do {
        client.listen("l", target: "/l.json?format=export")
        client.listen(
          "m", query: #"{"i":".value","l":2,"vf":"l"}"#,
          target: "/m.json?format=export&orderBy=\"$value\"&limitToFirst=2", tag: 1)
        try client.drain()
        for number in 0..<(thread < 3 ? 200 : 0) {
          if number % 2 == 0 {
            client.put("l/k\(thread)\(number % 3)", number)
          } else {
            client.ask("p", "{\"p\":\"/m/k\(thread)\(number % 3)\",\"d\":\(number)}")
          }
          while !client.isAnswered { try client.drain() }
        }
        while thread >= 3, done.load(ordering: .acquiring) < 3 { try client.drain() }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    for client in clients {
      try client.drain()
      #expect(client.differences() == [] && client.isAnswered)
      #expect(client.early == [], "These writes were answered before their events.")
    }
    #expect(failures.withLock { $0 } == [])
  }
}

/// A token that can be withdrawn.
private final class HeldToken: Sendable {
  private let state = Mutex(true)
  var isValid: Bool { state.withLock { $0 } }
  func withdraw() { state.withLock { $0 = false } }
}
