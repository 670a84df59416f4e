// The counters and gauges, recorded from a store's statistics.

#if Metrics
  internal import CoreMetrics
  internal import TreeRing

  struct SampleRecorder: Sendable {
    private let commits, syncs, evictedPages, checkpoints, writtenPages, throttledCommits: Counter
    private let checkpointSeconds, throttledSeconds: FloatingPointCounter
    private let dirtyBytes, cleanBytes, logBytes, pageFileBytes: Gauge
    private let pins, oldestPinCommits, lagCommits, lagSeconds: Gauge

    init(_ maker: MetricMaker) {
      commits = maker.counter("treering_commits_total")
      syncs = maker.counter("treering_syncs_total")
      evictedPages = maker.counter("treering_evicted_pages_total")
      checkpoints = maker.counter("treering_checkpoints_total")
      checkpointSeconds = maker.seconds("treering_checkpoint_seconds_total")
      writtenPages = maker.counter("treering_written_pages_total")
      throttledCommits = maker.counter("treering_throttled_commits_total")
      throttledSeconds = maker.seconds("treering_throttled_seconds_total")
      dirtyBytes = maker.gauge("treering_dirty_bytes")
      cleanBytes = maker.gauge("treering_clean_bytes")
      logBytes = maker.gauge("treering_log_bytes")
      pageFileBytes = maker.gauge("treering_page_file_bytes")
      pins = maker.gauge("treering_pins")
      oldestPinCommits = maker.gauge("treering_oldest_pin_commits")
      lagCommits = maker.gauge("treering_lag_commits")
      lagSeconds = maker.gauge("treering_lag_seconds")
    }

    /// Records the values now, and the growth of counts since the last sample.
    func record(_ now: StoreStatistics, after last: StoreStatistics) {
      func growth<Count: BinaryInteger>(of count: KeyPath<StoreStatistics, Count>) -> Int64 {
        let (new, old) = (now[keyPath: count], last[keyPath: count])
        // A smaller count has begun anew.
        return Int64(clamping: new < old ? new : new - old)
      }
      func growth(of time: KeyPath<StoreStatistics, Duration>) -> Double {
        let (new, old) = (now[keyPath: time], last[keyPath: time])
        return (new < old ? new : new - old) / .seconds(1)
      }
      commits.increment(by: growth(of: \.commits))
      syncs.increment(by: growth(of: \.syncCount))
      evictedPages.increment(by: growth(of: \.evictedPageCount))
      checkpoints.increment(by: growth(of: \.checkpointCount))
      checkpointSeconds.increment(by: growth(of: \.checkpointTime))
      writtenPages.increment(by: growth(of: \.writtenPageCount))
      throttledCommits.increment(by: growth(of: \.slowedCommitCount))
      throttledSeconds.increment(by: growth(of: \.slowedTime))
      dirtyBytes.record(now.dirtyPageCount * Self.pageByteCount)
      cleanBytes.record(now.cleanPageCount * Self.pageByteCount)
      logBytes.record(now.logByteCount)
      pageFileBytes.record(now.pageFileByteCount)
      pins.record(now.pins.count)
      // The pins are in the order of their commits. A pin may be newer than the other numbers.
      let oldest = now.pins.first?.commit ?? now.commits
      oldestPinCommits.record(now.commits - min(oldest, now.commits))
      lagCommits.record(now.lagCommitCount)
      lagSeconds.record(now.lagTime / .seconds(1))
    }

    func destroyGauges() {
      let gauges = [
        dirtyBytes, cleanBytes, logBytes, pageFileBytes, pins, oldestPinCommits, lagCommits,
        lagSeconds,
      ]
      for gauge in gauges { gauge.destroy() }
    }

    private static let pageByteCount = 4096
  }
#endif
