// The work of an import: each line becomes a commit.

import TreeRing
import TreeRingImport
import TreeRingLog

/// A running import.
struct ImportWork {
  let store: Store
  let input: InputFiles
  let durability: Durability
  private(set) var commitCount: UInt64 = 0
  private(set) var operationCount: UInt64 = 0
  /// The number of dates before that of the previous commit.
  private(set) var clampedCount: UInt64 = 0
  /// The number of lines skipped because they are already commits.
  private(set) var skippedCount: UInt64 = 0
  private(set) var wasInterrupted = false
  private let progress: ProgressBar
  /// The pace of commits with dates; nil writes as fast as possible.
  private var pace: ImportPace?

  init(store: Store, input: InputFiles, durability: Durability, pace: ImportPace? = nil) {
    self.pace = pace
    self.store = store
    self.input = input
    self.durability = durability
    progress = ProgressBar("Importing", total: input.totalByteCount)
  }

  /// The newest commit.
  var last: CommitNumber { store.newestCommit }

  /// Imports lines of the commit format.
  ///
  /// - Parameters:
  ///   - bases: the bases at the beginning of the input.
  ///   - again: true to import the history that the store begins with once more.
  ///   - unchecked: true to keep no rules of the store.
  mutating func importCommits(
    after bases: BaseImport, resuming: Bool, again: Bool, unchecked: Bool
  ) throws {
    defer { progress.finish() }
    let baseCommits = Set(bases.commits)
    operationCount = bases.operationCount
    skippedCount = bases.skippedCount
    clampedCount = bases.clampedCount
    if resuming { try skipCommits(after: bases) }
    let held = resuming || again || !bases.commits.isEmpty ? 0 : store.newestCommit
    var isFirst = true
    var commits = CommitReader(input.lines)
    while try commits.next() {
      if isFirst, held > 0 { try checkIsNew(commits.line) }
      isFirst = false
      pace?.wait(for: commits.line.at)
      if Interrupt.isRequested {
        wasInterrupted = true
        return
      }
      try input.failing {
        let written = try store.write(durability: durability) {
          $0.keepsRules = !unchecked
          try commits.line.apply(to: $0, after: baseCommits)
        }
        if written.isClamped, commits.line.at != nil { clampedCount += 1 }
      }
      operationCount += UInt64(commits.line.operationCount)
      if try !goOn() { return }
    }
  }

  /// Imports rows, `perCommit` of them in each commit.
  mutating func importRows(
    bucket: String, key: String, perCommit: Int, resuming: Bool
  ) throws {
    defer { progress.finish() }
    var rows = try RowReader(input.lines, key: key)
    if resuming { try skipRows(&rows, bucket: bucket, perCommit: perCommit) }
    var isAtEnd = try !rows.next()
    if !isAtEnd, !resuming { try noteIfHeld(rows, in: bucket) }
    while !isAtEnd {
      var count = 0
      try input.failing {
        _ = try store.write(durability: durability) { tx in
          repeat {
            try rows.apply(to: tx, in: bucket)
            count += 1
            isAtEnd = try !rows.next()
          } while !isAtEnd && count < perCommit
        }
      }
      operationCount += UInt64(count)
      if try !goOn() { return }
    }
  }

  /// Counts a commit; false if the work should stop.
  private mutating func goOn() throws -> Bool {
    commitCount += 1
    if commitCount & 255 == 0 {
      progress.update(done: input.lines.sourceByteCount, count: commitCount, unit: "commits")
    }
    wasInterrupted = Interrupt.isRequested
    return !wasInterrupted
  }

  // MARK: - Resuming

  /// Throws if the first line is the store's first commit with its date. Such input was imported
  /// before and would double the whole history. A line without a date causes only a message,
  /// because the repetition may be intended.
  private func checkIsNew(_ line: CommitLine) throws {
    guard store.horizon <= 1 else { return }
    let (info, operations) = try store.operations(of: 1)
    guard Self.matches(line, info, operations) else { return }
    if line.at == nil {
      return StandardError.line(
        "\(input.place) equals commit 1 of the store and is imported once more. --resume skips "
          + "the lines that are commits already.")
    }
    guard line.at == info.timestamp else { return }
    throw Failure(
      .badInput,
      "\(input.place): The line is commit 1 of the store already. Nothing was imported. "
        + "--resume skips the lines that are commits already, --again imports them once more.")
  }

