// Questions to a shared log, repeated until it answers.

internal import TreeRingLog
internal import TreeRingPlatform

/// Reads a shared log until a moment.
struct LogReader {
  let log: any SharedLog
  let deadline: ContinuousClock.Instant
  /// The size at which an answer ends.
  static let byteCount = 1 << 20

  /// The ends of the log.
  /// - Throws: `unavailable`, `notAllowed`.
  func ends() throws(TreeRingError) -> SharedLogEnds {
    try ask { (limit) throws(SharedLogError) in try log.ends(within: limit) }
  }

  /// Entries from a number on; at least one.
  /// - Throws: `unavailable`, `notAllowed`; `beyondHorizon` if it was trimmed.
  func entries(
    from first: UInt64, byteLimit: Int = LogReader.byteCount
  ) throws(TreeRingError) -> [[UInt8]] {
    try ask { (limit) throws(SharedLogError) in
      let entries = try log.read(from: first, byteLimit: byteLimit, within: limit)
      if entries.isEmpty { throw .unavailable("Entry \(first) did not come.") }
      return entries
    }
  }

  /// The fields of one entry.
  func header(_ sequence: UInt64) throws(TreeRingError) -> EntryHeader {
    guard let entry = try entries(from: sequence, byteLimit: 1).first else {
      throw Self.trimmed(first: sequence)
    }
    return try EntryHeader(of: entry, at: sequence)
  }

  /// The newest entry that is here already, at least the one given: its number and fields.
  /// - Throws: `unavailable` after the deadline; as `entries`.
  func newest(
    from entry: [UInt8], at sequence: UInt64
  ) throws(TreeRingError) -> (UInt64, EntryHeader) {
    var (newest, number) = (entry, sequence)
    while true {
      let further = try ask { (limit) throws(SharedLogError) in
        try log.read(from: number + 1, byteLimit: Self.byteCount, within: .zero)
      }
      guard let last = further.last else {
        return (number, try EntryHeader(of: newest, at: number))
      }
      (newest, number) = (last, number + UInt64(further.count))
    }
  }

  /// The number of the last entry whose first commit is at most `commit`; nil if there is none.
  /// O(log n) reads: first commits never decrease.
  func last(
    startingAtMost commit: CommitNumber, in ends: SharedLogEnds
  ) throws(TreeRingError) -> (sequence: UInt64, header: EntryHeader)? {
    var (low, high) = (ends.first, ends.last + 1)
    var found: (UInt64, EntryHeader)?
    while low < high {
      let middle = low + (high - low) / 2
      let header = try header(middle)
      if header.first <= commit {
        found = (middle, header)
        low = middle + 1
      } else {
        high = middle
      }
    }
    return found
  }

  /// Removes the entries before a number.
  func trim(before first: UInt64) throws(TreeRingError) {
    try ask { (limit) throws(SharedLogError) in try log.trim(before: first, within: limit) }
  }

  private func ask<Answer>(
    _ call: (Duration) throws(SharedLogError) -> Answer
  ) throws(TreeRingError) -> Answer {
    var problem = "there was no time to ask."
    while true {
      let rest = deadline - .now
      guard rest > .zero else {
        throw TreeRingError(
          .unavailable,
          "The shared log did not answer in time: \(problem) Check its machines and the way to "
            + "them; nothing was changed.")
      }
      do throws(SharedLogError) {
        return try call(rest)
      } catch {
        switch error {
        case .unavailable(let text): problem = text
        case .refused(let text): throw TreeRingError(.notAllowed, "The shared log refused: \(text)")
        case .trimmed(let first): throw Self.trimmed(first: first)
        }
      }
      Platform.sleep(min(.milliseconds(20), max(.zero, deadline - .now)))
    }
  }

  static func trimmed(first: UInt64) -> TreeRingError {
    TreeRingError(
      .beyondHorizon,
      "The shared log begins with entry \(first), after the entries that this replica needs. "
        + newBase, offset: first)
  }

  /// The remedy for a folder that is behind the beginning of the log.
  static let newBase =
    "Begin in a new folder, with a base from the server of another replica (`treering cluster run "
    + "--base`, or Store.restore(from:to:) of TreeRingRemote) or with a newer backup of one."
}
