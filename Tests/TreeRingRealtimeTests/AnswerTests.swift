// Requests and their answers: conditions, formats, server values, credentials, and mistakes.

import Foundation
import TestSupport
import Testing
import TreeRing

@testable import TreeRingFirebase
@testable import TreeRingLive
@testable import TreeRingRealtime

@Suite struct AnswerTests {
  @Test func writesAnswerWithWhatWasSent() throws {
    let stage = try RealtimeStage()
    let table: [(String, String, String, String)] = [
      (
        "PUT", "/a.json", " {\"b\": [1, null, \"x\"], \"c\": {}} \n",
        "{\"b\": [1, null, \"x\"], \"c\": {}}"
      ),
      ("GET", "/a.json", "", "{\"b\":[1,null,\"x\"]}"),
      ("GET", "/a/.json", "", "{\"b\":[1,null,\"x\"]}"),
      ("GET", "/a/b/2.json", "", "\"x\""), ("GET", "/zzz.json", "", "null"),
      ("PATCH", "/a.json", "{\"d/e\": 2, \"b\": null}", "{\"d/e\": 2, \"b\": null}"),
      ("GET", "/.json", "", "{\"a\":{\"d\":{\"e\":2}}}"),
      ("POST", "/p.json?print=silent", "\"\"", ""),
      ("GET", "/a.json?print=pretty", "", "{\n  \"d\" : {\n    \"e\" : 2\n  }\n}"),
      ("GET", "/a.json?shallow=true", "", "{\"d\":true}"),
      ("GET", "/a/d/e.json?shallow=true", "", "2"),
      ("PUT", "/q.json?print=pretty", "{ \"a\" : 1 }", "{\n  \"a\" : 1\n}"),
      ("DELETE", "/q.json", "", "null"),
      ("GET", "/a/d.json?callback=show", "", "/**/show({\"e\":2});"),
      ("PUT", "/a/d/.priority.json", "5", "5"), ("GET", "/a/d/.priority.json", "", "5"),
      ("GET", "/a.json?format=export", "", "{\"d\":{\".priority\":5,\"e\":2}}"),
      ("PUT", "/a/d/e/f.json", "1", "1"), ("GET", "/a/d.json", "", "{\"e\":{\"f\":1}}"),
      ("PUT", "/n.json", "{\".sv\": {\"increment\": 2}}", "2"),
      ("PATCH", "/n.json?x-http-method-override=PUT", "3", "{\"error\""),
      ("POST", "/n.json?x-http-method-override=PUT", "{\".sv\":{\"increment\":1.5}}", "3.5"),
      ("DELETE", "/a.json", "", "null"), ("GET", "/a.json", "", "null"),
      ("GET", "/.info/connected.json", "", "true"),
      ("GET", "/.info/serverTimeOffset.json", "", "0"),
      ("PUT", "/x.json?ns=other", "1", "1"), ("GET", "/x.json", "", "null"),
      ("GET", "/x.json?ns=other", "", "1"),
    ]
    for (method, target, body, expected) in table {
      let answer = stage.ask(method, target, body)
      #expect(
        answer.text == expected || expected == "{\"error\"" && answer.text.hasPrefix(expected),
        "\(method) \(target): \(answer.status) \(answer.text)")
    }
    let posted = try FirebaseNode(json: stage.get("/p.json").utf8)
    #expect(posted.children.map(\.node.text) == [""])
    let file = stage.ask("GET", "/n.json?download=a/b\"c.json")
    #expect(file.header("Content-Disposition") == "attachment; filename=\"a_b_c.json\"")
    #expect(stage.ask("GET", "/n.json").contentType == "application/json; charset=utf-8")
  }

  @Test func eachWriteIsACommitWithHistory() throws {
    let stage = try RealtimeStage()
    for value in 1...5 { _ = stage.ask("PUT", "/a/b.json", "{\"n\": \(value), \"same\": 1}") }
    _ = stage.ask("PUT", "/a/b.json", "{\"n\": 5, \"same\": 1}")
    _ = stage.ask("DELETE", "/nothing.json")
    #expect(stage.store.newestCommit == 5)
    #expect(stage.get("/a/b/n.json?at=3") == "3")
    #expect(stage.get("/a/b/n.json?at=-1") == "4")
    #expect(stage.get("/a.json?at=0") == "null")
    let (info, operations) = try stage.store.operations(of: 3)
    #expect(info.note == "PUT /a/b" && operations.count == 1)
    #expect(try stage.store.history(of: "/a b n", in: "rtdb").count == 5)
  }

  @Test func serverValuesComeFromTheTree() throws {
    let stage = try RealtimeStage()
    let before = RequestContext.now
    let answer = stage.ask(
      "PUT", "/a.json",
      #"{"t": {".sv": "timestamp"}, "n": {".value": 1, ".priority": {".sv": "timestamp"}}}"#)
    let node = try FirebaseNode(json: answer.body)
    let time = try #require(node["t"].number)
    #expect(time >= before && time <= RequestContext.now)
    let export = try FirebaseNode(json: stage.get("/a.json?format=export").utf8)
    #expect(export["n"].priority == .number(time))
    let sum = stage.ask("PATCH", "/a.json", #"{"n": {".sv": {"increment": 4}}, "m": 1}"#)
    #expect(sum.text == #"{"n":5,"m":1}"#)
    for bad in [
      "{\".sv\": \"date\"}", "{\".sv\": {\"increment\": \"1\"}}", "{\".sv\": {}}", "{\".sv\": 1}",
    ] {
      #expect(stage.ask("PUT", "/b.json", bad).status == 400, "\(bad)")
    }
  }

  @Test func conditionsHoldOrAnswerWithTheCurrentValue() throws {
    let stage = try RealtimeStage()
    let ask = [("X-Firebase-ETag", "true")]
    let absent = stage.ask("GET", "/a.json", headers: ask)
    #expect(absent.header("ETag") == "null_etag" && absent.text == "null")
    let written = stage.ask(
      "PUT", "/a.json", "{\"x\": 1}", headers: ask + [("If-Match", "null_etag")])
    let tag = try #require(written.header("ETag"))
    #expect(written.status == 200 && tag.utf8.count == 28)
    #expect(stage.ask("GET", "/a.json", headers: ask).header("ETag") == tag)
    // Equal values have equal tags, in whatever form they were written.
    _ = stage.ask("PUT", "/b.json", "{\"y\": null, \"x\": 1.0}")
    #expect(stage.ask("GET", "/b.json", headers: ask).header("ETag") == tag)
    let missed = stage.ask("PUT", "/a.json", "2", headers: [("if-match", "null_etag")])
    #expect(missed.status == 412 && missed.text == "{\"x\":1}" && missed.header("ETag") == tag)
    #expect(stage.ask("DELETE", "/a.json", headers: [("if-match", "other")]).status == 412)
    let same = stage.ask("GET", "/a.json", headers: [("if-none-match", tag)])
    #expect(same.status == 304 && same.body.isEmpty)
    let gone = stage.ask("DELETE", "/a.json", headers: ask + [("if-match", tag)])
    #expect(gone.status == 200 && gone.text == "null" && gone.header("ETag") == "null_etag")
    #expect(stage.ask("POST", "/a.json", "1", headers: ask).header("ETag") != nil)
    let refused: [(String, String, [(String, String)])] = [
      ("GET", "/a.json", [("if-match", tag)]), ("POST", "/a.json", [("if-match", tag)]),
      ("PATCH", "/a.json", [("if-match", tag)]), ("PATCH", "/a.json", ask),
      ("PUT", "/a.json?print=silent", [("if-match", tag)]),
      ("PUT", "/a.json", [("if-match", "a, b")]),
    ]
    for (method, target, headers) in refused {
      #expect(stage.ask(method, target, "{\"x\": 1}", headers: headers).status == 400, "\(method)")
    }
  }

  @Test func badRequestsAreRefused() throws {
    let stage = try RealtimeStage()
    let long = String(repeating: "k", count: 769)
    let deep = "/" + Array(repeating: "d", count: 33).joined(separator: "/")
    let nested = String(repeating: "{\"a\":", count: 33) + "1" + String(repeating: "}", count: 33)
    let table: [(String, String, String, Int, String)] = [
      ("GET", "/a", "", 404, "Append .json"),
      ("GET", "/a.json?x=1", "", 400, "query parameters: x"),
      ("GET", "/a.json?startAt=1", "", 400, "orderBy must be defined when other"),
      ("GET", "/a.json?limitToLast=1", "", 400, "orderBy must be defined"),
      ("GET", "/a.json?orderBy=x", "", 400, "valid JSON encoded path"),
      ("GET", "/a.json?orderBy=\"a.b\"", "", 400, "valid JSON encoded path"),
      ("GET", "/a.json?orderBy=\"\"", "", 400, "valid JSON encoded path"),
      ("GET", "/a.json?orderBy=\"x\"&startAt=[1]", "", 400, "JSON primitive"),
      ("GET", "/a.json?orderBy=\"x\"&startAt=1e999", "", 400, "JSON primitive"),
      ("GET", "/a.json?orderBy=\"$key\"&startAt=5", "", 400, "must be string"),
      ("GET", "/a.json?orderBy=\"$key\"&startAt=\"a.b\"", "", 400, "no child can have"),
      ("GET", "/a.json?orderBy=\"$key\"&limitToFirst=x", "", 400, "must be an integer"),
      ("GET", "/a.json?orderBy=\"$key\"&limitToFirst=0", "", 400, "must be positive"),
      ("GET", "/a.json?orderBy=\"$key\"&limitToFirst=99999999999999999999", "", 400, "integer"),
      ("GET", "/a.json?orderBy=\"$key\"&limitToFirst=1&limitToLast=1", "", 400, "Only one of"),
      ("GET", "/a.json?orderBy=\"x\"&equalTo=1&startAt=1", "", 400, "equalTo cannot"),
      ("GET", "/a.json?orderBy=\"x\"&startAfter=1&startAt=1", "", 400, "Only one of"),
      ("GET", "/a.json?orderBy=\"x\"&orderBy=\"y\"", "", 400, "only be specified once"),
      ("GET", "/a.json?orderBy=\"$key\"&shallow=true", "", 400, "shallow cannot"),
      ("GET", "/a.json?shallow=1", "", 400, "true or false"),
      ("GET", "/a.json?print=x", "", 400, "print"),
      ("GET", "/a.json?timeout=16min", "", 400, "timeout"),
      ("GET", "/a.json?timeout=0s", "", 400, "timeout"),
      ("GET", "/a.json?timeout=3", "", 400, "timeout"),
      ("GET", "/a.json?timeout=nans", "", 400, "timeout"),
      ("GET", "/a.json?at=99", "", 400, "99"), ("GET", "/a.json?at=x", "", 400, "point in history"),
      ("PUT", "/a.json?at=0", "1", 400, "at needs"), ("GET", "/a.json?ns=a/b", "", 400, "ns must"),
      ("GET", "/a.json?callback=a(b", "", 400, "callback"), ("GET", "/%zz.json", "", 400, "escape"),
      ("GET", "/%ff.json", "", 400, "UTF-8"), ("GET", "/a.json?auth=%ff", "", 400, "UTF-8"),
      ("PUT", "/a.json", "", 400, "No data supplied"),
      ("PUT", "/a.json", "{", 400, "couldn't parse JSON"),
      ("PUT", "/a.json", "{\"a.b\": 1}", 400, "couldn't parse JSON"),
      ("PUT", "/a.json", "{\"a/b\": 1}", 400, "couldn't parse JSON"),
      ("PUT", "/a.json", "{\"\": 1}", 400, "couldn't parse JSON"),
      ("PUT", "/a.json", "1e999", 400, "double"),
      ("PUT", "/a.json", nested, 400, "nested deeper"), ("PUT", deep + ".json", "1", 400, "levels"),
      ("PUT", "/a.json", "{\"\(long)\": 1}", 400, "no key"),
      ("PUT", "/\(long).json", "1", 400, "768"),
      ("PUT", "/a/b$c.json", "1", 400, "key"),
      ("PUT", "/a.json", "{\".value\": 1, \"b\": 2}", 400, "both"),
      ("PATCH", "/a.json", "[1]", 400, "couldn't parse JSON object."),
      ("PATCH", "/a.json", "5", 400, "object."),
      ("PATCH", "/a.json", "{\"b\": 1, \"b/c\": 2}", 400, "above another"),
      ("PATCH", "/a.json", "{\"\": 1}", 400, "object."),
      ("PUT", "/a/.priority.json", "true", 400, "priority"),
      ("PUT", "/.info/connected.json", "false", 401, "Permission denied"),
      ("PUT", "/a.json", String(repeating: "[", count: 1_000_000), 400, "couldn't parse"),
      ("PUT", "/a.json", String(repeating: "{\"a\":", count: 300_000), 400, "couldn't parse"),
      (
        "PUT", "/.settings/rules.json?auth=owner", String(repeating: "[", count: 1_000_000), 400,
        "no JSON"
      ),
      ("BREW", "/a.json", "", 405, "BREW"),
      ("PUT", "/a.json?writeSizeLimit=big", "1", 400, "writeSizeLimit"),
      (
        "PUT", "/a.json?writeSizeLimit=tiny", "\"\(String(repeating: "x", count: 2 << 20))\"", 400,
        "maximum size"
      ),
      ("PUT", "/a.json", "\"\(String(repeating: "x", count: 11 << 20))\"", 400, "maximum size"),
      ("PUT", "/a.json?orderBy=\"$key\"", "1", 400, "orderBy"),
      ("GET", "/a.json?auth_variable_override=x", "", 400, "JSON"),
      ("GET", "/a.json?auth=abc", "", 401, "Could not parse auth token"),
      ("GET", "/a.json?auth_variable_override={}", "", 401, "Permission denied"),
    ]
    for (method, target, body, status, part) in table {
      let answer = stage.ask(method, target, body)
      let error = try? JSONValue(answer.body).members?["error"]?.string
      #expect(
        answer.status == status && error?.contains(part) == true,
        "\(method) \(target.prefix(80)): \(answer.status) \(answer.text.prefix(200))")
    }
    #expect(stage.store.newestCommit == 0)
    // Keys of more than a row's key together.
    let part = String(repeating: "p", count: 700)
    #expect(stage.ask("PUT", "/\(part)/\(part).json", "1").status == 400)
    #expect(stage.ask("GET", "/\(part)/\(part).json").status == 200)
  }

  @Test func randomRequestsNeverTrap() throws {
    let stage = try RealtimeStage()
    _ = stage.setRules(
      #"{"rules": {".read": true, ".write": true, "$a": {".validate": "newData.val() != $a"}}}"#)
    let pieces = [
      "/", "a", ".json", "?", "orderBy=", "\"$key\"", "\"a\"", "&", "startAt=", "limitToFirst=",
      "1", "%", "%00", "%2F", ".priority", ".value", ".settings", "/rules", ".info", "ns=", "at=",
      "-",
      "tag:x", "=", "+", "format=export", "shallow=true", "{\".sv\":", "\"timestamp\"}", "[", "]",
      "{", "}", "null", ":", ",", "\"", "\\u0000", "\\ud800", "😀", "1e308", "auth=", "e30.e30.",
    ]
    for seed in seeds(1...300) {
      var random = SeededGenerator(seed: seed)
      func text() -> String {
        (0..<Int.random(in: 0...8, using: &random)).map { _ in random.pick(pieces) }.joined()
      }
      let answer = stage.ask(
        random.pick(["GET", "PUT", "PATCH", "POST", "DELETE"]), "/" + text(), text(),
        headers: random.chance(2) ? RealtimeStage.owner : [("if-match", text())])
      #expect(
        [200, 204, 400, 401, 404, 412].contains(answer.status), "seed \(seed): \(answer.text)")
      _ = try? stage.service.stream(stage.request("GET", "/" + text())).nextMessage()
    }
  }

  // MARK: - Credentials

  private func token(_ claims: String) -> String {
    [#"{"alg":"none"}"#, claims].map {
      Data($0.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        .replacing("=", with: "")
    }.joined(separator: ".") + "."
  }

  @Test func tokensStandAboveTheRulesAndUnsignedOnesBelowThem() throws {
    var options = RealtimeOptions()
    options.tokens = { token in
      switch token {
      case "admin-token-123456": LiveAccess(.admin)
      case "write-token-123456": LiveAccess(.write)
      case "read-token-1234567": LiveAccess(.read)
      case "other-token-123456": LiveAccess(.admin, buckets: ["x"])
      default: nil
      }
    }
    let rules =
      #"{"rules": {"u": {"$u": {".read": "auth.uid == $u && auth.token.email == 'a@b'"}}}}"#
    let ann = token(#"{"sub":"ann","email":"a@b","exp":99999999999}"#)
    let old = token(#"{"sub":"ann","exp":1}"#)
    let forged = ann.replacing("none", with: "none") + "x"
    let table: [(String, String?, String, Int, Int)] = [
      ("GET", "admin-token-123456", "/a.json", 200, 200),
      ("PUT", "admin-token-123456", "/a.json", 200, 200),
      ("PUT", "write-token-123456", "/a.json", 200, 200),
      ("GET", "read-token-1234567", "/a.json", 200, 200),
      ("PUT", "read-token-1234567", "/a.json", 401, 401),
      ("GET", "other-token-123456", "/a.json", 401, 401),
      ("PUT", "write-token-123456", "/.settings/rules.json", 401, 401),
      ("GET", nil, "/a.json", 401, 401),
      ("GET", "owner", "/a.json", 200, 401), ("GET", ann, "/u/ann.json", 200, 401),
      ("GET", ann, "/u/bob.json", 401, 401), ("GET", old, "/u/ann.json", 401, 401),
      ("GET", forged, "/u/ann.json", 200, 401), ("GET", "unknown", "/a.json", 401, 401),
    ]
    for (isEmulator, column) in [(true, \(String, String?, String, Int, Int).3), (false, \.4)] {
      let stage = try RealtimeStage(isEmulator: isEmulator, options: options)
      let admin = [("Authorization", "Bearer admin-token-123456")]
      #expect(stage.ask("PUT", "/.settings/rules.json", rules, headers: admin).status == 200)
      for row in table {
        let (method, credential, target) = (row.0, row.1, row.2)
        let byHeader = stage.ask(
          method, target, "1", headers: credential.map { [("authorization", "Bearer \($0)")] } ?? []
        )
        let byQuery = stage.ask(method, target + (credential.map { "?auth=\($0)" } ?? ""), "1")
        let expected = row[keyPath: column]
        #expect(
          byHeader.status == expected && byQuery.status == expected,
          "\(row) \(isEmulator): \(byHeader.text)")
      }
    }
    // Without rules, and without the emulator's manners, all is closed.
    #expect(try RealtimeStage(isEmulator: false).ask("GET", "/.json").status == 401)
  }
}