  /// Prints a message if the first row equals the first put of the store's first commit.
  private func noteIfHeld(_ rows: RowReader, in bucket: String) throws {
    guard store.newestCommit > 0, store.horizon <= 1,
      case .row(let id, .put(_, let object, _))? = try store.operations(of: 1).operations.first,
      id.bucket.isSameName(as: bucket), id.key == rows.key, object == rows.object
    else { return }
    StandardError.line(
      "\(input.place) equals the first row of commit 1; rows are imported once more. --resume "
        + "skips the rows that are in commits already.")
  }

  /// Skips as many lines as there are commits, after checking that the last of them is the last
  /// commit.
  private mutating func skipCommits(after bases: BaseImport) throws {
    let count = store.newestCommit
    var commit = bases.commits.last ?? 0
    var line = CommitLine()
    while commit < count {
      guard let text = try input.lines.next() else { throw tooShort(count) }
      skippedCount += 1
      commit += 1
      if commit == count {
        try input.failing { try line.parse(text) }
        let (info, operations) = try store.operations(of: count)
        guard Self.matches(line, info, operations) else { throw different(count) }
      }
    }
  }

  private mutating func skipRows(
    _ rows: inout RowReader, bucket: String, perCommit: Int
  ) throws {
    let commits = store.newestCommit
    guard commits > 0 else { return }
    let (_, operations) = try store.operations(of: commits)
    let before = (commits - 1) * UInt64(perCommit)
    for _ in 0..<before {
      guard try rows.next() else { throw tooShort(commits) }
    }
    for operation in operations {
      guard try rows.next() else { throw tooShort(commits) }
      guard case .row(let id, .put(_, let object, nil)) = operation,
        id.bucket.isSameName(as: bucket),
        id.key == rows.key, object == rows.object
      else { throw different(commits) }
    }
    guard operations.count <= perCommit else { throw different(commits) }
    skippedCount = before + UInt64(operations.count)
  }

  private func tooShort(_ count: CommitNumber) -> Failure {
    Failure(
      .badInput,
      "The store has \(count) commits, more than the input has lines, so it was made from other "
        + "input. Import into another store.")
  }

  private func different(_ count: CommitNumber) -> Failure {
    Failure(
      .badInput,
      "\(input.place): The line is not commit \(count) of the store, so the store was made from "
        + "other input. Import into another store.")
  }

  /// Whether a line is a commit of the store. The commit may differ from the line in three ways. A
  /// delete of an absent row leaves no operation. A row placed before another leaves an operation
  /// for each row that got a label. A date may have been set to that of the previous commit.
  private static func matches(
    _ line: CommitLine, _ info: CommitInfo, _ operations: [CommitOperation]
  ) -> Bool {
    if !line.note.isSameName(as: info.note) || !line.tags.areSameNames(as: info.tags) {
      return false
    }
    if let at = line.at, at > info.timestamp { return false }
    var rest = operations[...]
    for operation in line.operations {
      if let next = rest.first, matches(line, operation, next) {
        rest.removeFirst()
      } else if operation.lacksLabel {
        let place = line.place(of: operation)
        while case .place(place, _, _)? = rest.first { rest.removeFirst() }
      } else if operation.kind != .delete {
        return false
      }
    }
    return rest.isEmpty
  }

  private static func matches(
    _ line: CommitLine, _ operation: CommitLine.Operation, _ stored: CommitOperation
  ) -> Bool {
    var written = CommitWriter()
    written.operation(operation, of: line)
    var expected = CommitWriter()
    expected.operation(stored)
    return written.output == expected.output
  }
}

extension CommitLine.Operation {
  /// Whether the operation states a row's position but no label.
  fileprivate var lacksLabel: Bool {
    kind == .unplace || kind == .place && label == nil
  }
}
