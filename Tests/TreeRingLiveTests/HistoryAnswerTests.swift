import TestSupport
import Testing
import TreeRing
import TreeRingLog

@testable import TreeRingLive

@Suite("Histories of rows as answers")
struct HistoryAnswerTests {
  private func ask(
    _ service: LiveService, _ query: String
  ) throws -> (status: Int, versions: [[String: JSONValue]], next: Int?) {
    let answer = service.answer(
      LiveRequest(method: "GET", target: "/v1/buckets/rows/rows/k/history\(query)"),
      for: LiveAccess(.read))
    let members = try JSONValue(answer.body).members
    var versions: [[String: JSONValue]] = []
    if case .array(let elements)? = members?["versions"] {
      versions = elements.compactMap(\.members)
    }
    return (answer.status, versions, members?["next"]?.integer)
  }

  @Test("A history comes in pages, of a number of versions or of bytes, from any moment")
  func pages() throws {
    let board = try LiveBoard(seed: 3)
    // The index is the first commit.
    for number in 2...12 {
      let operation =
        number == 7 ? "[\"delete\",\"rows\",\"k\"]" : "[\"put\",\"rows\",\"k\",\(number)]"
      try board.write("{\"ops\":[\(operation)]}")
    }
    try board.write("{\"ops\":[[\"tag\",\"noon\",9]]}")
    let service = LiveService(board.store)
    var found: [Int] = []
    var next: Int?
    repeat {
      let page = try ask(service, "?limit=4" + (next.map { "&from=\($0)" } ?? ""))
      #expect(page.status == 200 && page.versions.count <= 4)
      found += page.versions.compactMap { $0["commit"]?.integer }
      next = page.next
    } while next != nil
    #expect(found == Array((2...12).reversed()))
    for (from, first) in [("tag:noon", 9), ("-2", 11), ("13", 12), ("7", 7)] {
      let page = try ask(service, "?limit=1&from=\(from)")
      #expect(page.versions.first?["commit"]?.integer == first, "\(from)")
      #expect(page.next == first - 1, "\(from)")
    }
    #expect(try ask(service, "?from=99").status == 404)
    #expect(try ask(service, "?from=x").status == 400)
    // Large versions: a page ends after some hundred kilobytes.
    let text = String(repeating: "x", count: 200_000)
    for _ in 0..<5 { try board.write("{\"ops\":[[\"put\",\"rows\",\"k\",\"\(text)\"]]}") }
    #expect(try ask(service, "").versions.count == 2)
  }
}
