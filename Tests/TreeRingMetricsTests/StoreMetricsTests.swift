// Each metric moves when its cause happens, and only then.

#if Metrics
  import Foundation
  import TestSupport
  import Testing

  @testable import TreeRing
  @testable import TreeRingLog
  @testable import TreeRingMetrics

  let blobs = Bucket<[UInt8]>.bytes("b")

  /// A store on a simulated disk and its report, which is sampled by hand.
  struct ReportedStore {
    let store: Store
    let recorded = RecordedMetrics()
    let metrics: StoreMetrics

    init(memoryBudget: Int = 64 << 20, mode: StoreMode = .create) throws {
      var options = StoreOptions(mode: mode, memoryBudget: memoryBudget, logger: quietLogger)
      options.pageCellCapacity = 4
      store = try Store(
        path: "app.ring", fileSystem: SimulatedFileSystem(seed: 1), options: options)
      metrics = try StoreMetrics(store, every: .seconds(3600), factory: recorded)
    }

    func put(_ rows: Int = 1, round: Int = 0, durability: Durability? = nil) throws {
      try store.write(durability: durability) { tx in
        for row in 0..<rows { try tx.put([1], for: Key("row \(round) \(row)"), in: blobs) }
      }
    }
  }

  @Suite("Metrics of a store") struct StoreMetricsTests {
    @Test("Every durable commit has a duration, and belongs to one sync")
    func commits() throws {
      let reported = try ReportedStore()
      let recorded = reported.recorded
      for round in 0..<3 { try reported.put(round: round) }
      #expect(recorded.values("treering_commit_seconds").count == 3)
      #expect(recorded.values("treering_commit_seconds").allSatisfy { $0 > 0 })
      #expect(recorded.values("treering_sync_commits") == [1, 1, 1])
      #expect(recorded.values("treering_sync_seconds").count == 3)
      #expect(recorded.total("treering_commits_total") == 0)
      reported.metrics.sample()
      #expect(recorded.total("treering_commits_total") == 3)
      #expect(recorded.total("treering_syncs_total") == 3)
      try reported.store.close()
    }

    @Test("Commits that are not synced wait for a sync, which counts them all")
    func unsynced() throws {
      let reported = try ReportedStore()
      let recorded = reported.recorded
      for round in 0..<5 { try reported.put(round: round, durability: .unsynced) }
      #expect(recorded.values("treering_commit_seconds").count == 5)
      #expect(recorded.values("treering_sync_seconds") == [])
      try reported.store.sync()
      try reported.store.sync()
      #expect(recorded.values("treering_sync_seconds").count == 1)
      #expect(recorded.values("treering_sync_commits") == [5])
      try reported.store.close()
    }

    @Test(
      "A write without a commit has no duration; an asynchronous one that makes a commit has one")
    func writes() async throws {
      struct Refused: Error {}
      let reported = try ReportedStore()
      let store = reported.store
      try await store.write { _ in }
      await #expect(throws: Refused.self) { try await store.write { _ in throw Refused() } }
      #expect(reported.recorded.values("treering_commit_seconds") == [])
      try await store.write { try $0.put([1], for: "a", in: blobs) }
      #expect(reported.recorded.values("treering_commit_seconds").count == 1)
      try await store.close()
    }

    @Test("A checkpoint makes dirty pages clean, and an eviction frees them")
    func pages() throws {
      let reported = try ReportedStore()
      let (store, recorded) = (reported.store, reported.recorded)
      try reported.put(200)
      reported.metrics.sample()
      #expect(recorded.last("treering_dirty_bytes") ?? 0 >= 50 * 4096)
      #expect(recorded.total("treering_checkpoints_total") == 0)
      #expect(recorded.last("treering_log_bytes") == Double(try store.statistics().logByteCount))
      let dirty = recorded.last("treering_dirty_bytes")

      try store.checkpoint()
      reported.metrics.sample()
      #expect(recorded.last("treering_dirty_bytes") == 0)
      #expect(recorded.last("treering_clean_bytes") == dirty)
      #expect(recorded.total("treering_checkpoints_total") == 1)
      #expect(recorded.total("treering_checkpoint_seconds_total") ?? 0 > 0)
      #expect(recorded.total("treering_written_pages_total") == dirty.map { $0 / 4096 })
      #expect(recorded.last("treering_page_file_bytes") ?? 0 >= dirty ?? 0)
      #expect(recorded.total("treering_evicted_pages_total") == 0)

      store.engine.checkpointer?.evict(isForced: true)
      reported.metrics.sample()
      #expect(recorded.last("treering_clean_bytes") == 0)
      #expect(recorded.total("treering_evicted_pages_total") == dirty.map { $0 / 4096 })
      try store.close()
    }

    @Test("Throttled commits and their delays are counted")
    func throttling() throws {
      let reported = try ReportedStore(memoryBudget: 1 << 20)
      let (store, recorded) = (reported.store, reported.recorded)
      reported.metrics.sample()
      #expect(recorded.total("treering_throttled_commits_total") == 0)
      // No checkpoint can free pages, because this thread holds the checkpointer's lock.
      let checkpointer = try #require(store.engine.checkpointer)
      try checkpointer.withoutCheckpoint {
        for round in 0..<40 where try store.statistics().slowedCommitCount == 0 {
          try reported.put(20, round: round, durability: .unsynced)
        }
      }
      reported.metrics.sample()
      #expect(recorded.total("treering_throttled_commits_total") == 1)
      let slowed = try store.statistics().slowedTime / .seconds(1)
      #expect(recorded.total("treering_throttled_seconds_total") == slowed && slowed > 0)
      try store.close()
    }

    @Test("A snapshot is a pin, whose age is the number of later commits")
    func pins() throws {
      let reported = try ReportedStore()
      let (store, recorded) = (reported.store, reported.recorded)
      try reported.put()
      try withExtendedLifetime((try store.snapshot(), try store.snapshot())) {
        for round in 0..<4 { try reported.put(round: round) }
        reported.metrics.sample()
        #expect(recorded.last("treering_pins") == 2)
        #expect(recorded.last("treering_oldest_pin_commits") == 4)
      }
      reported.metrics.sample()
      #expect(recorded.last("treering_pins") == 0)
      #expect(recorded.last("treering_oldest_pin_commits") == 0)
      try store.close()
    }

    @Test("However often samples are taken, counts add up", arguments: seeds(1...20))
    func sums(seed: UInt64) throws {
      var random = SeededGenerator(seed: seed)
      let reported = try ReportedStore(memoryBudget: 1 << 20)
      let (store, recorded) = (reported.store, reported.recorded)
      for round in 0..<Int.random(in: 1...30, using: &random) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try store.checkpoint()
        case 1: reported.metrics.sample()
        default:
          let durability = Bool.random(using: &random) ? Durability.full : .unsynced
          try reported.put(
            Int.random(in: 1...20, using: &random), round: round, durability: durability)
        }
      }
      store.engine.checkpointer?.schedule.settle()
      reported.metrics.sample()
      let statistics = try store.statistics()
      let expected: [(String, Double)] = [
        ("commits", Double(statistics.commits)), ("syncs", Double(statistics.syncCount)),
        ("checkpoints", Double(statistics.checkpointCount)),
        ("written_pages", Double(statistics.writtenPageCount)),
        ("evicted_pages", Double(statistics.evictedPageCount)),
      ]
      for (name, count) in expected {
        #expect(recorded.total("treering_\(name)_total") == count, "\(name), seed \(seed)")
      }
      let grouped = recorded.values("treering_sync_commits").reduce(0, +)
      #expect(grouped == Double(store.log.durable), "seed \(seed)")
      try store.close()
    }

    @Test("docs/metrics.md lists the metrics, with their kinds")
    func documented() throws {
      let reported = try ReportedStore()
      let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../docs/metrics.md")
      let text = try String(contentsOf: file, encoding: .utf8)
      let lines = text.matches(of: #/(?m)^\| `(treering_\w+)` \| (\w+) \|/#)
      let documented = lines.map { "\($0.1) \($0.2)" }.sorted()
      let recorded = reported.recorded
      let actual = recorded.names.sorted().map { name in
        "\(name) \(recorded[name].map { "\($0.kind)" } ?? "")"
      }
      #expect(documented == actual)
      try reported.store.close()
    }
  }
#endif
