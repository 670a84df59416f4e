// The result of a write.

public import TreeRingLog

/// The result of a write.
public struct Written<Value> {
  /// The commit's number. If there was nothing to write, the newest commit's number; if the
  /// idempotency key was used before, the number of the first commit under it. Use it to read the
  /// write again, to wait for it, or to query changes since then.
  public let commit: CommitNumber
  /// The date of the new commit; nil if the write made none.
  public let timestamp: Timestamp?
  /// Whether that date is the previous commit's, because the clock was behind it, or because an
  /// earlier date was requested and ``TimestampAllowance/clamping`` was allowed.
  public let isClamped: Bool
  /// The return value of the closure.
  public let value: Value

  init(commit: CommitNumber, date: CommitDate?, value: Value) {
    self.commit = commit
    timestamp = date?.timestamp
    isClamped = date?.isClamped ?? false
    self.value = value
  }

  @inlinable
  init(_ made: Written<Void>, value: Value) {
    commit = made.commit
    timestamp = made.timestamp
    isClamped = made.isClamped
    self.value = value
  }
}

extension Written: Sendable where Value: Sendable {}
