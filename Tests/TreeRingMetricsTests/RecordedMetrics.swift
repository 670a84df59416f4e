// A metrics system that keeps every value in memory.

#if Metrics
  import CoreMetrics
  import TreeRingPlatform

  /// The values of all metrics, by name.
  final class RecordedMetrics: MetricsFactory {
    enum Kind: Hashable { case counter, gauge, distribution, timer }

    struct Metric {
      var kind: Kind
      var dimensions: [String: String]
      /// The increments of a counter; otherwise the values, those of a timer in seconds.
      var values: [Double] = []
      var isDestroyed = false
    }

    private let state = Mutex<[String: Metric]>([:])

    var names: Set<String> { Set(state.withLock { $0.keys }) }
    subscript(name: String) -> Metric? { state.withLock { $0[name] } }

    func values(_ name: String) -> [Double] { self[name]?.values ?? [] }
    /// The sum of a counter's increments; nil without that counter.
    func total(_ name: String) -> Double? { self[name].map { $0.values.reduce(0, +) } }
    /// The newest value.
    func last(_ name: String) -> Double? { self[name]?.values.last }

    private func make(_ label: String, _ kind: Kind, _ dimensions: [(String, String)]) -> Handler {
      state.withLock {
        $0[label] = Metric(kind: kind, dimensions: Dictionary(dimensions) { _, last in last })
      }
      return Handler(self, label)
    }

    fileprivate func record(_ name: String, _ value: Double) {
      state.withLock { $0[name]?.values.append(value) }
    }

    private func destroy(_ handler: AnyObject) {
      guard let handler = handler as? Handler else { return }
      state.withLock { $0[handler.name]?.isDestroyed = true }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
      make(label, .counter, dimensions)
    }
    func makeFloatingPointCounter(
      label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
      make(label, .counter, dimensions)
    }
    func makeRecorder(
      label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
      make(label, aggregate ? .distribution : .gauge, dimensions)
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
      make(label, .timer, dimensions)
    }
    func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
      destroy(handler)
    }
    func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
    func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }
  }

  private final class Handler: CounterHandler, FloatingPointCounterHandler, RecorderHandler,
    TimerHandler
  {
    private let metrics: RecordedMetrics
    let name: String

    init(_ metrics: RecordedMetrics, _ name: String) {
      self.metrics = metrics
      self.name = name
    }

    func increment(by amount: Int64) { metrics.record(name, Double(amount)) }
    func increment(by amount: Double) { metrics.record(name, amount) }
    func reset() {}
    func record(_ value: Int64) { metrics.record(name, Double(value)) }
    func record(_ value: Double) { metrics.record(name, value) }
    func recordNanoseconds(_ duration: Int64) { metrics.record(name, Double(duration) / 1e9) }
  }
#endif
