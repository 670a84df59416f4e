// The affected rows of one commit while it is made, by index. A small commit keeps them in a list:
// it would spend as much on dictionaries as on its edit.

/// Rows and their changes in the indexes that they affect.
struct RecordedRows: Sendable {
  private struct Entry: Sendable {
    var index: UInt32
    var row: RowReference
    var change: AffectedRow
  }

  /// The maximum length of the list.
  private static let listLimit = 8

  /// All changes, unless they are in `tables`.
  private var list: [Entry] = []
  /// All changes by index, if they are more than the list takes; otherwise empty.
  private var tables: [UInt32: [RowReference: AffectedRow]] = [:]

  /// The number of changes: a row counts once in each index that it affects.
  var count: Int { tables.values.reduce(list.count) { $0 + $1.count } }

  /// The number of indexes affected.
  var indexCount: Int {
    let listed = list.indices.count { place in
      !list[..<place].contains { $0.index == list[place].index }
    }
    return listed + tables.count
  }

  /// The changes of an index by row; empty if it is not affected. O(changes) for a few, else O(1).
  subscript(index: UInt32) -> [RowReference: AffectedRow] {
    if let table = tables[index] { return table }
    var table: [RowReference: AffectedRow] = [:]
    for entry in list where entry.index == index { table[entry.row] = entry.change }
    return table
  }

  /// Adds a change of a row in an index, or merges it into the earlier change of that row. O(1).
  /// - Returns: the new places of the earlier change; nil if there was none.
  mutating func add(
    _ change: AffectedRow, of row: RowReference, in index: UInt32
  ) -> [RowPlace]? {
    if tables.isEmpty {
      if let place = list.firstIndex(where: { $0.index == index && $0.row == row }) {
        defer { list[place].change.follow(with: change) }
        return list[place].change.newPlaces
      }
      if list.count < Self.listLimit {
        list.append(Entry(index: index, row: row, change: change))
        return nil
      }
      for entry in list { tables[entry.index, default: [:]][entry.row] = entry.change }
      list = []
    }
    let earlier = tables[index]?[row]?.newPlaces
    if earlier == nil {
      tables[index, default: [:]][row] = change
    } else {
      tables[index]?[row]?.follow(with: change)
    }
    return earlier
  }
}
