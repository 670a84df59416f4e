// A log whose segments are rewritten at random, and the allowed forms of each of its commits.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

/// The readable form of one commit: nil for each absent part.
struct CommitForm: Hashable {
  var payload: [UInt8]
  var object: [UInt8]?
  var metadata: [UInt8]?
}

/// The form of each commit of a segment; nil if it was dropped.
typealias Forms = [CommitNumber: CommitForm?]

/// The written commits, and their forms after each rewriting.
final class RewriteWork {
  var disk: SimulatedFileSystem
  var random: SeededGenerator
  /// The first form of each commit, oldest first.
  var original: [CommitForm] = []
  /// For each rewritten segment, by first commit: the current forms of its commits.
  private var forms: [CommitNumber: Forms] = [:]
  /// The alternative forms on the disk after a failed rewriting.
  private var others: [CommitNumber: [Forms]] = [:]
  var horizon: CommitNumber = 0
  var segmentSize: UInt64 = 1_200

  init(seed: UInt64, disk: SimulatedFileSystem? = nil) {
    self.disk = disk ?? SimulatedFileSystem(seed: seed)
    random = SeededGenerator(seed: seed)
  }

  func open(_ access: LogAccess = .create) throws -> CommitLog {
    var options = LogOptions(access: access, segmentSize: segmentSize)
    options.logger.logLevel = .critical
    return try CommitLog(directory: "log", fileSystem: disk, options: options)
  }

  private func bytes(_ count: Int) -> [UInt8] {
    let limit = Int.random(in: 0...count, using: &random)
    return (0..<limit).map { _ in UInt8.random(in: 0..<6, using: &random) }
  }

  func commit(_ log: CommitLog, _ durability: Durability = .full) throws {
    let number = CommitNumber(original.count + 1)
    var form = CommitForm(payload: bytes(200))
    var values: [LoggedValue] = []
    if number % 3 == 0 {
      let object = bytes(300)
      form.object = object
      values.append(LoggedValue(operation: 2, part: .object, bytes: object))
    }
    if number % 5 == 0 {
      let metadata = bytes(100)
      form.metadata = metadata
      values.append(LoggedValue(operation: 1, part: .metadata, bytes: metadata))
    }
    let ticket = try log.append(
      CommitDraft(
        number: number, timestamp: Timestamp(microseconds: Int64(number) * 10),
        operationCount: 3, payload: form.payload, values: values, durability: durability))
    original.append(form)
    try log.complete(ticket)
  }

  /// Chooses the treatment of one commit and records it.
  func choose(_ number: CommitNumber, in first: CommitNumber) -> Rewriting {
    // The current form: an earlier rewriting may have changed it.
    let now = form(of: number, in: first) ?? original[Int(number) - 1]
    let chance = Int.random(in: 0..<10, using: &random)
    if number < horizon, chance < 5 {
      pending[number] = .some(nil)
      return .drop
    }
    guard chance < (number < horizon ? 8 : 2) else {
      pending[number] = now
      return .keep
    }
    var form = CommitForm(payload: bytes(150))
    var kept: [(operation: UInt32, part: ValuePart)] = []
    if let object = now.object, Bool.random(using: &random) {
      form.object = object
      kept.append((2, .object))
    }
    if let metadata = now.metadata, Bool.random(using: &random) {
      form.metadata = metadata
      kept.append((1, .metadata))
    }
    pending[number] = form
    return .replace(payload: form.payload, keptValues: kept)
  }

  private var pending: Forms = [:]

  private func form(of number: CommitNumber, in first: CommitNumber) -> CommitForm? {
    forms[first]?[number] ?? nil
  }

  /// Rewrites one segment; `between` runs before the treatment of each commit is chosen.
  func rewrite(
    _ log: CommitLog, _ segment: SegmentInfo, between: () throws -> Void = {}
  ) throws {
    let first = segment.firstCommit
    pending = [:]
    func result() -> Forms {
      var all = forms[first] ?? [:]
      for (number, form) in pending { all[number] = .some(form) }
      return all
    }
    do {
      try log.rewrite(segment: first, horizon: horizon) { header, _ in
        try between()
        #expect(header.operationCount == 3)
        return choose(header.number, in: first)
      }
    } catch {
      let now = log.segments.first { $0.firstCommit == first }
      if now?.generation == segment.generation {
        others[first, default: []].append(result())
      } else {
        forms[first] = result()
      }
      throw error
    }
    forms[first] = result()
    others[first] = nil
  }

  /// Reads every commit in every way and compares. A log reopened after a failure may hold the
  /// result of the failed rewriting.
  func check(_ log: CommitLog, _ context: String, reopened: Bool = false) throws {
    let segments = log.segments
    var present: [CommitNumber] = []
    var expectedFirst: CommitNumber = 1
    for segment in segments {
      #expect(segment.firstCommit == expectedFirst, "\(context)")
      expectedFirst = segment.lastCommit + 1
      guard segment.lastCommit >= segment.firstCommit else { continue }
      var found: Forms = [:]
      for number in segment.firstCommit...segment.lastCommit {
        found[number] = .some(try read(log, number, context))
        if found[number] != .some(nil) { present.append(number) }
      }
      let first = segment.firstCommit
      let unchanged = Forms(
        uniqueKeysWithValues: found.keys.map { ($0, .some(original[Int($0) - 1])) })
      let allowed = [forms[first] ?? unchanged] + (reopened ? others[first] ?? [] : [])
      #expect(allowed.contains(found), "\(context): segment \(first)")
    }
    var replayed: [CommitNumber] = []
    try log.replay(from: 1, through: log.completed) { header, _ in
      replayed.append(header.number)
      return true
    }
    #expect(replayed == present, "\(context)")
    for number in 1...max(log.completed, 1) where log.completed > 0 {
      let moment = Timestamp(microseconds: Int64(number) * 10 + 5)
      #expect(
        try log.newest(atOrBefore: moment) == present.last { $0 <= number } ?? 0, "\(context)")
    }
  }

  /// The form of every commit of a log, oldest first.
  func forms(of log: CommitLog) throws -> [CommitForm?] {
    guard log.completed > 0 else { return [] }
    return try (1...log.completed).map { try read(log, $0, "forms") }
  }

  private func read(
    _ log: CommitLog, _ number: CommitNumber, _ context: String
  ) throws -> CommitForm? {
    let payload = Result { () throws(TreeRingError) in
      try log.readPayload(of: number) { header, bytes in
        #expect(header.number == number && header.operationCount == 3)
        #expect(header.timestamp.microseconds == Int64(number) * 10)
        return [UInt8](bytes)
      }
    }
    if case .failure(let error) = payload, error.code == .beyondHorizon {
      #expect(number < log.horizon && error.current == log.horizon, "\(context)")
      #expect(error.message.contains("\(log.horizon)"), "\(context)")
      return nil
    }
    var form = CommitForm(payload: try payload.get())
    func value(_ operation: UInt32, _ part: ValuePart) throws -> [UInt8]? {
      let result = Result { () throws(TreeRingError) in
        try log.value(commit: number, operation: operation, part: part)
      }
      guard case .failure(let error) = result else { return try result.get() }
      if error.code == .notFound { return nil }
      // Up to the horizon, an absent value may have been removed.
      if error.code == .beyondHorizon, number <= log.horizon, error.current == log.horizon {
        return nil
      }
      throw error
    }
    form.object = try value(2, .object)
    form.metadata = try value(1, .metadata)
    return form
  }
}
