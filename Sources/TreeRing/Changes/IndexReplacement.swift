// What replacing an index's definition changed: the rows that enter, leave or move between the trees of
// the old definition before the commit and those of the new one after it. With this record an observer
// goes from one definition to the next by a minimal change.

internal import TreeRingLog

/// What one commit did by replacing a definition.
struct IndexReplacement: Sendable {
  /// The number of the definition that was in force before.
  let old: UInt32
  /// Every row whose places or content differ.
  let rows: [RowReference: TouchedRow]

  /// More rows of the index than this are not recorded: observers compare the trees, or read the index anew.
  static let rowLimit = 10_000

  /// The replacements between two states of a store, by the number of the new definition. Only rows
  /// that differ are recorded; finding them takes O(rows) for each index that was defined anew.
  static func all(
    from old: StateReader, to new: StateReader
  ) throws(TreeRingError) -> [UInt32: IndexReplacement] {
    var replacements: [UInt32: IndexReplacement] = [:]
    for (name, record) in new.catalog.indexes {
      guard let before = old.catalog.indexes[name], before.number != record.number,
        let oldRoots = old.roots.index(before.number),
        let newRoots = new.roots.index(record.number)
      else { continue }
      let touched = try IndexDiff.touchedRows(
        from: IndexReader(name: name, state: old, roots: oldRoots, pin: nil),
        to: IndexReader(name: name, state: new, roots: newRoots, pin: nil),
        within: before.buckets + record.buckets, limit: rowLimit)
      if let touched {
        replacements[record.number] = IndexReplacement(old: before.number, rows: touched.rows)
      }
    }
    return replacements
  }
}
