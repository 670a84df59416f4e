// Durations in buckets, so that any number of them takes little memory. Each power of two has 64
// buckets: a bucket's upper end is at most 1.6 % above a duration in it.

/// Counts durations in nanoseconds.
struct LatencyHistogram {
  private static let bits = 6
  private var counts = [UInt64](repeating: 0, count: (64 - bits + 1) << bits)
  /// The number of durations.
  private(set) var count: UInt64 = 0
  /// The largest of them; 0 if there are none.
  private(set) var maximum: UInt64 = 0

  /// Adds a duration. O(1).
  mutating func add(_ nanoseconds: UInt64) {
    counts[Self.bucket(of: nanoseconds)] += 1
    count += 1
    maximum = max(maximum, nanoseconds)
  }

  /// The smallest bound of a bucket that at least this part of the durations do not exceed; at most
  /// the maximum.
  /// - Parameter part: from 0 to 1.
  func percentile(_ part: Double) -> UInt64 {
    let rank = max(1, UInt64((Double(count) * part).rounded(.up)))
    var seen: UInt64 = 0
    for (bucket, number) in counts.enumerated() {
      seen += number
      if seen >= rank { return min(Self.upperEnd(of: bucket), maximum) }
    }
    return maximum
  }

  private static func bucket(of value: UInt64) -> Int {
    let width = 64 - value.leadingZeroBitCount
    let shift = max(0, width - bits - 1)
    return (shift << bits) + Int(value >> UInt64(shift))
  }

  private static func upperEnd(of bucket: Int) -> UInt64 {
    let shift = max(0, (bucket >> bits) - 1)
    let first = UInt64(bucket - (shift << bits)) << UInt64(shift)
    return first + ((1 << UInt64(shift)) - 1)
  }
}
