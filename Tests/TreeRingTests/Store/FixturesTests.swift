// Stores written by released formats always open, to the same contents.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Stores of older formats", .leavesSoundStores) struct FixturesTests {
  private static var folder: URL {
    var folder = URL(filePath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder.appending(path: "Fixtures")
  }

  @Test("A store of format 1 opens with the content that was written")
  func version1() throws {
    let folder = Self.folder.appending(path: "v1")
    let path = folder.appending(path: "small.ring").path
    let store = try Store(at: path, options: StoreOptions(mode: .readOnly))
    let lines = try String(
      contentsOf: folder.appending(path: "commits.jsonl"), encoding: .utf8
    ).split(separator: "\n")
    #expect(store.newestCommit == UInt64(lines.count))
    #expect(verifyLog(directory: path + "/log", fileSystem: PosixFileSystem()) == [])
    #expect(try store.checkInvariants() == [])

    let now = try store.snapshot()
    #expect(
      try now.row("dune", in: "books")?.object
        == Array(#"{"title":"Dune","genre":"sci-fi","sales":21}"#.utf8))
    #expect(try now.metadata(of: "dune", in: "books") == Array(#"{"seen":true}"#.utf8))
    #expect(try now.row("wide", in: "pictures")?.object.count == 5013)
    #expect(try now.row("emma", in: "books")?.created == 6)
    let rank = try now.index("SalesRank")
    #expect(try rank.rows(in: "sci-fi").map(\.key) == ["dune", "ubik"])
    #expect(try now.tags().map(\.name) == ["before-delete", "release-1"])
    let kinds = try store.history(of: "emma", in: "books").map(\.kind)
    #expect(kinds == [.put, .delete, .touch, .put])
    let tagged = try store.snapshot(at: .tag("release-1"))
    #expect(tagged.timestamp == Timestamp(microseconds: 1_767_225_602_000_000))
    #expect(try tagged.index("SalesRank").count(in: "classic") == 1)
    #expect(try store.commit(6).note == "named later")
    try store.close()
  }

  @Test("A store with manually placed rows and a filter by fields opens, in the same order")
  func placedVersion1() throws {
    let path = Self.folder.appending(path: "v1/placed.ring").path
    let store = try Store(at: path, options: StoreOptions(mode: .readOnly))
    #expect(store.newestCommit == 6)
    #expect(store.indexes.map(\.name) == ["playlists", "rock"])
    #expect(try store.checkInvariants() == [])
    for (commit, keys) in [
      (2, []), (3, ["a", "c", "b"]), (4, ["d", "c", "b", "a"]), (5, ["d", "c", "a"]),
      (6, ["d", "c", "a"]),
    ] as [(CommitNumber, [String])] {
      let snapshot = try store.snapshot(at: .commit(commit))
      #expect(try snapshot.index("playlists").keys("today") == keys)
      #expect(try snapshot.index("rock").keys("today") == keys.filter { "ac".contains($0) })
      #expect(try snapshot.index("playlists").count(in: "later") == (3...4 ~= commit ? 1 : 0))
    }
    try store.close()
  }

  @Test("A store with sums opens, with the same sums at each commit")
  func summedVersion1() throws {
    let path = Self.folder.appending(path: "v1/summed.ring").path
    let store = try Store(at: path, options: StoreOptions(mode: .readOnly))
    #expect(store.newestCommit == 4)
    #expect(try store.checkInvariants() == [])
    for (commit, groups, early) in [
      (1, "1125.00 -7.50 30.10", "347.00"), (2, "1125.00 -7.50 30.10", "347.00"),
      (3, "1105.50 -6.75 30.10", "328.25"),
      (4, "1112.50 -6.75 92233720368547788.17", "335.25"),
    ] as [(CommitNumber, String, String)] {
      let snapshot = try store.snapshot(at: .commit(commit))
      let sums = try snapshot.index("byCustomer").groupSums()
      #expect(sums.map(\.sum.description).joined(separator: " ") == groups)
      #expect(try snapshot.index("early").sum().description == early)
    }
    try store.close()
  }

  @Test("A store with a page file, kept roots, a compaction and an erasing opens for more writes")
  func keptVersion1() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/kept.ring"
    try FileManager.default.copyItem(
      atPath: Self.folder.appending(path: "v1/kept.ring").path, toPath: path)
    let files = PosixFileSystem()
    #expect(verifyLog(directory: path + "/log", fileSystem: files) == [])
    #expect(try verifyPageFile(path + "/pages", fileSystem: files) == [])
    for mode in [StoreMode.readOnly, .readWrite] {
      let store = try Store(at: path, options: StoreOptions(mode: mode, logger: quietLogger))
      let statistics = try store.statistics()
      #expect(store.newestCommit == 50 && store.horizon == 44)
      // A rebuilt page file would have one root.
      #expect(statistics.retainedRootCount > 2, "\(mode)")
      #expect(statistics.pageFileByteCount >= 147_456, "\(mode)")
      #expect(try store.checkInvariants() == [])
      #expect(try store.snapshot().tagTexts() == ["early 30", "edition 42"])
      #expect(try store.snapshot(at: .tag("early")).count(in: "books") == 8)
      #expect(code { try store.snapshot(at: .commit(43)) } == .beyondHorizon)
      #expect(try store.snapshot().row("nobody at all", in: "people") == nil)
      #expect(try store.snapshot().row("p0", in: "pictures")?.object.count == 1505)
      if mode == .readWrite {
        try store.write { try $0.delete("somebody", in: "people") }
        try store.compact(to: .dropHistory)
        #expect(try store.checkInvariants() == [])
      }
      try store.close()
    }
  }
}
