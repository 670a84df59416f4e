import TestSupport
import Testing
import TreeRing
import TreeRingLog

@testable import TreeRingLive

@Suite("Bases of a store")
struct BaseAnswerTests {
  private func ask(
    _ service: LiveService, _ method: String, _ target: String,
    _ access: LiveAccess = LiveAccess(.read)
  ) -> LiveAnswer {
    service.answer(LiveRequest(method: method, target: target), for: access)
  }

  private func begin(_ service: LiveService) throws -> [String: JSONValue] {
    try #require(try JSONValue(ask(service, "POST", "/v1/bases").body).members)
  }

  @Test("A base gives its pieces until it is released, and needs rights to the whole store")
  func pieces() throws {
    let store = try LiveBoard(seed: 3).store
    let service = LiveService(store)
    let base = try begin(service)
    #expect(base["commit"] == .number("\(store.newestCommit)"))
    guard case .array(let files)? = base["files"], let file = files.first?.members else {
      Issue.record("the base has no files")
      return
    }
    let name = try #require(base["base"]?.string)
    let path = "/v1/bases/\(name)/\(try #require(file["name"]?.string))"
    let piece = ask(service, "GET", path + "?piece=0")
    #expect(piece.status == 200 && piece.contentType == "application/octet-stream")
    #expect(file["bytes"] == .number("\(piece.body.count)"))
    #expect(file["checksums"] == .array([.number("\(crc32c(piece.body))")]))
    #expect(ask(service, "GET", path).status == 400)
    #expect(ask(service, "GET", path + "?piece=1").status == 404)
    let limited = LiveAccess(.admin, buckets: ["rows"])
    for (method, target) in [
      ("POST", "/v1/bases"), ("GET", path + "?piece=0"), ("DELETE", "/v1/bases/\(name)"),
    ] { #expect(ask(service, method, target, limited).status == 403) }
    #expect(ask(service, "DELETE", "/v1/bases/\(name)").status == 200)
    #expect(ask(service, "DELETE", "/v1/bases/\(name)").status == 404)
    #expect(ask(service, "GET", path + "?piece=0").status == 404)
    try store.close()
  }

  @Test("There are as many bases as the limits allow; one without requests ends by itself")
  func limits() async throws {
    let store = try LiveBoard(seed: 3).store
    var limits = LiveLimits()
    limits.bases = 2
    var service = LiveService(store, limits: limits)
    for _ in 0..<2 { #expect(ask(service, "POST", "/v1/bases").status == 200) }
    #expect(ask(service, "POST", "/v1/bases").status == 429)
    limits.baseSilence = .milliseconds(1)
    service = LiveService(store, limits: limits)
    #expect(ask(service, "POST", "/v1/bases").status == 200)
    while service.baseCount > 0 { try await Task.sleep(for: .milliseconds(1)) }
    try await store.close()
  }
}
