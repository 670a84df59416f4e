// Taking over a commit of a damaged log: number, time, operations, values as they are, without the
// operations that cannot be applied any more. Those become stubs, so that the others keep their
// numbers and the values they have in the log are found.

internal import TreeRingLog

extension Transaction {
  /// Makes this transaction the commit that was read.
  ///
  /// - Returns: the operations that were left out, or applied to another version of their row than the
  ///   one they were made for; and places by hand that came before their row, as they may in a compacted
  ///   log: the row must follow.
  /// - Throws: `unsupportedFormat` if a newer version wrote it; `corruption` if its payload makes no
  ///   sense, and then nothing is taken over.
  func adopt(
    _ found: ReadableCommit
  ) throws -> (findings: [SalvageFinding], awaitingRow: [SalvageFinding]) {
    let header = found.header
    try PayloadReader.check(
      found.payload, commit: header.number, operationCount: header.operationCount)
    var adoption = Adoption(transaction: self, found: found)
    var reader = try PayloadReader(found.payload, commit: header.number)
    while true {
      let stamp = Stamp(commit: header.number, operation: reader.count)
      guard let operation = try reader.next() else { break }
      try adoption.take(operation, at: stamp)
    }
    note = reader.notes.note
    annotation = reader.notes.annotation
    idempotencyKey = reader.notes.idempotencyKey
    tags = reader.notes.tags
    timestamp = header.timestamp
    keepsEmptyCommit = true
    var payload = [UInt8](found.payload)
    if !adoption.dropped.isEmpty {
      let dropped = adoption.dropped
      payload = try PayloadRewriter.rewrite(found.payload, of: header.number) { operation in
        dropped.contains(operation.stamp.operation) ? .drop : .keep
      }.payload
    }
    adopted = (payload, header.operationCount)
    return (adoption.findings, adoption.awaitingRow)
  }

  /// Makes this transaction the place of a commit that is gone.
  func stand(inFor note: String?, at timestamp: Timestamp) {
    self.note = note
    self.timestamp = timestamp
    keepsEmptyCommit = true
  }
}

/// One commit being taken over.
private struct Adoption {
  let transaction: Transaction
  let found: ReadableCommit
  var findings: [SalvageFinding] = []
  /// What is to be found unless the row of a place comes yet.
  var awaitingRow: [SalvageFinding] = []
  /// The operations left out.
  var dropped: Set<UInt32> = []

  init(transaction: Transaction, found: ReadableCommit) {
    self.transaction = transaction
    self.found = found
  }

  private var editor: StateEditor { transaction.editor }

  mutating func take(_ operation: Operation, at stamp: Stamp) throws(TreeRingError) {
    let pending = transaction.pending
    let count = pending.count
    do throws(TreeRingError) {
      try takeValues(of: operation, at: stamp)
      let doubt = try doubt(about: operation)
      try checkRow(of: operation, at: stamp)
      try editor.replay(operation, at: stamp)
      if let doubt { note(operation, stamp, wasLeftOut: false, doubt) }
    } catch {
      // Of its own value an operation says so; anything else is what the state does not allow.
      guard Self.refusals.contains(error.code) else {
        throw error
      }
      pending.truncate(to: count)
      dropped.insert(stamp.operation)
      note(operation, stamp, wasLeftOut: true, error.message)
    }
  }

  /// What the state says of an operation that it does not allow.
  private static let refusals: [TreeRingError.Code] = [
    .notFound, .corruption, .beyondHorizon, .unsupportedFormat, .invalidInput,
  ]

  /// Throws `notFound` if a place by hand is of a row that is gone. Compaction keeps the last operation on
  /// each row and the last one on each place, so in what it has rewritten the row may come later.
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
        problem: "The row it places in \(place.index) is lost; a row of that key would stand there."
      ))
  }

  /// Hands the operation's logged values to the commit, and looks whether those it has elsewhere are
  /// there.
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
    guard case .row(_, let record) = operation else { return }
    let values: [(StoredValue?, ValuePart)] = [
      (record.object, .object), (record.metadata, .metadata),
    ]
    for case (.logged(let reference)?, let part) in values where reference.stamp != stamp {
      _ = try editor.values.read(reference, part: part)
    }
  }

  /// Why the outcome of an operation that keeps a part of its row may be one that never was.
  private func doubt(about operation: Operation) throws(TreeRingError) -> String? {
    let row: RowAddress
    switch operation {
    case .object(let address, _, _), .metadata(let address, _), .touch(let address): row = address
    default: return nil
    }
    let last = try editor.lastWritten(bucket: row.bucket.number, key: row.key)
    guard last != row.previous else { return nil }
    return
      "It was made for the row as commit \(row.previous) left it, which is lost; it was applied "
      + (last == 0 ? "to none." : "to what commit \(last) left.")
  }

  private mutating func note(
    _ operation: Operation, _ stamp: Stamp, wasLeftOut: Bool, _ problem: String
  ) {
    findings.append(
      SalvageFinding(
        commit: stamp.commit, operation: stamp.operation, row: operation.writtenRow,
        wasLeftOut: wasLeftOut, problem: problem))
  }
}

extension Operation {
  /// The row it writes, if it is one row.
  fileprivate var writtenRow: RowID? {
    switch self {
    case .put(let row, _, _, _), .object(let row, _, _), .metadata(let row, _), .touch(let row),
      .delete(let row), .place(_, let row, _), .row(let row, _), .held(let row, _):
      RowID(row)
    case .deleteRange, .tag, .index, .stub: nil
    }
  }
}
