// The work of an import: lines become commits, one each.

import TreeRing
import TreeRingLog

/// An import on its way.
struct ImportWork {
  let store: Store
  let input: InputFiles
  let durability: Durability
  private(set) var commitCount: UInt64 = 0
  private(set) var operationCount: UInt64 = 0
  /// Dates that lay before the commit before them.
  private(set) var clampedCount: UInt64 = 0
  /// Lines passed over because they are commits already.
  private(set) var skippedCount: UInt64 = 0
  private(set) var wasInterrupted = false
  private let progress: ProgressBar

  init(store: Store, input: InputFiles, durability: Durability) {
    self.store = store
    self.input = input
    self.durability = durability
    progress = ProgressBar("Importing", total: input.totalByteCount)
  }

  /// The newest commit.
  var last: CommitNumber { store.newestCommit }

  /// Imports lines of the commit format.
  ///
  /// - Parameter bases: what the input began with.
  mutating func importCommits(after bases: BaseImport, resuming: Bool) throws {
    defer { progress.finish() }
    var line = CommitLine()
    var applier = CommitLineApplier()
    applier.baseCommits = Set(bases.commits)
    operationCount = bases.operationCount
    skippedCount = bases.skippedCount
    if resuming { try skipCommits(&line, after: bases) }
    var newest = try store.snapshot().timestamp
    while let text = try input.next() {
      try input.failing { try line.parse(text) }
      if let at = line.at {
        if at < newest { clampedCount += 1 }
        newest = max(newest, at)
      }
      try input.failing {
        _ = try store.write(durability: durability) { try applier.apply(line, to: $0) }
      }
      operationCount += UInt64(line.operations.count)
      if try !goOn() { return }
    }
  }

  /// Imports rows, a number of them for each commit.
  mutating func importRows(
    bucket: String, key: String, perCommit: Int, resuming: Bool
  ) throws {
    defer { progress.finish() }
    var rows = try RowReader(input, key: key)
    if resuming { try skipRows(&rows, bucket: bucket, perCommit: perCommit) }
    var isAtEnd = try !rows.next()
    while !isAtEnd {
      var count = 0
      try input.failing {
        _ = try store.write(durability: durability) { tx in
          repeat {
            try rows.key.withUnsafeBytes { key in
              try rows.object.withUnsafeBytes {
                try tx.put(key, in: bucket, object: $0, metadata: nil)
              }
            }
            count += 1
            isAtEnd = try !rows.next()
          } while !isAtEnd && count < perCommit
        }
      }
      operationCount += UInt64(count)
      if try !goOn() { return }
    }
  }

  /// Counts a commit; false if the work is to stop.
  private mutating func goOn() throws -> Bool {
    commitCount += 1
    if commitCount & 255 == 0 {
      progress.update(done: input.sourceByteCount, count: commitCount, unit: "commits")
    }
    wasInterrupted = Interrupt.isRequested
    return !wasInterrupted
  }

  // MARK: - Resuming

  /// Passes over as many lines as there are commits, if the last of them is the last commit.
  private mutating func skipCommits(_ line: inout CommitLine, after bases: BaseImport) throws {
    let count = store.newestCommit
    var commit = bases.commits.last ?? 0
    while commit < count {
      guard let text = try input.next() else { throw tooShort(count) }
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
      guard case .put(let id, let object, nil, _) = operation, id.bucket == bucket,
        id.key.bytes == rows.key, object == rows.object
      else { throw different(commits) }
    }
    guard operations.count <= perCommit else { throw different(commits) }
    skippedCount = before + UInt64(operations.count)
  }

  private func tooShort(_ count: CommitNumber) -> Failure {
    Failure(
      .badInput,
      "The store has \(count) commits, more than the input has lines, so this input is not what "
        + "it was made from. Import into another store.")
  }

  private func different(_ count: CommitNumber) -> Failure {
    Failure(
      .badInput,
      "\(input.place): this line is not commit \(count) of the store, so the input is not what "
        + "the store was made from. Import into another store.")
  }

  /// Whether a line is a commit of the store. A delete of an absent row leaves no operation behind,
  /// a row placed before another one as many as rows got labels, and a date may have been set to that of
  /// the commit before.
  private static func matches(
    _ line: CommitLine, _ info: CommitInfo, _ operations: [CommitOperation]
  ) -> Bool {
    if line.note != info.note || line.tags != info.tags { return false }
    if let at = line.at, at > info.timestamp { return false }
    var rest = operations[...]
    for operation in line.operations {
      if let next = rest.first, matches(line, operation, next) {
        rest.removeFirst()
      } else if operation.isPlacedByHand {
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
    var written = CommitLineWriter()
    written.operation(operation, of: line)
    var expected = CommitLineWriter()
    expected.operation(stored)
    return written.output == expected.output
  }
}

extension CommitLine.Operation {
  /// Whether it says where a row goes but not by which label.
  fileprivate var isPlacedByHand: Bool {
    kind == .unplace || kind == .place && label == nil
  }
}
