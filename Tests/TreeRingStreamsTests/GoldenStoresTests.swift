// The golden stores of a program through three versions of its rows.

import Foundation
import TestSupport
import Testing
import TreeRing
import TreeRingTesting

private struct One: Codable { var name: String }
private struct Two: Codable { var name: String, size: Int }

@Suite struct GoldenStoresTests {
  private let one = Bucket<One>("things", version: 1)

  private func two(_ size: Int) -> Bucket<Two> {
    Bucket<Two>(
      "things", version: 2,
      migrations: [Migration(from: 1, to: 2, fields: { try $0.setDefault("size", size) })])
  }

  @Test("Each version makes a store once, and reads those of all versions as recorded")
  func versions() throws {
    let folder = try TemporaryFolder()
    let golden = GoldenStores(in: URL(filePath: folder.path).appending(path: "golden"))
    let first = try golden.check(one, samples: [("a", One(name: "x")), ("b", One(name: "y"))])
    #expect(first.recorded == ["things-v1", "things-v1-as-v1.jsonl"] && first.problems.isEmpty)
    let second = try golden.check(two(7), samples: [("c", Two(name: "z", size: 3))])
    #expect(second.versions == [1, 2] && second.problems.isEmpty)
    #expect(second.recorded == ["things-v2", "things-v1-as-v2.jsonl", "things-v2-as-v2.jsonl"])
    let again = try golden.check(two(7), samples: [])
    #expect(again.recorded.isEmpty && again.problems.isEmpty)
    let lines = try String(
      contentsOf: golden.folder.appending(path: "things-v1-as-v2.jsonl"), encoding: .utf8)
    #expect(lines == "a\t{\"name\":\"x\",\"size\":7}\nb\t{\"name\":\"y\",\"size\":7}\n")
    // The golden stores themselves stay as they were recorded.
    let files = try FileManager.default.subpathsOfDirectory(atPath: golden.folder.path)
    #expect(!files.contains { $0.hasSuffix("pages") || $0.hasSuffix("LOCK") })
  }

  @Test("A changed or forgotten migration, and a store of a later version, are problems")
  func problems() throws {
    let folder = try TemporaryFolder()
    let golden = GoldenStores(in: URL(filePath: folder.path))
    _ = try golden.check(one, samples: [("a", One(name: "x"))])
    _ = try golden.check(two(7), samples: [("c", Two(name: "z", size: 3))])
    let changed = try golden.check(two(8), samples: [])
    #expect(changed.problems.count == 1)
    #expect(changed.problems.first?.contains("\"size\":8} instead of") == true)
    let forgotten = try golden.check(Bucket<Two>("things", version: 2), samples: [])
    #expect(forgotten.problems.count == 1)
    #expect(forgotten.problems.first?.contains("no migration leads from there") == true)
    let older = try golden.check(one, samples: [])
    #expect(older.problems == ["things-v2 is of a later version than the bucket, 1."])
  }
}
