// Content of the view's own before and after a consumer's, and the way between the two kinds of path.

public import TreeRingMappings

/// How a consumer's sections and rows lie among others in a view. All conversions are O(1).
///
/// *Data* paths count within the consumer, *global* ones within the view. Rows before and after belong to
/// every data section.
public struct PathOffsets: Hashable, Sendable {
  /// Sections of the view's own before the consumer's.
  public var sectionsBefore: Int
  /// Sections of the view's own after the consumer's.
  public var sectionsAfter: Int
  /// Rows of the view's own before those of the consumer, in each of its sections.
  public var rowsBefore: Int
  /// Rows of the view's own after those of the consumer, in each of its sections.
  public var rowsAfter: Int

  /// Nothing before and after unless given.
  public init(
    sectionsBefore: Int = 0, sectionsAfter: Int = 0, rowsBefore: Int = 0, rowsAfter: Int = 0
  ) {
    precondition(
      min(sectionsBefore, sectionsAfter, rowsBefore, rowsAfter) >= 0,
      "there cannot be fewer than no rows before or after")
    self.sectionsBefore = sectionsBefore
    self.sectionsAfter = sectionsAfter
    self.rowsBefore = rowsBefore
    self.rowsAfter = rowsAfter
  }

  /// How many sections the view has.
  public func globalSectionsCount(data count: Int) -> Int {
    sectionsBefore + count + sectionsAfter
  }

  /// How many rows a section of the consumer has in the view.
  public func globalRowsCount(data count: Int) -> Int { rowsBefore + count + rowsAfter }

  /// Where a section of the consumer is in the view.
  public func global(section: Int) -> Int { section + sectionsBefore }

  /// The consumer's section at a place of the view; nil if it is the view's own.
  public func data(section: Int, sectionsCount: Int) -> Int? {
    let section = section - sectionsBefore
    return section >= 0 && section < sectionsCount ? section : nil
  }

  /// Where a row of the consumer is in the view.
  public func global(_ path: RowPath) -> RowPath {
    RowPath(section: path.section + sectionsBefore, row: path.row + rowsBefore)
  }

  /// The consumer's row at a place of the view; nil if it is the view's own.
  ///
  /// - Parameters:
  ///   - path: The place in the view.
  ///   - sectionsCount: How many sections the consumer has.
  ///   - rowsCount: How many rows the consumer has in a section.
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
