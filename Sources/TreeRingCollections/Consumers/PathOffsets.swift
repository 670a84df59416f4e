// A view's own content before and after a consumer's, and conversions between both kinds of path.

public import TreeRingMappings

/// The position of a consumer's sections and rows among a view's own. All conversions are O(1).
///
/// *Data* paths count within the consumer, *global* ones within the view. Rows before and after
/// belong to every data section.
public struct PathOffsets: Hashable, Sendable {
  /// The number of the view's own sections before the consumer's.
  public var sectionsBefore: Int
  /// The number of the view's own sections after the consumer's.
  public var sectionsAfter: Int
  /// The number of the view's own rows before the consumer's, in each of its sections.
  public var rowsBefore: Int
  /// The number of the view's own rows after the consumer's, in each of its sections.
  public var rowsAfter: Int

  /// Offsets of 0 unless given.
  public init(
    sectionsBefore: Int = 0, sectionsAfter: Int = 0, rowsBefore: Int = 0, rowsAfter: Int = 0
  ) {
    precondition(
      min(sectionsBefore, sectionsAfter, rowsBefore, rowsAfter) >= 0,
      "the numbers of sections and rows before and after are not negative")
    self.sectionsBefore = sectionsBefore
    self.sectionsAfter = sectionsAfter
    self.rowsBefore = rowsBefore
    self.rowsAfter = rowsAfter
  }

  /// The number of sections in the view.
  public func globalSectionsCount(data count: Int) -> Int {
    sectionsBefore + count + sectionsAfter
  }

  /// The number of rows that a section of the consumer has in the view.
  public func globalRowsCount(data count: Int) -> Int { rowsBefore + count + rowsAfter }

  /// The position of a consumer's section in the view.
  public func global(section: Int) -> Int { section + sectionsBefore }

  /// The consumer's section at a position of the view; nil for the view's own.
  public func data(section: Int, sectionsCount: Int) -> Int? {
    let section = section - sectionsBefore
    return section >= 0 && section < sectionsCount ? section : nil
  }

  /// The path of a consumer's row in the view.
  public func global(_ path: RowPath) -> RowPath {
    RowPath(section: path.section + sectionsBefore, row: path.row + rowsBefore)
  }

  /// The consumer's row at a path of the view; nil for the view's own.
  ///
  /// - Parameters:
  ///   - path: The path in the view.
  ///   - sectionsCount: The consumer's number of sections.
  ///   - rowsCount: Returns the consumer's number of rows in a section.
  public func data(
    _ path: RowPath, sectionsCount: Int, rowsCount: (_ section: Int) -> Int
  ) -> RowPath? {
    guard let section = data(section: path.section, sectionsCount: sectionsCount) else {
      return nil
    }
    let row = path.row - rowsBefore
    return row >= 0 && row < rowsCount(section) ? RowPath(section: section, row: row) : nil
  }
}
