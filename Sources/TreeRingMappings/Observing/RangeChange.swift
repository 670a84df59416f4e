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
  public init(_ edit: RangeEdit, of group: some KeyConvertible) {
    self.group = GroupName(group)
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
      switch change.edit {
      case .set(let range): result = result.range(range, of: change.group)
      case .extend(let rows):
        result = try result.editing(change.group) { range in
          range.startingAnew(length: Window.sum(range.length, rows), offset: range.offset)
        }
      case .shift(let rows):
        result = try result.editing(change.group) { range in
          range.startingAnew(length: range.length, offset: Window.sum(range.offset, rows))
        }
      }
    }
    return result
  }

  /// The mappings with another fixed range of a group; a flexible range stays.
  private func editing(
    _ group: GroupName, _ edited: (RangeOptions) -> RangeOptions
  ) throws(TreeRingError) -> Mappings {
    guard let range = range(of: group) else {
      throw TreeRingError(
        .invalidInput,
        "The group \(group) is shown whole: there is no range to change. Set one first.")
    }
    return range.isFlexible ? self : self.range(edited(range), of: group)
  }
}
