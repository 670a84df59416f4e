// The events of streams: their form, their order, and their end.

import Foundation
import TestSupport
import Testing
import TreeRing
import TreeRingPlatform

@testable import TreeRingFirebase
@testable import TreeRingLive
@testable import TreeRingRealtime

@Suite struct StreamTests {
  private func client(
    _ stage: RealtimeStage, _ target: String, _ headers: [(String, String)] = []
  ) throws -> FoldingClient {
    FoldingClient(try stage.service.stream(stage.request("GET", target, "", headers)))
  }

  @Test func writesComeAsTheyWereMade() throws {
    let stage = try RealtimeStage()
    _ = stage.ask("PUT", "/users/ann.json", #"{"name": "Ann"}"#)
    let users = try client(stage, "/users.json")
    let name = try client(stage, "/users/ann/name.json")
    #expect(try users.take() == [#"put {"path":"/","data":{"ann":{"name":"Ann"}}}"#])
    #expect(try name.take() == [#"put {"path":"/","data":"Ann"}"#])
    _ = stage.ask("PUT", "/users/bob.json", #"{"name": "Bob"}"#)
    _ = stage.ask("PUT", "/users/ann.json", #"{"name": "Ann", "age": 3}"#)
    _ = stage.ask("PATCH", "/users/ann.json", #"{"age": null, "pet/name": "Cat"}"#)
    _ = stage.ask("PATCH", "/.json", #"{"users/ann/name": "A", "other": 1}"#)
    _ = stage.ask("DELETE", "/users/bob.json")
    _ = stage.ask("PUT", "/elsewhere.json", "1")
    _ = stage.ask("PUT", "/.json", #"{"users": {"cyd": 1}}"#)
    #expect(
      try users.take() == [
        #"put {"path":"/bob","data":{"name":"Bob"}}"#,
        #"put {"path":"/ann","data":{"age":3,"name":"Ann"}}"#,
        #"patch {"path":"/ann","data":{"age":null,"pet/name":"Cat"}}"#,
        #"patch {"path":"/","data":{"ann/name":"A"}}"#, #"put {"path":"/bob","data":null}"#,
        #"put {"path":"/","data":{"cyd":1}}"#,
      ])
    #expect(
      try name.take() == [
        #"put {"path":"/","data":"Ann"}"#, #"put {"path":"/","data":"A"}"#,
        #"put {"path":"/","data":null}"#,
      ])
  }

  @Test func aSlowClientGetsOneEvent() throws {
    let stage = try RealtimeStage()
    let slow = try client(stage, "/list.json")
    _ = try slow.take()
    for number in 1...500 {
      _ = stage.ask("PUT", "/list/k\(number % 7).json", "\(number)")
      _ = stage.ask("PUT", "/other.json", "\(number)")
    }
    let events = try slow.take()
    #expect(events.count == 1 && events[0].hasPrefix("patch"))
    #expect(String(decoding: slow.node.json, as: UTF8.self) == stage.get("/list.json"))
  }

  @Test(arguments: ["", "?orderBy=\"$key\"&limitToLast=9"])
  func aClientThatMissedCompactedCommitsGetsEverything(query: String) throws {
    let stage = try RealtimeStage()
    let client = try client(stage, "/list.json\(query)")
    _ = try client.take()
    // Another program writes, so this service does not keep the writes.
    let other = RealtimeService(stage.store, isWritable: true, options: stage.service.options)
    for number in 1...3 {
      let request = stage.request("PUT", "/list/k\(number).json", "\(number)")
      #expect(other.answer(request).status == 200)
    }
    _ = try stage.store.compact(to: .dropHistory)
    let events = try client.take()
    #expect(events.count == 1 && !events[0].hasPrefix("cancel"), "\(events)")
    #expect(!client.reader.isOver)
    #expect(String(decoding: client.node.json, as: UTF8.self) == stage.get("/list.json"))
    _ = stage.ask("PUT", "/list/k4.json", "4")
    #expect(try client.take() == [#"put {"path":"/k4","data":4}"#])
  }

  @Test func eventsAndConditionsReadNoMoreThanTheBound() throws {
    var options = RealtimeOptions()
    options.responseByteCount = 1_000
    let stage = try RealtimeStage(options: options)
    let client = try client(stage, "/list.json")
    _ = try client.take()
    let text = String(repeating: "x", count: 90)
    for number in 1...9 { _ = stage.ask("PUT", "/list/k\(number).json", "\"\(text)\"") }
    #expect(try client.take().count == 9 && !client.reader.isOver)
    // So many writes that they come as one event.
    for number in 1...40 {
      _ = stage.ask("PUT", "/list/k\(number % 20).json", "\"\(text)\(number)\"")
    }
    #expect(try client.take().first?.hasPrefix("cancel \"Data requested exceeds") == true)
    #expect(client.reader.isOver)
    let missed = stage.ask("PUT", "/list.json", "1", headers: [("if-match", "wrong")])
    #expect(missed.status == 400 && missed.text.contains("Data requested exceeds"))
  }

  @Test func streamsLoseNothingBesideWritersOnOtherThreads() throws {
    let stage = try RealtimeStage()
    let targets = [
      "/l.json", "/l/k1.json", "/l.json?orderBy=\"$key\"&limitToLast=3",
      "/l.json?orderBy=\"$value\"&limitToFirst=2",
    ]
    let done = Atomic(0)
    let nodes = Mutex<[String: FirebaseNode]>([:])
    DispatchQueue.concurrentPerform(iterations: 7) { thread in
      if thread < 3 {
        var random = SeededGenerator(seed: UInt64(thread))
        for number in 0..<400 {
          let key = "k\(Int.random(in: 0..<6, using: &random))"
          switch number % 4 {
          case 0: _ = stage.ask("PATCH", "/l.json", "{\"\(key)/a\": \(number), \"x\(thread)\": 1}")
          case 1: _ = stage.ask("DELETE", "/l/\(key).json")
          case 2: _ = stage.ask("PUT", "/other.json", "\(number)")
          default: _ = stage.ask("PUT", "/l/\(key).json", "\(number)")
          }
          // A commit of another program in between.
          if number % 50 == 0 { _ = try? stage.store.write { try $0.tag("t", commit: 1) } }
        }
        done.add(1, ordering: .releasing)
      } else {
        let target = targets[thread - 3]
        guard let client = try? client(stage, target) else { return }
        while done.load(ordering: .acquiring) < 3 { try? client.drain() }
        try? client.drain()
        nodes.withLock { $0[target] = client.node }
      }
    }
    for target in targets {
      let folded = nodes.withLock { $0[target] }.map { String(decoding: $0.json, as: UTF8.self) }
      #expect(folded == stage.get(target), "\(target)")
    }
  }

  @Test func queriesAreWindows() throws {
    let stage = try RealtimeStage()
    for number in 1...4 {
      _ = stage.ask("PUT", "/l/k\(number).json", #"{"n": \#(number), "t": 0}"#)
    }
    let window = try client(stage, "/l.json?orderBy=\"n\"&limitToLast=2")
    #expect(
      try window.take() == [#"put {"path":"/","data":{"k3":{"n":3,"t":0},"k4":{"n":4,"t":0}}}"#])
    _ = stage.ask("PUT", "/l/k1/t.json", "1")
    #expect(try window.take() == [])
    _ = stage.ask("PUT", "/l/k4/t.json", "1")
    #expect(try window.take() == [#"put {"path":"/k4/t","data":1}"#])
    _ = stage.ask("PUT", "/l/k5.json", #"{"n": 5}"#)
    #expect(try window.take() == [#"patch {"path":"/","data":{"k3":null,"k5":{"n":5}}}"#])
    _ = stage.ask("DELETE", "/l.json")
    let last = try window.take()
    #expect(last.count == 1 && !window.node.exists)
  }

  @Test func permissionsEndStreams() throws {
    let stage = try RealtimeStage()
    let open = #"{"rules": {".write": true, "a": {".read": "root.child('ok').val() == true"}}}"#
    _ = stage.ask("PUT", "/.json", #"{"ok": true, "a": 1}"#)
    #expect(stage.setRules(open).status == 200)
    let byData = try client(stage, "/a.json")
    #expect(try byData.take().count == 1)
    let byRules = try client(stage, "/a.json")
    #expect(try byRules.take().count == 1)
    _ = stage.ask("PUT", "/ok.json", "false", headers: RealtimeStage.owner)
    #expect(try byData.take() == [#"cancel "Permission denied""#])
    #expect(byData.reader.isOver && !byData.reader.mayBeDue)
    _ = stage.ask("PUT", "/ok.json", "true", headers: RealtimeStage.owner)
    _ = stage.setRules(#"{"rules": {}}"#)
    #expect(try byRules.take() == [#"cancel "Permission denied""#])
    #expect(throws: RealtimeRefusal.self) { try client(stage, "/a.json") }
  }

  @Test func withdrawnTokensAreRevoked() throws {
    var options = RealtimeOptions()
    let held = Held()
    options.tokens = { _ in held.isValid ? LiveAccess(.read) : nil }
    let stage = try RealtimeStage(isEmulator: false, options: options)
    let reader = try client(stage, "/a.json?auth=some-token")
    #expect(try reader.take() == [#"put {"path":"/","data":null}"#])
    reader.reader.requestKeepAlive()
    #expect(try reader.take() == ["keep-alive null"])
    held.withdraw()
    reader.reader.requestKeepAlive()
    #expect(try reader.take() == ["auth_revoked credential is no longer valid"])
    #expect(reader.reader.isOver)
  }

  @Test func streamsThatCannotBeAreRefused() throws {
    let stage = try RealtimeStage()
    for target in [
      "/a", "/a.json?shallow=true", "/a.json?at=0", "/a.json?print=silent", "/a/.priority.json",
      "/.settings/rules.json", "/a.json?callback=f", "/a.json?startAt=1", "/.info.json",
    ] {
      #expect(throws: RealtimeRefusal.self, "\(target)") { try client(stage, target) }
    }
    let info = try client(stage, "/.info/connected.json")
    #expect(try info.take() == [#"put {"path":"/","data":true}"#])
    _ = stage.ask("PUT", "/a.json", "1")
    #expect(try info.take() == [])
  }
}

/// A token that can be withdrawn.
private final class Held: Sendable {
  private let state = Mutex(true)
  var isValid: Bool { state.withLock { $0 } }
  func withdraw() { state.withLock { $0 = false } }
}
