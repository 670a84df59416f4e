// Stores written by released formats open for ever, to the same contents.

import Foundation
import Testing
import TreeRing
import TreeRingLog

@Suite("Stores of older formats") struct FixturesTests {
  private static var folder: URL {
    var folder = URL(filePath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    return folder.appending(path: "Fixtures")
  }

  @Test("A store of format 1 opens, and says what was written into it")
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
}
