// Manual range changes, collected until they are delivered.

public import TreeRing
internal import TreeRingLog

/// A manual change of one group's range.
public struct RangeChange: Hashable, Sendable {
  /// The group.
  public let group: GroupName
  /// The edit of its range.
  public let edit: RangeEdit

  /// An edit of the range of a group.
  public init(_ edit: RangeEdit, of group: GroupName) {
    self.group = group
    self.edit = edit
  }
}

extension Mappings {
  /// The mappings after manual range changes: newly set ranges, and the length and offset of fixed
  /// ranges. For flexible ranges only the windows change.
  ///
  /// - Throws: `invalidInput` if a change extends or shifts the range of a group shown whole.
  func edited(by changes: [RangeChange]) throws(TreeRingError) -> Mappings {
    var result = self
    for change in changes {
      let range = result.range(of: change.group)
      switch change.edit {
      case .set(let range): result = result.range(range, of: change.group)
      case .extend(let rows):
        guard let range else { throw Self.noRange(change.group) }
        if range.isFlexible { continue }
        let longer = range.startingAnew(
          length: Self.sum(range.length, rows), offset: range.offset)
        result = result.range(longer, of: change.group)
      case .shift(let rows):
        guard let range else { throw Self.noRange(change.group) }
        if range.isFlexible { continue }
        let moved = range.startingAnew(
          length: range.length, offset: Self.sum(range.offset, rows))
        result = result.range(moved, of: change.group)
      }
    }
    return result
  }

  /// A sum that is not negative.
  private static func sum(_ value: Int, _ change: Int) -> Int {
    let (sum, overflow) = value.addingReportingOverflow(change)
    return overflow ? .max : max(0, sum)
  }

  private static func noRange(_ group: GroupName) -> TreeRingError {
    TreeRingError(
      .invalidInput,
      "The group \(group) is shown whole: there is no range to change. Set one first.")
  }
}
