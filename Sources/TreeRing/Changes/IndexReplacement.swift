// The changes made by replacing an index's definition: the rows that are inserted, deleted or moved
// between the trees of the old definition before the commit and those of the new one after it. With
// this record an observer can move from one definition to the next with a minimal change.

internal import TreeRingLog

/// The effects of one commit that replaced a definition.
struct IndexReplacement: Sendable {
  /// The number of the replaced definition.
  let old: UInt32
  /// Every row whose places or content differ.
  let rows: [RowReference: AffectedRow]

  /// The maximum number of rows in a record. Beyond it observers compare the trees, or read the
  /// whole index again.
  static let rowLimit = 10_000

  /// The replacements between two states of a store, by the number of the new definition. Records
  /// only rows that differ. O(rows) for each replaced definition.
  static func all(
    from old: StateReader, to new: StateReader
  ) throws(TreeRingError) -> [UInt32: IndexReplacement] {
    var replacements: [UInt32: IndexReplacement] = [:]
    for record in new.catalog.indexes.values {
      let name = record.name
      guard let before = old.catalog.indexes[name], before.number != record.number,
        let oldRoots = old.roots.index(before.number),
        let newRoots = new.roots.index(record.number)
      else { continue }
      // A text index has no groups that an observer shows.
      if before.isText || record.isText { continue }
      let affected = try IndexDiff.affectedRows(
        from: IndexReader(name: name, state: old, roots: oldRoots, pin: nil),
        to: IndexReader(name: name, state: new, roots: newRoots, pin: nil),
        within: before.buckets + record.buckets, limit: rowLimit)
      if let affected {
        replacements[record.number] = IndexReplacement(old: before.number, rows: affected.rows)
      }
    }
    return replacements
  }
}
