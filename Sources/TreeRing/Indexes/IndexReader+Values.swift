// Groups by the values that name them: the reads of `IndexReader` for the types of
// `KeyConvertible`. They are disfavoured, so that a literal is a `GroupName`.

public import TreeRingLog

extension IndexReader {
  /// The name of a value's group; of an index by fields, as the library's coders write the value.
  func name(of group: some KeyConvertible) throws(TreeRingError) -> GroupName {
    isByFields ? try FieldGroups().name(of: group) : GroupName(group)
  }

  /// The number of rows of a value's group; 0 for one that does not exist. O(log n).
  @_disfavoredOverload
  public func count(in group: some KeyConvertible) throws(TreeRingError) -> Int {
    try count(in: name(of: group))
  }

  /// The rows at positions of a value's group, clipped to the group. O(log n + rows read).
  @_disfavoredOverload
  public func rows(
    in group: some KeyConvertible, _ range: Range<Int>? = nil
  ) throws -> [StoredRow] {
    try rows(in: name(of: group), range)
  }

  /// The row at a position of a value's group; nil beyond its end. O(log n).
  @_disfavoredOverload
  public func row(
    at index: Int, in group: some KeyConvertible
  ) throws(TreeRingError) -> StoredRow? {
    try row(at: index, in: name(of: group))
  }

  /// The position of a row in a value's group; nil if the row is not in the group. O(log n).
  @_disfavoredOverload
  public func index(
    of id: RowID, in group: some KeyConvertible
  ) throws(TreeRingError) -> Int? {
    try index(of: id, in: name(of: group))
  }

  /// Returns the group of a value for several queries. O(log n).
  @_disfavoredOverload
  public func group(_ group: some KeyConvertible) throws(TreeRingError) -> GroupReader {
    try self.group(name(of: group))
  }
}
