// The streams of a listener: the change to a larger range without a gap.

import Foundation
import Testing

@testable import TreeRingCollections
@testable import TreeRingFirebase

@Suite struct ListenerStateTests {
  private struct Failure: Error {}

  /// The steps in short.
  private func names(_ steps: [ListenerStep]) -> [String] {
    steps.map { step in
      switch step {
      case .open(let number, let parameters):
        "open \(number) \(parameters.map(\.value).joined(separator: " "))"
      case .close(let number): "close \(number)"
      case .state: "state"
      case .change(let change): "change \(change.events.count)"
      case .fail: "fail"
      }
    }
  }

  private func range(from key: String) throws -> PositionRange {
    let edge = OrderEdge(value: .scalar(.null), key: try FirebaseKey(key))
    return PositionRange(from: ChildPosition(order: .bytes(edge.bytes), key: key))
  }

  private func node(_ json: String) throws -> FirebaseNode { try FirebaseNode(json: json.utf8) }

  private func put(_ path: String, _ json: String) throws -> [TreeEvent.Replacement] {
    [TreeEvent.Replacement(path: try FirebasePath(path), node: try node(json))]
  }

  @Test func aLargerRangeTakesOverOnceItIsKnown() throws {
    var state = ListenerState(FirebaseQuery())
    #expect(names(state.take(.extend(try range(from: "m")))) == [#"open 1 "$key" "m""#])
    #expect(names(state.take(.opened(stream: 1, try node(#"{"m": 1, "x": 2}"#)))) == ["state"])
    #expect(names(state.take(.extend(try range(from: "f")))) == [#"open 2 "$key" "f""#])
    // The old stream goes on, and the new one may be replaced before it is known.
    #expect(names(state.take(.changed(stream: 1, try put("/y", "3")))) == ["change 1"])
    #expect(names(state.take(.extend(PositionRange()))) == ["close 2", "open 3 "])
    #expect(names(state.take(.opened(stream: 2, try node("null")))) == [])
    #expect(names(state.take(.failed(stream: 2, Failure()))) == [])
    #expect(state.children.map(\.key) == ["m", "x", "y"])
    let whole = try node(#"{"a": 0, "m": 1, "x": 2, "y": 3}"#)
    let steps = state.take(.opened(stream: 3, whole))
    #expect(names(steps) == ["close 1", "state"])
    if case .state(let range, let change) = steps[1] {
      #expect(range == PositionRange() && change.events.count == 1)
    }
    #expect(names(state.take(.changed(stream: 1, try put("/z", "3")))) == [])
    #expect(state.children.map(\.key) == ["a", "m", "x", "y"])
    // A reconnection brings the differences.
    let again = state.take(.opened(stream: 3, try node(#"{"a": 0, "m": 5}"#)))
    if case .state(_, let change) = again.first {
      #expect(change.removed.count == 2 && change.changed.count == 1 && change.placed.isEmpty)
    }
    #expect(names(state.take(.failed(stream: 3, Failure()))) == ["close 3", "fail"])
    #expect(names(state.take(.extend(PositionRange()))) == [])
  }

  @Test func noChildGoesBackToAnEarlierState() throws {
    var state = ListenerState(FirebaseQuery())
    _ = state.take(.extend(try range(from: "m")))
    _ = state.take(.requested(stream: 1))
    _ = state.take(.opened(stream: 1, try node(#"{"m": 1}"#)))
    #expect(names(state.take(.changed(stream: 1, try put("/m", "2")))) == ["change 1"])
    _ = state.take(.extend(PositionRange()))
    #expect(names(state.take(.changed(stream: 1, try put("/m", "3")))) == ["change 1"])
    // The request is lost, and so is nothing else.
    #expect(names(state.take(.requested(stream: 2))) == [])
    #expect(names(state.take(.changed(stream: 1, try put("/m", "4")))) == [])
    #expect(names(state.take(.lost(stream: 1))) == [])
    #expect(names(state.take(.lost(stream: 2))) == ["change 1"])
    // The second one succeeds: its tree is older than what came since, and that comes again.
    _ = state.take(.requested(stream: 2))
    #expect(names(state.take(.changed(stream: 1, try put("/m", "6")))) == [])
    #expect(names(state.take(.opened(stream: 1, try node(#"{"m": 7}"#)))) == [])
    let whole = state.take(.opened(stream: 2, try node(#"{"a": 1, "m": 5}"#)))
    #expect(names(whole) == ["close 1", "state"])
    #expect(state.children.map(\.data.node.number) == [1, 5])
    #expect(names(state.take(.changed(stream: 2, try put("/m", "6")))) == ["change 1"])
  }

  @Test func aStreamThatSendsAllAlreadyIsKept() throws {
    var state = ListenerState(FirebaseQuery().limited(toLast: 3))
    #expect(names(state.take(.extend(try range(from: "m")))) == [#"open 1 "$key" 3"#])
    #expect(
      names(state.take(.opened(stream: 1, try node(#"{"a": 1, "m": 2, "x": 3}"#)))) == ["state"])
    #expect(state.children.map(\.key) == ["m", "x"])
    #expect(names(state.take(.extend(PositionRange()))) == ["state"])
    #expect(state.children.map(\.key) == ["a", "m", "x"])
  }

  @Test func waitsGrowUpToALimit() {
    let options = FirebaseOptions(firstDelay: .seconds(1), longestDelay: .seconds(10))
    let waits = (1...6).map { options.delay(afterFailures: $0, jitter: 0) }
    #expect(waits == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
    #expect(options.delay(afterFailures: 1, jitter: 1) == .milliseconds(500))
    #expect(options.delay(afterFailures: .max, jitter: 0) == .seconds(10))
  }

  @Test func addressesKeepTheirParametersAndHideCredentials() throws {
    func address(_ text: String) throws -> (String?, String) {
      let address = try FirebaseAddress(try #require(URL(string: text)))
      return (
        address.url([RequestParameter(name: "orderBy", value: "\"a/b\"")])?.absoluteString,
        address.location
      )
    }
    #expect(
      try address("http://u:p@127.0.0.1:9000/a/b%20c.json?ns=demo#x")
        == (
          "http://127.0.0.1:9000/a/b%20c.json?ns=demo&orderBy=%22a%2Fb%22",
          "http://127.0.0.1:9000/a/b%20c.json"
        ))
    #expect(try address("https://x.firebaseio.com").0?.contains("com/.json?") == true)
    #expect(try address("https://x.firebaseio.com/a/").0?.contains("com/a.json?") == true)
    for text in ["ftp://a/b", "file:///a", "a/b"] {
      #expect(throws: FirebaseError.self) { try address(text) }
    }
    #expect(throws: FirebaseError.self) {
      try FirebaseSource(
        try #require(URL(string: "https://x.firebaseio.com")), query: FirebaseQuery(.child("a.b")))
    }
  }
}
