// The events of Firebase: those of the protocol, and those that are malformed.

import Testing

@testable import TreeRingFirebase
@testable import TreeRingHTTP

@Suite struct TreeEventTests {
  private func read(_ name: String, _ data: String) throws -> TreeEvent? {
    try TreeEvent(ServerEvent(name: name, data: Array(data.utf8)))
  }

  private func replacement(_ path: String, _ json: String) throws -> TreeEvent.Replacement {
    TreeEvent.Replacement(path: try FirebasePath(path), node: try FirebaseNode(json: json.utf8))
  }

  @Test func eventsOfTheProtocolAreRead() throws {
    #expect(
      try read("put", #"{"path": "/", "data": {"a": 1}}"#)
        == .change([replacement("/", #"{"a": 1}"#)]))
    #expect(
      try read("put", #"{"data": null, "path": "/a/b"}"#) == .change([replacement("/a/b", "null")]))
    #expect(
      try read("patch", #"{"path": "/a", "data": {"b/c": 1, "d": null}}"#)
        == .change([replacement("/a/b/c", "1"), replacement("/a/d", "null")]))
    #expect(try read("keep-alive", "null") == .keepAlive)
    #expect(try read("cancel", "null") == .cancel(""))
    #expect(try read("cancel", #""Permission denied""#) == .cancel("Permission denied"))
    #expect(try read("cancel", "Permission denied") == .cancel("Permission denied"))
    #expect(
      try read("auth_revoked", "credential is no longer valid")
        == .authRevoked("credential is no longer valid"))
    #expect(try read("message", "?") == nil)
  }

  @Test(arguments: [
    "", "null", "{", "[]", #"{"path": "/"}"#, #"{"data": 1}"#, #"{"path": 3, "data": 1}"#,
    #"{"path": "a", "data": 1}"#, #"{"path": "/a.b", "data": 1}"#, #"{"path": "/a", "data": {"#,
    #"{"path": "/a", "data": {"x#": 1}}"#, #"{"path": null, "data": 1}"#,
  ]) func malformedDataIsAnError(data: String) {
    for name in ["put", "patch"] {
      let error = #expect(throws: FirebaseError.self) { try read(name, data) }
      #expect(error?.code == .malformed)
    }
  }

  @Test(arguments: ["1", "null", "[1]", #"{"": 1}"#, #"{"/": 1}"#, #"{"a//$": 1}"#])
  func aPatchNeedsChildren(data: String) {
    let error = #expect(throws: FirebaseError.self) {
      try read("patch", #"{"path": "/a", "data": \#(data)}"#)
    }
    #expect(error?.code == .malformed)
  }
}
