// Pages of a row's history, against the whole history.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Pages of a history", .leavesSoundStores)
struct HistoryPageTests {
  private static func texts(_ versions: [RowVersion]) -> [String] {
    versions.map { "\($0.commit) \($0.kind) \($0.object ?? []) \($0.metadata ?? [])" }
  }

  /// A random commit that may write a row several times, or not at all.
  private func write(to store: Store, _ random: inout SeededGenerator) throws {
    let steps = (0..<Int.random(in: 1...3, using: &random)).map { _ in
      (random.pick(["a", "b"]), Int.random(in: 0..<6, using: &random))
    }
    try store.write { tx in
      for (name, step) in steps {
        let key = Key(name)
        switch step {
        case 0: try tx.delete(key, in: "blobs")
        case 1: if try tx.contains(key, in: "blobs") { try tx.touch(key, in: "blobs") }
        default: try tx.put([UInt8](repeating: UInt8(step), count: step), for: key, in: blobs)
        }
      }
    }
  }

  @Test("Pages make up the whole history, from any commit, also after compaction")
  func pages() throws {
    for seed in seeds(1...40) {
      var random = SeededGenerator(seed: seed)
      let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
      for turn in 0..<40 {
        try write(to: store, &random)
        if turn == 25, seed % 2 == 0 {
          try store.compact(to: .before(store.newestCommit - 8))
        }
      }
      let all = try store.history(of: "a", in: "blobs")
      for first in [nil] + (0...store.newestCommit + 2).map({ CommitNumber?($0) }) {
        let (limit, byteLimit) = (random.pick([1, 2, 5, 100]), random.pick([1, 6, 1_000]))
        var found: [RowVersion] = []
        var next = first
        repeat {
          let page = try store.historyPage(
            of: "a", in: "blobs", from: next, limit: limit, byteLimit: byteLimit)
          // Only the versions of the last commit may be more than the limit.
          let last = page.versions.last?.commit
          #expect(page.versions.prefix { $0.commit != last }.count < limit, "seed \(seed)")
          found += page.versions
          next = page.next
        } while next != nil
        let expected = all.filter { $0.commit <= first ?? .max }
        #expect(Self.texts(found) == Self.texts(expected), "seed \(seed), from \(first ?? 0)")
      }
      try store.close()
    }
  }
}
