// Properties of compaction on logs in memory: random histories, horizons and tags; segments
// rewritten newest first, with a stop at any point. After every rewrite, replay must give exactly
// the states of the whole log: at the horizon, at every later commit and at every kept tag.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Compaction of payloads") struct CompactionProperties {
  @Test(
    "After any number of rewritten segments, every kept state replays to the same trees",
    arguments: seeds(1...12))
  func keptStates(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed &* 7919)
    let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
    try makeHistory(store, seed: seed, &random)
    var log = try LogInMemory(store, &random)
    var points = KeptPoints(horizon: 0)
    for round in 1...3 {
      let before = points.horizon
      points = newPoints(after: points, newest: log.newest, &random)
      let label = "seed \(seed), round \(round), \(points)"
      let plan = try log.plan(points, store)
      let last = Bool.random(using: &random) ? 0 : Int.random(in: 0..<4, using: &random)
      for index in log.segments.indices.reversed() where index >= last {
        guard try log.rewrite(index, plan, store, &random) else { continue }
        try log.check(points, store, "\(label), segment \(index)", &random)
      }
      if last == 0 {
        try log.check(points, store, label, &random, all: true)
        // Segments rewritten for this horizon before may hold tags that are no longer kept.
        if points.horizon > before { try log.checkShrunk(points, store, label) }
      }
    }
  }

  @Test("Rows that were made and deleted leave no trace after two runs")
  func noTombstonesRemain() throws {
    var random = SeededGenerator(seed: 1)
    let store = try Store.inMemory(options: StoreOptions(logger: quietLogger))
    let count = 60
    for number in 1...count {
      try store.write { tx in
        try tx.put([1], for: Key("row \(number)"), in: blobs)
        if number > 10 { try tx.delete(Key("row \(number - 10)"), in: "blobs") }
      }
    }
    var log = try LogInMemory(store, segmentSize: 7)
    for _ in 1...2 {
      let plan = try log.plan(KeptPoints(horizon: CommitNumber(count)), store)
      for index in log.segments.indices.reversed() {
        _ = try log.rewrite(index, plan, store, &random, always: true)
      }
    }
    try log.check(KeptPoints(horizon: CommitNumber(count)), store, "", &random, all: true)
    #expect(try log.operations.allSatisfy { $0 == .whole || $0 == .stub })
    #expect(try log.operations.count { $0 == .whole } == 10)
  }

  // MARK: - Histories

  private func makeHistory(
    _ store: Store, seed: UInt64, _ random: inout SeededGenerator
  ) throws {
    var history = RandomHistory(seed: seed)
    for step in 0..<Int.random(in: 20...90, using: &random) {
      switch Int.random(in: 0..<16, using: &random) {
      case 0:
        try store.write { tx in
          tx.note = "note \(step)"
          tx.annotation = Array("{}".utf8)
          tx.tags = ["tag \(step % 5)"]
        }
        history.noteEmptyCommit()
      case 1 where store.newestCommit > 0:
        let tagged = CommitNumber.random(in: 1...store.newestCommit, using: &random)
        try store.write { tx in
          try tx.tag("tag \(step % 3)", commit: tagged)
          tx.idempotencyKey = Array("key \(step)".utf8)
        }
        history.noteEmptyCommit()
      case 2:
        // Buckets that are created and deleted.
        try store.write { tx in
          try tx.put([UInt8(step)], for: "x", in: Bucket.bytes("bucket \(step % 7)"))
        }
        try store.write { try $0.deleteAll(in: "bucket \(step % 7)") }
        history.noteEmptyCommit()
        history.noteEmptyCommit()
      case 3:
        if !store.indexes.contains(where: { $0.name == "byGroup" }) {
          try store.define("byGroup", RandomHistory.fieldIndex)
        } else {
          try store.removeIndex("byGroup")
        }
        history.noteEmptyCommit()
      case 4...6:
        try arrange(store, &random)
        history.noteEmptyCommit()
      default: try history.commit(to: store)
      }
    }
  }

  /// Places rows manually, removes some, and sometimes removes the index.
  private func arrange(_ store: Store, _ random: inout SeededGenerator) throws {
    guard store.indexes.contains(where: \.isManual) else {
      try store.define("shelves", ManualIndex(on: "items"))
      return
    }
    if Int.random(in: 0..<12, using: &random) == 0 {
      try store.removeIndex("shelves")
      return
    }
    try store.write { tx in
      tx.note = "arranged"
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let key = Key("k\(Int.random(in: 0..<40, using: &random))")
        guard try tx.contains(key, in: "items") else { continue }
        let row = RowID(bucket: "items", key: key)
        let group = try tx.group(Bool.random(using: &random) ? "a" : "b", of: "shelves")
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try group.prepend(row)
        case 1: try group.remove(row)
        case 2 where try group.count > 1: try group.insert(row, at: 1)
        default: try group.append(row)
        }
      }
    }
  }

  /// A horizon not before the old one, and a choice of the tags that can still be kept.
  private func newPoints(
    after old: KeptPoints, newest: CommitNumber, _ random: inout SeededGenerator
  ) -> KeptPoints {
    let horizon = CommitNumber.random(in: max(1, old.horizon)...newest, using: &random)
    var tags = old.commits.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
    for _ in 0..<Int.random(in: 0...4, using: &random) where old.horizon < horizon {
      tags.append(CommitNumber.random(in: old.horizon + 1...horizon, using: &random))
    }
    return KeptPoints(horizon: horizon, tags: tags)
  }
}
