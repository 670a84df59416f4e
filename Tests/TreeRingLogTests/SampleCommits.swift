// Commits of the log's tests, each a function of its number.

import Logging

@testable import TreeRingLog

/// Drafts of commits with their contents, and options for a log of them.
enum SampleCommits {
  static func payload(_ number: CommitNumber) -> [UInt8] {
    (0..<Int(number * 37 % 900)).map { UInt8(truncatingIfNeeded: $0 / 3 &+ Int(number)) }
  }

  /// The logged values; every third commit has some.
  static func values(_ number: CommitNumber) -> [LoggedValue] {
    guard number % 3 == 0 else { return [] }
    return [
      LoggedValue(operation: 0, part: .object, bytes: payload(number + 1)),
      LoggedValue(operation: 0, part: .metadata, bytes: payload(number + 2)),
      LoggedValue(operation: 4, part: .object, bytes: Array(repeating: 7, count: 200_000)),
    ]
  }

  static func draft(_ number: CommitNumber, _ durability: Durability = .full) -> CommitDraft {
    CommitDraft(
      number: number, timestamp: Timestamp(microseconds: Int64(number) * 10),
      operationCount: UInt32(number % 5) + 1, payload: payload(number), values: values(number),
      durability: durability)
  }

  /// Options under which the log prints no notices.
  static func quiet(_ access: LogAccess = .create) -> LogOptions {
    var options = LogOptions(access: access)
    options.logger.logLevel = .critical
    return options
  }
}
