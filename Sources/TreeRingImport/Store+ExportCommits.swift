// Writes the history of a store in the import format.

public import TreeRing
public import TreeRingLog

extension Store {
  /// Writes commits as lines of the import format, without blocking the caller's thread. Otherwise
  /// it equals the blocking form.
  ///
  /// - Parameters:
  ///   - first: The first commit to write.
  ///   - last: The last commit to write; nil for the newest.
  ///   - body: Takes the next lines on a thread of the library.
  /// - Throws: As the blocking form; `cancelled` if the task is cancelled, also during the work.
  public func exportCommits(
    from first: CommitNumber = 1, through last: CommitNumber? = nil,
    _ body: @escaping @Sendable (_ lines: [UInt8], _ commitCount: UInt64) throws -> Void
  ) async throws {
    try await WorkerPool.upkeep.runThrowing { [self] stop in
      try exportCommits(from: first, through: last) { lines, count in
        try stop.check()
        try body(lines, count)
      }
    }
  }

  /// Writes commits as lines of the import format: the history, or a part of it.
  ///
  /// The history of a compacted store begins with bases, lines that each hold a state. O(bytes of
  /// the commits); memory holds one commit.
  ///
  /// - Parameters:
  ///   - first: The first commit to write.
  ///   - last: The last commit to write; nil for the newest.
  ///   - body: Takes the next lines, or pieces of a line, and the number of commits written so far.
  /// - Throws: `beyondHorizon` if `last` can no longer be read; `corruption`, `io`, `closed`; the
  ///   errors of `body`.
  public func exportCommits(
    from first: CommitNumber = 1, through last: CommitNumber? = nil,
    _ body: (_ lines: [UInt8], _ commitCount: UInt64) throws -> Void
  ) throws {
    let last = min(last ?? newestCommit, newestCommit)
    var next = max(first, 1)
    var writer = CommitWriter()
    let bases = try baseCommits()
    if let horizon = bases.last, next <= horizon {
      if last < horizon { _ = try commit(last) }
      try exportBases(bases.filter { $0 <= last }, with: &writer) { try body($0, 0) }
      next = horizon + 1
    }
    var count: UInt64 = 0
    while next <= last {
      let (info, operations) = try operations(of: next)
      writer.commit(info, operations)
      count += 1
      try writer.passIfFull(to: { try body($0, count) })
      next += 1
    }
    if !writer.output.isEmpty { try body(writer.output, count) }
  }

  /// Writes the bases of commits, which must be the first of `baseCommits`.
  private func exportBases(
    _ commits: [CommitNumber], with writer: inout CommitWriter, _ body: ([UInt8]) throws -> Void
  ) throws {
    var previous: CommitNumber = 0
    for commit in commits {
      let info = try baseInfo(of: commit)
      var dates: [(commit: CommitNumber, at: Timestamp)] = []
      writer.begin(base: commit)
      try forEachBaseOperation(of: commit, after: previous) { operation in
        writer.operation(operation)
        let number = operation.stamp.commit
        if number != commit, number != dates.last?.commit {
          dates.append((number, operation.timestamp))
        }
        try writer.passIfFull(to: body)
      }
      writer.endBase(at: info.timestamp, note: info.note, buckets: info.buckets, dates: dates)
      previous = commit
    }
  }
}

extension CommitWriter {
  /// Passes the output on in pieces, however long a line is.
  fileprivate mutating func passIfFull(to body: ([UInt8]) throws -> Void) rethrows {
    if output.count < 1 << 15 { return }
    try body(output)
    output.removeAll(keepingCapacity: true)
  }

  /// Writes an operation of a base and its numbers.
  fileprivate mutating func operation(_ operation: BaseOperation) {
    self.operation(operation.operation)
    if case .row(_, .put) = operation.operation {
      numbers(written: operation.stamp, created: operation.created, touched: operation.touched)
    } else {
      numbers(written: operation.stamp, created: nil, touched: 0)
    }
  }
}
