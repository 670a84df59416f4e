// Commits of the log's tests, each a function of its number.

import Logging
import TestSupport
import Testing

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

  /// The log of a new store, with sixty durable commits in short segments. As in a process that
  /// writes, the store's lock publishes the newest durable commit.
  static func publishedLog(
    ofStore store: String, _ files: any FileSystem
  ) throws -> CommitLog {
    try files.makeDirectory(store)
    let lock = try StoreLock(path: store + "/LOCK", fileSystem: files)
    var options = quiet()
    options.segmentSize = 3_000
    options.durableChanged = { lock.publish(durable: $0) }
    let log = try CommitLog(directory: store + "/log", fileSystem: files, options: options)
    lock.publish(durable: log.durable)
    for number in 1...60 as ClosedRange<CommitNumber> {
      try log.complete(log.append(draft(number, .unsynced)))
    }
    try log.sync()
    return log
  }

  /// Reads commits in every way. A rewriting may drop those whose number is no multiple of three.
  static func read(_ log: CommitLog, _ random: inout SeededGenerator) throws {
    let number = CommitNumber.random(in: 1...log.completed, using: &random)
    let found = Result { () throws(TreeRingError) in
      try log.readPayload(of: number) { [UInt8]($1) }
    }
    if case .failure(let error) = found, error.code == .beyondHorizon {
      #expect(number < log.horizon && number % 3 != 0)
    } else {
      #expect(try found.get() == payload(number))
    }
    var last = number - 1
    try log.replay(from: number, through: log.completed) { header, bytes in
      #expect(header.number > last && [UInt8](bytes) == payload(header.number))
      // Only dropped commits leave gaps.
      for missing in last + 1..<header.number { #expect(missing % 3 != 0) }
      last = header.number
      return true
    }
    #expect(try log.newest(atOrBefore: Timestamp(microseconds: .max)) >= last)
  }
}
