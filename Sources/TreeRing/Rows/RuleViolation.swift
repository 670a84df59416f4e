// The rows that a refused commit would have left in conflict with a rule.

public import TreeRingLog

/// The rule that a commit would have broken, and the rows.
public struct RuleViolation: Hashable, Sendable {
  /// The name of the index or rule.
  public let rule: String
  /// The row that breaks it. For `restricted`, the row that cannot be deleted.
  public let row: RowID
  /// The other row that it concerns; nil if there is none. For `notUnique`, the row with the same
  /// value; for `referenceMissing`, the row that does not exist; for `restricted`, one that refers
  /// to the row.
  public let other: RowID?

  public static func == (a: RuleViolation, b: RuleViolation) -> Bool {
    a.row == b.row && a.other == b.other && a.rule.isSameName(as: b.rule)
  }
  public func hash(into hasher: inout Hasher) {
    rule.hashName(into: &hasher)
    hasher.combine(row)
    hasher.combine(other)
  }
}

extension TreeRingError {
  /// The rule that the commit would have broken, and the rows; nil for other errors.
  public var violation: RuleViolation? {
    brokenRule.map {
      RuleViolation(rule: $0.name, row: RowID($0.row), other: $0.other.map { RowID($0) })
    }
  }
}

extension RowID {
  fileprivate init(_ name: BrokenRule.RowName) {
    self.init(bucket: name.bucket, key: Key(bytes: name.key))
  }
}

extension BrokenRule.RowName {
  init(_ id: RowID) { self.init(bucket: id.bucket, key: id.key.bytes) }
}
