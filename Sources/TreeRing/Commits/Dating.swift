// The date of a commit: the clock's, one that the writer gives, or that of the previous commit.
//
// Dates never decrease from one commit to the next, so that a lookup by date finds one commit. A
// commit that is given no date takes the clock's date, or the previous commit's if the clock is
// behind that; the result of the write reports this. If many rows have expired since the write
// began, the commit is dated just before these (Store+Sweep.swift). A date that the writer gives is
// taken unchanged or refused.

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

/// Kinds of dates that are refused unless allowed.
public struct TimestampAllowance: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A date earlier than the newest commit's becomes that commit's date. `Written.isClamped`
  /// reports it.
  public static let clamping = TimestampAllowance(rawValue: 1)
  /// A date may lie more than a minute ahead of the clock.
  public static let ahead = TimestampAllowance(rawValue: 2)
}

/// The date of a commit.
struct CommitDate {
  var timestamp: Timestamp
  /// Whether it is later than the requested date, or than the clock.
  var isClamped: Bool
}

extension Timestamp {
  /// The maximum lead of a date over the clock, in microseconds.
  static let tolerance: Int64 = 60_000_000

  /// The date of an index defined before there is any data: 0001-01-01T00:00:00Z, earlier than any
  /// date of data.
  static let beforeData = Timestamp(microseconds: -62_135_596_800_000_000)

  /// Whether it is too far ahead of a clock to be accepted.
  func isAhead(of clock: Timestamp) -> Bool {
    let (limit, overflow) = clock.microseconds.addingReportingOverflow(Self.tolerance)
    return !overflow && microseconds > limit
  }
}
