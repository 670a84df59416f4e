// The rate and the latencies of one operation, repeated for some time.

import Dispatch

/// The figures of one operation.
struct Measurement {
  /// The operation, for people: `1 row`.
  var operation: String
  /// The index that it reads, if any.
  var index: String?
  var seconds: Double
  var latencies: LatencyHistogram

  /// Operations per second.
  var rate: Double { Double(latencies.count) / seconds }

  /// Repeats an operation, at least once, until the time is over. Reads the clock once for each
  /// operation.
  ///
  /// - Parameter body: the operation, called with the number of earlier ones.
  /// - Throws: the errors of `body`; a failure with exit code 130 after Ctrl-C.
  static func take(
    _ operation: String, of index: String? = nil, for seconds: Double,
    _ body: (_ number: Int) throws -> Void
  ) throws -> Measurement {
    var latencies = LatencyHistogram()
    let start = DispatchTime.now().uptimeNanoseconds
    let length = UInt64(seconds * 1e9)
    var last = start
    var number = 0
    repeat {
      try Interrupt.check()
      try body(number)
      number += 1
      let now = DispatchTime.now().uptimeNanoseconds
      latencies.add(now - last)
      last = now
    } while last - start < length
    return Measurement(
      operation: operation, index: index, seconds: Double(last - start) / 1e9,
      latencies: latencies)
  }
}
