// The life of a report: its dimensions, its interval and its end.

#if Metrics
  import TestSupport
  import Testing
  import TreeRingPlatform

  @testable import TreeRing
  @testable import TreeRingLog
  @testable import TreeRingMetrics

  @Suite("Reports of a store") struct ReportTests {
    /// Waits until a condition holds; the test runner limits the time.
    private func wait(until holds: () throws -> Bool) rethrows {
      while try !holds() { Platform.sleep(.milliseconds(1)) }
    }

    @Test("Every metric has the store's name and the dimensions given")
    func dimensions() throws {
      let recorded = RecordedMetrics()
      let store = try Store.inMemory()
      let metrics = try StoreMetrics(
        store, dimensions: [("app", "reader")], factory: recorded)
      #expect(!recorded.names.isEmpty)
      for name in recorded.names {
        #expect(recorded[name]?.dimensions == ["store": "memory", "app": "reader"])
        #expect(name.hasPrefix("treering_"))
      }
      metrics.stop()

      let reported = try ReportedStore()
      #expect(reported.recorded["treering_pins"]?.dimensions == ["store": "app.ring"])
      try reported.store.close()
      let named = RecordedMetrics()
      _ = try StoreMetrics(store, named: "cache", factory: named)
      #expect(named["treering_pins"]?.dimensions == ["store": "cache"])
      try store.close()
    }

    @Test("Samples are taken at each interval", .timeLimit(.minutes(1)))
    func interval() throws {
      let (recorded, store) = (RecordedMetrics(), try Store.inMemory())
      let metrics = try StoreMetrics(store, every: .milliseconds(1), factory: recorded)
      for commit in 1...3 {
        try store.write { try $0.put([1], for: "a", in: blobs) }
        wait { recorded.total("treering_commits_total") == Double(commit) }
      }
      metrics.stop()
      try store.close()
    }

    @Test("A stopped report records nothing more; its gauges are destroyed, its counts stay")
    func stopping() throws {
      let reported = try ReportedStore()
      let recorded = reported.recorded
      try reported.put()
      reported.metrics.stop()
      reported.metrics.stop()
      let before = recorded.names.map { recorded.values($0) }
      try reported.put(round: 1)
      reported.metrics.sample()
      #expect(recorded.names.map { recorded.values($0) } == before)
      for name in recorded.names {
        let metric = try #require(recorded[name])
        #expect(metric.isDestroyed == (metric.kind == .gauge), "\(name)")
      }
      try reported.store.close()
    }

    @Test("Several reports of one store record each commit, and one ends without the others")
    func several() throws {
      let first = try ReportedStore()
      let recorded = RecordedMetrics()
      let second = try StoreMetrics(first.store, every: .seconds(3600), factory: recorded)
      try first.put()
      first.metrics.stop()
      try first.put(round: 1)
      second.sample()
      #expect(first.recorded.values("treering_commit_seconds").count == 1)
      #expect(recorded.values("treering_commit_seconds").count == 2)
      #expect(recorded.total("treering_commits_total") == 2)
      try first.store.close()
    }

    @Test("A report of a closed store is refused, and one whose store is closed ends")
    func closed() throws {
      let reported = try ReportedStore()
      try reported.store.close()
      #expect(throws: TreeRingError.self) { try StoreMetrics(reported.store) }
      reported.metrics.sample()
      #expect(reported.recorded["treering_pins"]?.isDestroyed == true)
    }

    @Test("A report keeps neither its store nor itself alive", .timeLimit(.minutes(1)))
    func lifetimes() throws {
      let recorded = RecordedMetrics()
      weak var weakStore: Store?
      weak var weakMetrics: StoreMetrics?
      do {
        let store = try Store.inMemory()
        weakStore = store
        let metrics = try StoreMetrics(store, every: .milliseconds(1), factory: recorded)
        weakMetrics = metrics
        try store.write { try $0.put([1], for: "a", in: blobs) }
        withExtendedLifetime((store, metrics)) {}
      }
      // A sample may hold them for a moment.
      wait { weakStore == nil && weakMetrics == nil }
      #expect(recorded["treering_pins"]?.isDestroyed == true)
    }

    @Test("The report of a store whose last reference is gone ends with the next sample")
    func released() throws {
      let recorded = RecordedMetrics()
      var store: Store? = try Store.inMemory()
      let metrics = try StoreMetrics(
        try #require(store), every: .seconds(3600), factory: recorded)
      store = nil
      metrics.sample()
      #expect(recorded["treering_pins"]?.isDestroyed == true)
    }

    @Test("A follower that is held up lags behind, and catches up", .timeLimit(.minutes(1)))
    func lag() throws {
      let folder = try TemporaryFolder()
      let path = folder.path + "/s.ring"
      let writer = try Store(at: path, options: StoreOptions(logger: quietLogger))
      // The index of the reader holds up the replay of the first row while the gate is closed.
      let isOpen = Mutex(true)
      let held = GroupIndex("Held", on: blobs, version: 1) { _ in
        while !isOpen.withLock({ $0 }) { Platform.sleep(.milliseconds(1)) }
        return Place(in: "all", by: .ascending(1))
      }
      try writer.register(
        GroupIndex("Held", on: blobs, version: 1) { _ in
          Place(in: "all", by: .ascending(1))
        })
      try writer.write { try $0.put([1], for: "a", in: blobs) }
      let reader = try Store(
        at: path, options: StoreOptions(mode: .readOnly, indexes: [held], logger: quietLogger))
      let recorded = RecordedMetrics()
      let metrics = try StoreMetrics(reader, every: .seconds(3600), factory: recorded)
      #expect(recorded.last("treering_lag_commits") == 0)
      #expect(recorded.last("treering_lag_seconds") == 0)

      isOpen.withLock { $0 = false }
      try writer.write { try $0.put([2], for: "b", in: blobs) }
      wait {
        metrics.sample()
        return recorded.last("treering_lag_commits") == 1
      }
      metrics.sample()
      let values = recorded.values("treering_lag_seconds").suffix(2)
      #expect(values.first ?? 0 < values.last ?? 0)

      isOpen.withLock { $0 = true }
      wait { reader.newestCommit == writer.newestCommit }
      wait {
        metrics.sample()
        return recorded.last("treering_lag_commits") == 0
      }
      #expect(recorded.last("treering_lag_seconds") == 0)
      #expect(recorded.total("treering_commits_total") == 1)
      try reader.close()
      try writer.close()
    }
  }
#endif
