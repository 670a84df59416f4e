// The words a changeset is made of: sections, paths, row identities.

public import TreeRing

/// A group as it is shown: its place on screen is its position in the list of sections.
public struct Section: Hashable, Sendable {
  /// The group shown.
  public let group: GroupName
  /// How many of its rows are shown.
  public let count: Int

  package init(group: GroupName, count: Int) {
    self.group = group
    self.count = count
  }
}

/// Where a row is shown.
public struct RowPath: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The section's position in the list of sections.
  public var section: Int
  /// The row's position among the section's rows, in the order of display.
  public var row: Int

  /// A path.
  public init(section: Int, row: Int) {
    self.section = section
    self.row = row
  }

  public static func < (a: RowPath, b: RowPath) -> Bool {
    a.section == b.section ? a.row < b.row : a.section < b.section
  }

  public var description: String { "[\(section), \(row)]" }
}
