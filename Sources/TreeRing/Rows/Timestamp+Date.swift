// Timestamps as Foundation's dates, and the wall clock.

public import TreeRingLog
public import TreeRingPlatform

extension Timestamp {
  /// Creates a timestamp from a date, to the microsecond. A date out of range is clamped.
  public init(_ date: Date) {
    let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
    self.init(
      microseconds: Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max))
  }

  /// The time of the wall clock.
  public static var now: Timestamp { Timestamp(Date()) }

  /// The same moment as a date.
  public var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }
}
