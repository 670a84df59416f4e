// The choice of the date of a commit (Dating.swift).

internal import Logging
internal import TreeRingLog
internal import TreeRingPlatform

extension Store {
  /// The date of a finished transaction.
  ///
  /// - Parameters:
  ///   - newest: the state that the transaction builds on.
  ///   - start: an earlier date by the clock, at which few rows were due; nil if the commit deletes
  ///     however many are due at its date.
  /// - Throws: `dateRefused` for a date earlier than that of the newest commit, or more than a
  ///   minute ahead of the clock, unless the transaction allows it.
  func date(
    of transaction: Transaction, after newest: Roots, since start: Timestamp?
  ) throws(TreeRingError) -> CommitDate {
    let last = newest.timestamp
    let allowance = transaction.timestampAllowance
    guard let wanted = transaction.timestamp else {
      if transaction.takesDateOfNewest {
        let date = newest.commit == 0 ? Timestamp.beforeData : last
        return CommitDate(timestamp: date, isClamped: false)
      }
      let clock = options.clock()
      if last.isAhead(of: clock) { warn(of: newest, at: clock) }
      var date = clock
      if let start, start < clock {
        let limit = Sweeper.batchRowCount
        date = max(start, try transaction.lastDate(withAtMost: limit, dueBy: clock))
      }
      return CommitDate(timestamp: max(last, date), isClamped: clock < last)
    }
    if wanted < last, !allowance.contains(.clamping) {
      throw TreeRingError(
        .dateRefused,
        "The commit was given the date \(ISO8601.format(wanted)), but the newest commit, "
          + "\(newest.commit), is dated \(ISO8601.format(last)), and dates never go back. "
          + "Nothing was written. Give a later date or none, or allow the newest commit's with "
          + "`timestampAllowance = .clamping`.", commit: newest.commit)
    }
    if !allowance.contains(.ahead), wanted.isAhead(of: options.clock()) {
      throw TreeRingError(
        .dateRefused,
        "The commit was given the date \(ISO8601.format(wanted)), over a minute ahead of the "
          + "clock; every later commit would get no earlier date. Nothing was written. "
          + "Set the clock right, give an earlier date or none, or allow it with "
          + "`timestampAllowance = .ahead`.")
    }
    return CommitDate(timestamp: max(last, wanted), isClamped: wanted < last)
  }

  /// Logs, once, that commits get a date that the clock has not reached.
  private func warn(of newest: Roots, at clock: Timestamp) {
    if hasWarnedOfDates.exchange(true, ordering: .relaxed) { return }
    options.logger.warning(
      "the newest commit is dated ahead of the clock; commits get its date until then",
      metadata: [
        "commit": "\(newest.commit)", "date": "\(ISO8601.format(newest.timestamp))",
        "clock": "\(ISO8601.format(clock))",
      ])
  }
}
