// The distributions, recorded as commits and syncs happen.

#if Metrics
  internal import CoreMetrics
  internal import TreeRing

  final class DurationRecorder: DurationObserver {
    private let commitSeconds: CoreMetrics.Timer
    private let syncSeconds: CoreMetrics.Timer
    private let syncCommits: Recorder

    init(_ maker: MetricMaker) {
      commitSeconds = maker.timer("treering_commit_seconds")
      syncSeconds = maker.timer("treering_sync_seconds")
      syncCommits = maker.distribution("treering_sync_commits")
    }

    func commitEnded(after duration: Duration) { commitSeconds.record(duration) }

    func syncEnded(after duration: Duration, commitCount: Int) {
      syncSeconds.record(duration)
      // A sync without new commits, as before a compaction, is not a group.
      if commitCount > 0 { syncCommits.record(commitCount) }
    }
  }

  extension CoreMetrics.Timer {
    /// Records a duration, at most 292 years.
    fileprivate func record(_ duration: Duration) {
      let (seconds, attoseconds) = duration.components
      let nanoseconds = Double(seconds) * 1e9 + Double(attoseconds) / 1e9
      recordNanoseconds(Int64(exactly: nanoseconds.rounded()) ?? .max)
    }
  }
#endif
