// The vocabulary of a changeset: sections and row paths.

public import TreeRing

/// A group on screen. Its index is its position in the list of sections.
public struct Section: Hashable, Sendable {
  /// The group shown, or the name of the consolidated section.
  public let group: GroupName
  /// The number of its rows that are shown.
  public let count: Int
  /// Whether it is the consolidated section, which shows all groups.
  public let isConsolidated: Bool

  package init(group: GroupName, count: Int, isConsolidated: Bool = false) {
    self.group = group
    self.count = count
    self.isConsolidated = isConsolidated
  }
}

/// The position of a row on screen.
public struct RowPath: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The section's position in the list of sections.
  public var section: Int
  /// The row's position among the section's rows, in display order.
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
