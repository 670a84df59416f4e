// Real data: the tool imports the flights; the tests compare them with a direct replay of the JSON.
// TREERING_FLIGHTS names another file than the week in Tests/Fixtures, for instance a whole year.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite(.leavesSoundStores) struct FlightsTests {
  /// The contents of the JSON, line by line.
  private struct Replay {
    private(set) var flights: [String: NSDictionary] = [:]

    mutating func apply(_ line: Data) throws {
      let commit = try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
      for operation in try #require(commit["ops"] as? [[Any]]) {
        let key = try #require(operation[2] as? String)
        switch operation[0] as? String {
        case "put": flights[key] = operation[3] as? NSDictionary
        case "delete": flights[key] = nil
        default: Issue.record("unexpected operation \(operation[0])")
        }
      }
    }

    /// The keys on a board: the flights that have not departed, by schedule and flight.
    func board(_ origin: String) throws -> [String] {
      let waiting: Set<String> = ["scheduled", "delayed", "cancelled"]
      func text(_ flight: NSDictionary, _ field: String) -> [UInt8] {
        Array((flight[field] as? String ?? "").utf8)
      }
      return flights.filter {
        $0.value["origin"] as? String == origin
          && waiting.contains($0.value["status"] as? String ?? "")
      }.sorted {
        let a = [text($0.value, "scheduled"), text($0.value, "flight"), Array($0.key.utf8)]
        let b = [text($1.value, "scheduled"), text($1.value, "flight"), Array($1.key.utf8)]
        return a.lexicographicallyPrecedes(b) { $0.lexicographicallyPrecedes($1) }
      }.map(\.key)
    }
  }

  @Test("States and boards at ten random commits equal those of a direct replay of the JSON")
  func states() throws {
    let file =
      ProcessInfo.processInfo.environment["TREERING_FLIGHTS"]
      ?? URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Fixtures/flights-2013-week1.jsonl.lz4").path
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/flights.ring"
    try tool(["import", path, file])
    try tool([
      "index", "add", path, "departures", "--bucket", "flights", "--group", "origin", "--order",
      "scheduled,flight", "--where", "status=scheduled,delayed,cancelled",
    ])

    let store = try Store(at: path, options: StoreOptions(mode: .readOnly))
    defer { try? store.close() }
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let last = store.newestCommit - 1
    let chosen = Set((0..<10).map { _ in UInt64.random(in: 1...last, using: &random) } + [last])
    var replay = Replay()
    var number: CommitNumber = 0
    try forEachLine(of: file) { line in
      try replay.apply(line)
      number += 1
      guard chosen.contains(number) else { return }
      let snapshot = try store.snapshot(at: .commit(number))
      let label = Comment(rawValue: "seed \(seed), commit \(number)")
      var found: [String: NSDictionary] = [:]
      try snapshot.forEachRow(in: "flights") { row in
        found[row.key.description] =
          try JSONSerialization.jsonObject(with: Data(row.object)) as? NSDictionary
        return true
      }
      #expect(found == replay.flights, label)
      let index = try snapshot.index("departures")
      for origin in ["EWR", "JFK", "LGA"] {
        let shown = try index.rows(in: GroupName(origin)).map(\.key.description)
        #expect(try shown == replay.board(origin), label)
      }
    }
    #expect(number == last)
  }

  private func tool(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = try #require(GoldenScript.products).appending(path: "treering")
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "treering \(arguments.joined(separator: " "))")
  }

  /// Calls `body` with every line of an LZ4-compressed file.
  private func forEachLine(of file: String, _ body: (Data) throws -> Void) throws {
    let compressed = try Data(contentsOf: URL(filePath: file), options: .alwaysMapped)
    let decoder = try LZ4StreamDecoder()
    var output = [UInt8](repeating: 0, count: 1 << 20)
    var line = Data()
    var position = 0
    while position < compressed.count {
      let end = min(position + 1 << 16, compressed.count)
      let written = try compressed.subdata(in: position..<end).withUnsafeBytes { input in
        try output.withUnsafeMutableBytes { buffer in
          let (taken, written) = try decoder.decode(input, into: buffer)
          position += taken
          return written
        }
      }
      for piece in output[..<written].split(separator: 10, omittingEmptySubsequences: false)
        .enumerated()
      {
        if piece.offset > 0 {
          try body(line)
          line.removeAll(keepingCapacity: true)
        }
        line.append(contentsOf: piece.element)
      }
    }
    if !line.isEmpty { try body(line) }
  }
}
