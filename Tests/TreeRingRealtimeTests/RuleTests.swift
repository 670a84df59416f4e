// The language of rules, and the decisions of rules.

import TestSupport
import Testing
import TreeRing

@testable import TreeRingFirebase
@testable import TreeRingLive
@testable import TreeRingRealtime

@Suite struct RuleTests {
  private static let data = """
    {"users": {"ann": {"name": "Ann", "age": 30, "admin": true}, "bob": {"name": "Bob"}},
     "n": 5, "text": "Hello", "yes": true, "empty": "", "list": ["a", "b"]}
    """

  /// The value of an expression with `data` and `root` above, `newData` at /n as 7, and `auth` of
  /// the user ann; nil for a fault.
  private func value(_ text: String) throws -> Bool? {
    let stage = try RealtimeStage()
    #expect(stage.ask("PUT", "/.json", Self.data).status == 200)
    let tree = TreeReader(source: try stage.store.snapshot(), bucket: "rtdb")
    let write = NodeWrite(path: [try FirebaseKey("n")], node: try FirebaseNode(json: "7".utf8))
    let after = OverlaidSource(base: tree, writes: [write])
    let auth = try JSONValue(
      Array(#"{"uid":"ann","token":{"email":"a@x.org","roles":["x","y"],"level":3}}"#.utf8))
    let scope = RuleEvaluator.Scope(
      auth: auth, now: 1_000, root: RuleData(source: tree, path: []),
      data: RuleData(source: tree, path: []), newData: RuleData(source: after, path: []),
      captures: ["$id": "bob"])
    let expression = try RuleParser.parse(text, captures: ["$id"], isWrite: true)
    do {
      guard case .bool(let value) = try RuleEvaluator().value(expression, scope) else { return nil }
      return value
    } catch is RuleFault {
      return nil
    }
  }

  @Test func expressionsHaveTheirValues() throws {
    let table: [(String, Bool?)] = [
      ("true", true), ("!true", false), ("1 + 2 * 3 == 7", true), ("(1 + 2) * 3 == 9", true),
      ("7 % 4 == 3 && -2 < -1", true), ("'a' + 'b' == 'ab'", true), ("'a' + 1 == 'a1'", true),
      ("1 == '1'", false), ("null == null", true), ("1 < 2 === true", true),
      ("1 > 2 || 2 >= 2", true), ("true ? false : true", false), ("'b' > 'a'", true),
      ("1e3 === 1000", true), ("\"x\" != 'y'", true), ("1 < 'a'", nil), ("null < 1", nil),
      ("auth != null", true), ("auth.uid == 'ann'", true), ("auth['uid'] === 'ann'", true),
      ("auth.token.level > 2", true), ("auth.missing.deeper == null", true),
      ("auth.token.roles[0] == 'x'", nil), ("auth.token.roles['1'] == 'y'", true),
      ("now == 1000", true), ("$id == 'bob'", true), ("$id.length == 3", true),
      ("data.exists()", true), ("data.child('n').val() == 5", true),
      ("data.child('users/ann/name').val() == 'Ann'", true),
      ("data.child('users').child($id).exists()", true),
      ("data.child('users/ann').parent().hasChild('bob')", true), ("data.parent().exists()", nil),
      ("data.child('users').val().ann.age == 30", true),
      ("data.child('users').val() == null", false),
      ("data.child('zzz').val() == null", true), ("data.child('zzz').exists()", false),
      ("data.hasChildren()", true), ("data.child('n').hasChildren()", false),
      ("data.hasChildren(['n', 'text'])", true), ("data.hasChildren(['n', 'zzz'])", false),
      ("data.hasChildren([])", nil), ("data.child('n').isNumber()", true),
      ("data.child('n').isString()", false), ("data.child('text').isString()", true),
      ("data.child('yes').isBoolean()", true), ("data.child('list').isString()", false),
      ("data.child('n').getPriority() == null", true), ("data.child('a.b').exists()", nil),
      ("newData.child('n').val() == 7", true),
      ("newData.child('n').val() > data.child('n').val()", true),
      ("newData.child('text').val() == 'Hello'", true),
      ("newData.hasChildren(['n', 'users'])", true),
      ("root.child('users/' + auth.uid + '/admin').val() === true", true),
      ("'hello'.contains('ell')", true), ("'hello'.beginsWith('he')", true),
      ("'hello'.endsWith('lo')", true), ("'a-b-c'.replace('-', '+') == 'a+b+c'", true),
      ("'Ab'.toLowerCase() + 'Ab'.toUpperCase() == 'abAB'", true), ("'äö'.length == 2", true),
      ("'hello'.matches(/^h.*o$/)", true), ("'HELLO'.matches(/hello/i)", true),
      ("data.child('text').val().matches(/^[A-Z][a-z]{4}$/)", true),
      ("data.child('n').val().length == 1", nil), ("auth.uid.foo == 1", nil), ("1 / 0 > 5", true),
    ]
    for (text, expected) in table { #expect(try value(text) == expected, "\(text)") }
  }

  @Test func mistakesHaveTheirPlaces() {
    let table: [(String, Int)] = [
      ("", 0), ("1", 0), ("'a'", 0), ("data", 0), ("true true", 5), ("foo == 1", 0),
      ("$other == 1", 0), ("data.foo", 5), ("data.foo()", 5), ("data == null", 0),
      ("1 && true", 0), ("true && 'a'", 8), ("!1", 1), ("data.child()", 5),
      ("data.child(1)", 11), ("'a'.matches('a')", 12), ("'a'.matches(/(/)", 12),
      ("'a'.matches(/a{2000}/)", 12), ("'a'.matches(/(?=a)/)", 12), ("(true", 5), ("'abc", 0),
      ("true ? 1", 8), ("true # false", 5), ("now.foo", 4), ("query.orderByKey", 0),
      ("data.exists( || true", 13), ("'a' - 1 == 2", 0), ("auth.", 5), ("auth.uid.", 9),
    ]
    for (text, offset) in table {
      do {
        _ = try RuleParser.parse(text, captures: ["$id"], isWrite: true)
        Issue.record("“\(text)” has a mistake")
      } catch {
        #expect(error.offset == offset, "\(text): \(error)")
      }
    }
    let deep = String(repeating: "(", count: 10_000)
    #expect(throws: RuleError.self) {
      try RuleParser.parse(deep, captures: [], isWrite: false)
    }
    #expect(throws: RuleError.self) {
      try RuleParser.parse(String(repeating: "!", count: 10_000), captures: [], isWrite: false)
    }
  }

  @Test func longExpressionsAreBounded() throws {
    #expect(
      try value(Array(repeating: "1", count: 900).joined(separator: " + ") + " == 900") == true)
    #expect(try value("auth" + String(repeating: ".x", count: 900) + " == null") == true)
    for part in ["true && ", "1 + ", "auth.x."] {
      #expect(throws: RuleError.self) {
        try RuleParser.parse(
          String(repeating: part, count: 5_000) + "1 == 1", captures: [], isWrite: false)
      }
    }
    #expect(throws: PatternError.self) {
      try RulePattern("((((){1000}){1000}){1000}){1000}", ignoresCase: false)
    }
  }

  @Test func manyWritesAtOnceAreCheckedInLinearTime() throws {
    let stage = try RealtimeStage()
    let rules = #"{"rules": {"l": {".validate": "newData.hasChildren()", "$k": {".write": true}}}}"#
    #expect(stage.setRules(rules).status == 200)
    let keys = (0..<5_000).map { "\"k\($0)\"" }
    let put = keys.map { "\($0): 1" }.joined(separator: ",")
    #expect(stage.ask("PATCH", "/l.json", "{\(put)}").status == 200)
    let delete = keys.dropFirst().map { "\($0): null" }.joined(separator: ",")
    #expect(stage.ask("PATCH", "/l.json", "{\(delete)}").status == 200)
    #expect(stage.ask("GET", "/l.json", headers: RealtimeStage.owner).text == "{\"k0\":1}")
  }

  @Test func patternsMatchInLinearTime() throws {
    let table: [(String, String, Bool)] = [
      ("a", "cat", true), ("^a", "cat", false), ("t$", "cat", true), ("", "", true),
      ("^$", "", true), ("a|b", "xb", true), ("^(a|b)+$", "abba", true), ("^(a|b)+$", "abc", false),
      ("^a{2,3}$", "aa", true), ("^a{2,3}$", "aaaa", false), ("^a{2,}$", "aaaaa", true),
      ("^a{2}$", "a", false), ("^a?b$", "b", true), ("[^0-9]", "123", false),
      ("[\\w-]+@\\d", "a-b@1", true),
      ("\\bcat\\b", "a cat.", true), ("\\bcat\\b", "concat", false), ("^\\s\\S$", " x", true),
      ("^\\D\\W$", "a!", true), ("^.$", "\n", false), ("^.$", "😀", true), ("a\\.b", "axb", false),
      ("^[\\D]$", "5", false), ("^[a\\]]$", "]", true), ("(a*)*b", "aaab", true),
      ("^(?:ab)*$", "abab", true),
    ]
    for (source, text, expected) in table {
      let pattern = try RulePattern(source, ignoresCase: false)
      #expect(try pattern.matches(text) { _ in } == expected, "/\(source)/ “\(text)”")
    }
    for source in ["(", ")", "[a", "a{2", "a{3,2}", "*", "\\", "\\q", "[z-a]", "a**b(", "(?<n>a)"] {
      #expect(throws: PatternError.self, "\(source)") {
        try RulePattern(source, ignoresCase: false)
      }
    }
    var steps = 0
    let slow = try RulePattern("^(a+)+$", ignoresCase: false)
    let text = String(repeating: "a", count: 5_000) + "b"
    #expect(try !slow.matches(text) { steps += $0 })
    #expect(steps < 100_000)
  }

  @Test func rulesWithMistakesAreRefusedWithTheirPlace() throws {
    let stage = try RealtimeStage()
    let table: [(String, String)] = [
      ("{", "no JSON"), ("[]", "An object is needed"), ("{}", "one member"),
      ("{\"rules\": {\".read\": 1}}", "Line 1, column 21"),
      ("{\n  \"rules\": {\n    \".read\": \"auth.uid = 1\"\n  }\n}", "Line 3, column 24"),
      ("{\"rules\": {\".read\": \"newData.exists()\"}}", "Line 1, column 22"),
      ("{\"rules\": {\".raed\": true}}", "“.raed”"), ("{\"rules\": {\"a.b\": {}}}", "“a.b”"),
      ("{\"rules\": {\"$a\": {}, \"$b\": {}}}", "“$b”"),
      ("{\"rules\": {\"$a\": {\"$a\": {}}}}", "“$a”"),
      ("{\"rules\": {\"a\": {}, \"a\": {}}}", "twice"),
      ("{\"rules\": {\".indexOn\": 5}}", "“.indexOn”"),
      ("{\"rules\": {\".indexOn\": [\"a\", \"b.c\"]}}", "“b.c”"),
      ("{\"rules\": {\"a\": true}}", "An object"),
    ]
    for (rules, part) in table {
      let answer = stage.setRules(rules)
      #expect(answer.status == 400 && answer.text.contains(part), "\(rules): \(answer.text)")
    }
    #expect(stage.store.newestCommit == 0)
    let rules = "{ /* a \"comment\" */ \"rules\": {\n // all\n \".read\": \"'//' == '//'\"}}"
    #expect(stage.setRules(rules).status == 200)
    #expect(stage.ask("GET", "/.settings/rules.json", headers: RealtimeStage.owner).text == rules)
    let strict = stage.ask(
      "GET", "/.settings/rules.json?format=strict", headers: RealtimeStage.owner)
    #expect(try JSONValue(strict.body).members?["rules"] != nil)
    #expect(stage.ask("GET", "/.settings/rules.json").status == 401)
    #expect(stage.ask("GET", "/a.json").status == 200)
    #expect(stage.ask("PUT", "/a.json", "1").status == 401)
  }

  @Test func rulesDecide() throws {
    let stage = try RealtimeStage()
    let rules = """
      {"rules": {
        "open": {".read": true, ".write": true},
        "users": {"$uid": {
          ".read": "auth.uid == $uid", ".write": "auth.uid == $uid",
          ".validate": "newData.hasChildren(['name'])",
          "name": {".validate": "newData.isString() && newData.val().length < 10"},
          "age": {".validate":
            "newData.isNumber() && (!data.exists() || newData.val() >= data.val())"},
          "$other": {".validate": false}}},
        "members": {"$room": {".read": "root.child('rooms/' + $room + '/' + auth.uid).exists()"}},
        "once": {".write": "!data.exists() && newData.exists()", ".read": true},
        "log": {"$id": {".write": "newData.val() === now"}},
        "page": {".read": "query.orderByKey && query.limitToFirst <= 10", ".indexOn": ".value"},
        "pair": {"a": {".write": true, ".validate": "newData.parent().child('b').val() == 1"},
                 "b": {".write": true}},
        "box": {".write": true, ".validate": "newData.hasChildren(['x'])"}
      }}
      """
    #expect(stage.setRules(rules).status == 200)
    #expect(
      stage.ask("PUT", "/rooms.json", "{\"r1\": {\"ann\": 1}}", headers: RealtimeStage.owner).status
        == 200)
    let table: [(String, String, String, String?, Int)] = [
      ("GET", "/.json", "", nil, 401), ("GET", "/open.json", "", nil, 200),
      ("PUT", "/open/x/y.json", "1", nil, 200), ("PUT", "/.json", "1", nil, 401),
      ("PUT", "/users/ann.json", "{\"name\": \"Ann\"}", nil, 401),
      ("PUT", "/users/ann.json", "{\"name\": \"Ann\"}", "bob", 401),
      ("PUT", "/users/ann.json", "{\"name\": \"Ann\"}", "ann", 200),
      ("PUT", "/users/ann/name.json", "\"Annabella Ann\"", "ann", 401),
      ("PUT", "/users/ann/age.json", "30", "ann", 200),
      ("PUT", "/users/ann/age.json", "29", "ann", 401),
      ("PUT", "/users/ann/age.json", "{\".sv\": {\"increment\": 1}}", "ann", 200),
      ("PUT", "/users/ann/pet.json", "\"cat\"", "ann", 401),
      ("DELETE", "/users/ann/name.json", "", "ann", 401),
      ("PUT", "/users/ann.json", "{\"age\": 31}", "ann", 401),
      ("PATCH", "/users/ann.json", "{\"age\": 32, \"name\": \"A\"}", "ann", 200),
      ("PATCH", "/.json", "{\"users/ann/age\": 33, \"open/z\": 1}", "ann", 200),
      ("PATCH", "/.json", "{\"users/ann/age\": 34, \"closed/z\": 1}", "ann", 401),
      ("DELETE", "/users/ann.json", "", "ann", 200),
      ("GET", "/members/r1.json", "", "ann", 200), ("GET", "/members/r1.json", "", "bob", 401),
      ("GET", "/members/r2.json", "", "ann", 401), ("PUT", "/once.json", "1", nil, 200),
      ("PUT", "/once.json", "2", nil, 401), ("DELETE", "/once.json", "", nil, 401),
      ("PUT", "/log/a.json", "{\".sv\": \"timestamp\"}", nil, 200),
      ("PUT", "/log/b.json", "12", nil, 401),
      ("GET", "/page.json?orderBy=\"$key\"&limitToFirst=5", "", nil, 200),
      ("GET", "/page.json?orderBy=\"$key\"&limitToFirst=11", "", nil, 401),
      ("GET", "/page.json", "", nil, 401),
      ("PUT", "/box/x.json", "1", nil, 200), ("PUT", "/box/y.json", "1", nil, 200),
      ("DELETE", "/box/x.json", "", nil, 401), ("DELETE", "/box/y.json", "", nil, 200),
      // Without children there is no box, so nothing is to be valid.
      ("DELETE", "/box/x.json", "", nil, 200), ("PUT", "/pair/a.json", "1", nil, 401),
      ("PATCH", "/pair.json", "{\"a\": 1, \"b\": 1}", nil, 200),
    ]
    for (method, target, body, user, status) in table {
      let override = user.map { "{\"uid\":\"\($0)\"}" } ?? "null"
      let separator = target.contains("?") ? "&" : "?"
      let answer = stage.ask(
        method, "\(target)\(separator)auth_variable_override=\(escaped(override))", body,
        headers: RealtimeStage.owner)
      #expect(answer.status == status, "\(method) \(target) \(body) \(user ?? "-"): \(answer.text)")
    }
  }

  @Test func conditionsTellNothingToThoseWhoMayNotRead() throws {
    let stage = try RealtimeStage()
    #expect(stage.ask("PUT", "/secret.json", "\"pin 1234\"").status == 200)
    let rules = #"{"rules": {"secret": {".write": "auth != null"}, "open": {".read": true}}}"#
    #expect(stage.setRules(rules).status == 200)
    let right = try FirebaseNode(json: "\"pin 1234\"".utf8).entityTag
    let ann = "?auth_variable_override=" + escaped(#"{"uid":"ann"}"#)
    for (user, headers) in [("", []), (ann, RealtimeStage.owner)] {
      for tag in ["wrong", right, "null_etag"] {
        for method in ["PUT", "DELETE"] {
          let answer = stage.ask(
            method, "/secret.json\(user)", "1", headers: headers + [("if-match", tag)])
          #expect(answer.status == 401, "\(method) \(user) \(tag): \(answer.text)")
          #expect(!answer.text.contains("1234") && answer.header("ETag") == nil)
        }
      }
    }
    let client = try SessionClient(stage)
    for hash in ["wrong", right, ""] {
      let number = client.ask("p", #"{"p":"/secret","d":1,"h":"\#(hash)"}"#)
      try client.drain()
      #expect(client.statuses[number] == "permission_denied", "\(hash)")
    }
    #expect(stage.get("/secret.json", headers: RealtimeStage.owner) == "\"pin 1234\"")
    // A client that may read learns the value, whether or not it may write.
    #expect(stage.ask("PUT", "/open.json", "1", headers: [("if-match", "wrong")]).status == 412)
    #expect(stage.ask("PUT", "/open.json", "1", headers: [("if-match", "null_etag")]).status == 401)
    #expect(stage.ask("PUT", "/secret.json\(ann)", "1", headers: RealtimeStage.owner).status == 200)
  }

  @Test func queriesNeedTheirIndex() throws {
    let stage = try RealtimeStage()
    let rules = #"{"rules": {".read": true, "a": {"$x": {".indexOn": ["n/m", ".value"]}}}}"#
    #expect(stage.setRules(rules).status == 200)
    let table: [(String, Int)] = [
      ("/a/b.json?orderBy=\"n/m\"&startAt=1", 200), ("/a/b.json?orderBy=\"$value\"&endAt=1", 200),
      ("/a/b.json?orderBy=\"k\"&endAt=1", 400), ("/a.json?orderBy=\"n/m\"&endAt=1", 400),
      ("/a.json?orderBy=\"$priority\"&endAt=1", 200), ("/a.json?orderBy=\"$key\"&endAt=\"1\"", 200),
      ("/a/b/c.json?orderBy=\"$value\"&limitToLast=1", 400), ("/a/b.json?orderBy=\"k\"", 200),
    ]
    for (target, status) in table {
      #expect(stage.ask("GET", target).status == status, "\(target)")
    }
    #expect(
      stage.get("/a.json?orderBy=\"k\"&endAt=1").contains(
        #"Index not defined, add \".indexOn\": \"k\", for path \"/a\", to the rules"#))
  }
}
