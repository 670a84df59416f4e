// Reports a store's numbers to the metrics system of the app.
//
// Durations come from the store as they happen (`DurationObserver`); everything else is sampled
// from `Store.statistics`. The store holds the recorder of durations, which knows no store; the
// metrics hold the store weakly, and the alarm holds the metrics weakly. So there is no cycle.

#if Metrics
  public import CoreMetrics
  internal import Dispatch
  public import TreeRing
  internal import TreeRingLog
  internal import TreeRingPlatform

  /// The report of one store to a metrics system, from its creation to ``stop()`` or its release.
  ///
  /// The metrics have names that begin with `treering_`; docs/metrics.md lists them. Each has the
  /// dimension `store` and those given. Counts begin at 0 when the report begins.
  ///
  /// The report keeps neither the store nor itself alive. It ends by itself at the first sample
  /// after the store was closed. Keep it as long as the store.
  public final class StoreMetrics: Sendable {
    private struct State: Sendable {
      var last: StoreStatistics
      var isStopped = false
    }

    private weak let store: Store?
    private let interval: Duration
    private let recorder: DurationRecorder
    private let samples: SampleRecorder
    /// Held throughout a sample, so that each change is counted once.
    private let state: Mutex<State>

    /// Begins to report a store.
    ///
    /// While it is reported, each write and each sync of the store reads the clock twice and
    /// records its duration. A sample costs one call of `Store.statistics`, on a thread of the
    /// system.
    /// - Parameters:
    ///   - store: The store, open for writing or for reading.
    ///   - name: The value of the dimension `store`; by default the last component of the store's
    ///     path, `memory` for a store in memory.
    ///   - interval: The time from one sample to the next; at least a millisecond.
    ///   - dimensions: Further dimensions of every metric.
    ///   - factory: The receiver of the metrics; by default that of `MetricsSystem`.
    /// - Throws: `closed` if the store is closed; the other errors of `Store.statistics`.
    public init(
      _ store: Store, named name: String? = nil, every interval: Duration = .seconds(10),
      dimensions: [(String, String)] = [], factory: (any MetricsFactory)? = nil
    ) throws(TreeRingError) {
      let last = try store.statistics()
      let name = name ?? store.path.map(Self.lastComponent) ?? "memory"
      let maker = MetricMaker(
        dimensions: [("store", name)] + dimensions, factory: factory ?? MetricsSystem.factory)
      self.store = store
      self.interval = max(interval, .milliseconds(1))
      recorder = DurationRecorder(maker)
      samples = SampleRecorder(maker)
      state = Mutex(State(last: last))
      samples.record(last, after: last)
      store.addDurationObserver(recorder)
      waitForNext()
    }

    deinit { stop() }

    /// Reports the sizes and counts now, in addition to the samples at each interval; for an app
    /// that is about to push its metrics. Does nothing after ``stop()``, or once the store is
    /// closed.
    public func sample() {
      guard let store else { return stop() }
      let isOver = state.withLock { state in
        if state.isStopped { return false }
        do throws(TreeRingError) {
          let next = try store.statistics()
          samples.record(next, after: state.last)
          state.last = next
          return false
        } catch {
          // Any other failure may pass. Until then the gauges keep their values.
          return error.code == .closed
        }
      }
      if isOver { stop() }
    }

    /// Ends the report. The gauges are destroyed, so that no stale values stay; counters and
    /// distributions stay. A second call does nothing.
    public func stop() {
      let wasStopped = state.withLock { state in
        defer { state.isStopped = true }
        return state.isStopped
      }
      if wasStopped { return }
      store?.removeDurationObserver(recorder)
      samples.destroyGauges()
    }

    private func waitForNext() {
      Alarm.shared.after(interval) { [weak self] in
        // The alarm's thread must not wait for the file system.
        DispatchQueue.global(qos: .utility).async { [weak self] in
          guard let self else { return }
          sample()
          if !state.withLock({ $0.isStopped }) { waitForNext() }
        }
      }
    }

    private static func lastComponent(of path: String) -> String {
      path.split(separator: "/").last.map(String.init) ?? path
    }
  }
#endif
