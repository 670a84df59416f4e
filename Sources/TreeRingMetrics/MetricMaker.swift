// Makes the metrics of one store, all with the same dimensions.

#if Metrics
  internal import CoreMetrics

  struct MetricMaker {
    let dimensions: [(String, String)]
    let factory: any MetricsFactory

    func counter(_ name: String) -> Counter {
      Counter(label: name, dimensions: dimensions, factory: factory)
    }

    /// A counter of seconds.
    func seconds(_ name: String) -> FloatingPointCounter {
      FloatingPointCounter(label: name, dimensions: dimensions, factory: factory)
    }

    func gauge(_ name: String) -> Gauge {
      Gauge(label: name, dimensions: dimensions, factory: factory)
    }

    /// A distribution of numbers.
    func distribution(_ name: String) -> Recorder {
      Recorder(label: name, dimensions: dimensions, aggregate: true, factory: factory)
    }

    /// A distribution of durations, shown in seconds.
    func timer(_ name: String) -> CoreMetrics.Timer {
      CoreMetrics.Timer(
        label: name, dimensions: dimensions, preferredDisplayUnit: .seconds, factory: factory)
    }
  }
#endif
