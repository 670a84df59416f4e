// Copies a commit of a damaged log: number, time, operations and values as they are. Operations
// that can no longer be applied become stubs, so that the other operations keep their numbers, by
// which their logged values are found.

internal import TreeRingLog

extension Transaction {
  /// Turns this transaction into a copy of the commit.
  ///
  /// - Parameter date: The date of the copy: the commit's own, or that of the commit before if that
  ///   is later.
  /// - Returns: The operations that were left out, or applied to another version of their row than
  ///   at first. Also the manual places that came before their row, as they may in a compacted log:
  ///   the row must follow.
  /// - Throws: `unsupportedFormat` if a newer version wrote the commit; `corruption` if its payload
  ///   cannot be decoded; then nothing is copied.
  func adopt(
    _ found: ReadableCommit, at date: Timestamp
  ) throws -> (findings: [SalvageFinding], awaitingRow: [SalvageFinding]) {
    let header = found.header
    keepsRules = false
    try PayloadReader.check(
      found.payload, commit: header.number, operationCount: header.operationCount)
    var adoption = Adoption(transaction: self, found: found)
    var reader = try PayloadReader(found.payload, commit: header.number)
    while let (operation, stamp) = try reader.nextStamped() {
      try adoption.take(operation, at: stamp)
    }
    notes = reader.notes
    timestamp = date
    timestampAllowance = .ahead
    keepsEmptyCommit = true
    var payload = [UInt8](found.payload)
    if !adoption.dropped.isEmpty {
      let dropped = adoption.dropped
      payload = try PayloadRewriter.rewrite(found.payload, of: header.number) { operation in
        dropped.contains(operation.stamp.operation) ? .drop : .keep
      }.payload
    }
    adopted = AdoptedCommit(
      payload: payload, operationCount: header.operationCount,
      frame: adoption.dropped.isEmpty ? found.frame.map { [UInt8]($0) } : nil)
    return (adoption.findings, adoption.awaitingRow)
  }

  /// Turns this transaction into a placeholder for a missing commit: one without operations.
  func stand(inFor note: String?, at timestamp: Timestamp) {
    self.note = note
    self.timestamp = timestamp
    timestampAllowance = .ahead
    keepsEmptyCommit = true
  }
}

/// The copying of one commit.
private struct Adoption {
  let transaction: Transaction
  let found: ReadableCommit
  var findings: [SalvageFinding] = []
  /// Manual places without a row; each becomes a finding unless the row follows.
  var awaitingRow: [SalvageFinding] = []
  /// The operations that were left out.
  var dropped: Set<UInt32> = []

  private var editor: StateEditor { transaction.editor }

  mutating func take(_ operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    let pending = transaction.pending
    let count = pending.count
    do throws(TreeRingError) {
      try takeValues(of: operation, at: stamp)
      let doubt = try doubt(about: operation)
      // A definition that cannot be read would prevent every index from being built.
      if case .index(let record) = operation { _ = try record.active(code: []) }
      try checkRow(of: operation, at: stamp)
      try editor.replay(operation, at: stamp)
      if let doubt { note(operation, stamp, wasLeftOut: false, doubt) }
    } catch {
      // These codes mean that the operation's own value is damaged, or that the state does not
      // allow the operation.
      guard Self.refusals.contains(error.code) else {
        throw error
      }
      pending.truncate(to: count)
      dropped.insert(stamp.operation)
      note(operation, stamp, wasLeftOut: true, error.message)
    }
  }

  /// The error codes of an operation whose value is damaged or that the state does not allow.
  private static let refusals: [TreeRingError.Code] = [
    .notFound, .corruption, .beyondHorizon, .unsupportedFormat, .invalidInput,
  ]

  /// Throws `notFound` if the row of a manual place is gone. Compaction keeps the last operation on
  /// each row and the last one on each place, so in a rewritten segment the row may come later.
  private mutating func checkRow(
    of operation: Operation, at stamp: Stamp
  ) throws(TreeRingError) {
    guard case .place(let place, let row, let label) = operation, !label.isEmpty,
      try editor.row(bucket: row.bucket.number, key: row.key) == nil
    else { return }
    guard stamp.commit <= found.horizon else {
      throw TreeRingError(.notFound, "The row it places in \(place.index) is lost.")
    }
    awaitingRow.append(
      SalvageFinding(
        commit: stamp.commit, operation: stamp.operation, row: RowID(row), wasLeftOut: false,
        problem:
          "The row it places in \(place.index) is lost; a new row of that key would get its place."
      ))
  }

  /// Hands the operation's logged values to the commit, and checks that its values from other
  /// commits exist.
  private func takeValues(of operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    let own = operation.loggedParts(of: stamp)
    for (part, option) in [(ValuePart.object, ValueParts.object), (.metadata, .metadata)]
    where own.contains(option) {
      guard let bytes = try found.value(operation: stamp.operation, part: part) else {
        throw TreeRingError(.corruption, "Its value is damaged.")
      }
      bytes.withUnsafeBytes {
        transaction.pending.append(part, NewValue($0, isLogged: true), of: stamp)
      }
    }
    guard case .row(_, let change) = operation else { return }
    let (_, object, metadata) = change.written
    let values: [(StoredValue?, ValuePart)] = [(object, .object), (metadata, .metadata)]
    for case (.logged(let reference)?, let part) in values where reference.stamp != stamp {
      _ = try editor.values.read(reference, part: part)
    }
  }

  /// The reason why an operation that keeps a part of its row may produce a row that never existed;
  /// nil if none applies.
  private func doubt(about operation: Operation) throws(TreeRingError) -> String? {
    guard case .row(let row, let change) = operation, !change.kept.isSubset(of: .origin) else {
      return nil
    }
    let last = try editor.lastWritten(bucket: row.bucket.number, key: row.key)
    guard last != row.previous else { return nil }
    return
      "It was made for the row as of commit \(row.previous), which is lost; it was applied "
      + (last == 0 ? "although there is no such row." : "to the row as of commit \(last).")
  }

  private mutating func note(
    _ operation: Operation, _ stamp: Stamp, wasLeftOut: Bool, _ problem: String
  ) {
    findings.append(
      SalvageFinding(
        commit: stamp.commit, operation: stamp.operation, row: operation.row.map { RowID($0) },
        wasLeftOut: wasLeftOut, problem: problem))
  }
}
