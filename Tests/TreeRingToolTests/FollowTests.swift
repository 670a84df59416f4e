// A writing process and a process that follows it.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Processes that follow", .leavesSoundStores) struct FollowTests {
  /// A folder for a store and its follower.
  private static func folder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  private static func reading() -> StoreOptions {
    var options = CrashScript.options
    options.mode = .readOnly
    return options
  }

  @Test("Commits of another process are seen in order and whole, though it is killed repeatedly")
  func follow() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/s.ring"
    var random = SeededGenerator(seed: 17)
    var reader: Store?
    var feed: CommitFeed.Iterator?
    var delays: [Duration] = []
    var newest: CommitNumber = 0
    for round in 0..<6 {
      let child = try Child("Crasher", [path, "2", "\(round)", "100000"])
      try child.process.run()
      let lineLimit = Int.random(in: 50..<200, using: &random)
      var lines = 0
      while lines < lineLimit, let line = child.line() {
        lines += 1
        let words = line.split(separator: " ")
        if words.first == "open" {
          if reader == nil {
            let opened = try Store(at: path, options: Self.reading())
            reader = opened
            feed = opened.commits(from: 1).makeAsyncIterator()
          }
          continue
        }
        guard words.count == 2, words[0] == "F", let number = CommitNumber(words[1]),
          let reader
        else { continue }
        let start = ContinuousClock.now
        // This avoids the thread pool shared by the tests, whose delays would be measured too.
        while reader.newestCommit < number {
          try reader.checkFollowing()
          usleep(100)
        }
        delays.append(ContinuousClock.now - start)
        newest = max(newest, number)
        let snapshot = try reader.snapshot()
        #expect(try CrashScript.flaw(in: snapshot) == nil, "round \(round)")
      }
      kill(child.process.processIdentifier, SIGKILL)
      child.process.waitUntilExit()
    }
    let end = try #require(reader)
    for expected in 1...newest {
      let info = try await feed?.next()
      #expect(info?.number == expected)
    }
    #expect(end.newestCommit >= newest)
    #expect(try end.checkInvariants() == [])
    try await end.close()
    delays.sort()
    print(
      "followed \(newest) commits; from the acknowledgement to being seen: median "
        + "\(delays[delays.count / 2]), p99 \(delays[delays.count * 99 / 100]), most "
        + "\(delays[delays.count - 1])")
  }

  @Test("`watch` prints the commits of another process as they arrive")
  func watch() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/s.ring"
    let store = try Store(at: path, options: CrashScript.options)
    let child = try Child("treering", ["watch", path, "--from", "1", "--json"])
    try child.process.run()
    for commit in 1...20 as ClosedRange<CommitNumber> {
      let line = try #require(child.line())
      #expect(line.hasPrefix("{\"commit\":\(commit),"), "\(line)")
      try await store.write { try CrashScript.perform($0) }
    }
    child.process.interrupt()
    child.process.waitUntilExit()
    #expect(child.process.terminationStatus == 130)
    // A follower without a reader ends by itself.
    let alone = Process()
    alone.executableURL = URL(filePath: "/bin/bash")
    let products = try #require(GoldenScript.products)
    alone.arguments = [
      "-c", "'\(products.appending(path: "treering").path)' watch '\(path)' | true",
    ]
    try alone.run()
    alone.waitUntilExit()
    #expect(alone.terminationStatus == 0)
    try await store.close()
  }

  @Test("`board` in a pipe prints changesets of another process's import as they arrive")
  func board() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/s.ring"
    let store = try Store(at: path)
    try store.write { tx in
      try tx.define("dep", FieldIndex(bucket: "f", group: "o", order: [.init("t")]))
      try tx.put(Array(#"{"o":"JFK","t":0}"#.utf8), for: "k0", in: Bucket<[UInt8]>.bytes("f"))
    }
    try store.close()
    let board = try Child("treering", ["board", path, "dep", "--limit", "3", "--json"])
    try board.process.run()
    let first = try #require(board.line())
    #expect(first.hasPrefix(#"{"from":0,"to":1,"reset":true,"#), "\(first)")
    let importer = try Child("treering", ["import", path, "--durability", "full"])
    let input = Pipe()
    importer.process.standardInput = input
    try importer.process.run()
    for number in 1...3 {
      let line = #"{"ops":[["put","f","k\#(number)",{"o":"JFK","t":\#(number)}]]}"# + "\n"
      input.fileHandleForWriting.write(Data(line.utf8))
      let change = try #require(board.line())
      let start = #"{"from":\#(number),"to":\#(number + 1),"reset":false,"#
      #expect(change.hasPrefix(start), "\(change)")
      #expect(change.contains(#""insert":[[0,\#(number),"k\#(number)"]]"#), "\(change)")
    }
    board.process.waitUntilExit()
    #expect(board.process.terminationStatus == 0)
    #expect(board.line() == nil)
    try input.fileHandleForWriting.close()
    importer.process.waitUntilExit()
    #expect(importer.process.terminationStatus == 0)
  }

  @Test("A watching process continues through compactions, and is named as a holder of history")
  func watchThroughCompaction() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.path + "/s.ring"
    var options = CrashScript.options
    options.segmentSize = 2 << 10
    let store = try Store(at: path, options: options)
    let first = store.newestCommit + 1
    try await store.write { try CrashScript.perform($0) }
    try await store.checkpoint()
    let child = try Child("treering", ["watch", path, "--from", "\(first)", "--json"])
    try child.process.run()
    for commit in first..<first + 40 {
      let line = try #require(child.line())
      #expect(line.hasPrefix("{\"commit\":\(commit),"), "\(line)")
      if commit % 8 == 0 {
        let report = try await store.compact(to: .dropHistory)
        let followers = report.held.filter { $0.kind == .follower }
        #expect(
          followers.allSatisfy {
            $0.description.hasPrefix("process \(child.process.processIdentifier)")
          }, "\(followers)")
        #expect(report.horizon >= followers.map(\.commit).min() ?? store.newestCommit)
      }
      try await store.write { try CrashScript.perform($0) }
    }
    child.process.interrupt()
    child.process.waitUntilExit()
    #expect(child.process.terminationStatus == 130)
    #expect(try await store.compact(to: .dropHistory).horizon == store.newestCommit)
    try await store.close()
  }
}
