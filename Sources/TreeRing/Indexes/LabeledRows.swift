// The placing of a row in a group that is ordered by labels.
//
// The row gets a label between those of its new neighbours. If that label would be too long, or
// there is no room, nearby rows get new labels too: as few rows as are needed to make the labels
// short.

internal import TreeRingLog

/// The rows of a group without the row being placed.
struct LabeledRows {
  let reader: IndexReader
  let group: GroupName
  /// The position of the row being placed; nil if it is not in the group.
  let own: Int?
  /// The number of rows of the group, including the row being placed.
  let total: Int

  var count: Int { own == nil ? total : total - 1 }

  /// Converts a position among these rows to the position in the whole group.
  private func whole(_ position: Int) -> Int {
    guard let own, position >= own else { return position }
    return position + 1
  }

  /// The row at a position, which must exist. O(log n).
  func row(_ position: Int) throws(TreeRingError) -> RowReference {
    try reader.entry(at: whole(position), in: group).row
  }

  /// The label of the row at a position; nil beyond either end.
  private func label(_ position: Int) throws(TreeRingError) -> [UInt8]? {
    guard position >= 0, position < count else { return nil }
    let entry = try reader.entry(at: whole(position), in: group)
    // The label's end mark, the bucket and the key follow the label.
    return Array(entry.order.dropLast(entry.row.key.count + 5))
  }

  /// The position of another row.
  /// - Throws: `notFound` if the row is not in the group.
  func position(of other: RowID) throws(TreeRingError) -> Int {
    guard let position = try reader.index(of: other, in: group) else {
      throw TreeRingError(
        .notFound,
        "The row \(other) is not in the group \(group). Place it there first, or give a position.")
    }
    guard let own, position > own else { return position }
    return position - 1
  }

  /// The labels that put the row at a position: its own, listed for nil, and new ones of nearby
  /// rows if necessary. O(log n), amortized.
  func labels(
    forRowAt position: Int
  ) throws(TreeRingError) -> [(row: RowReference?, label: [UInt8])] {
    if let label = OrderLabel.between(try label(position - 1), try label(position)),
      label.count <= OrderLabel.byteLimit
    {
      return [(nil, label)]
    }
    var reach = 8
    while true {
      let low = max(0, position - reach)
      let high = min(count, position + reach)
      let isAll = low == 0 && high == count
      let labels = OrderLabel.spread(
        high - low + 1, between: try label(low - 1), try label(high))
      if let labels, isAll || labels.allSatisfy({ $0.count <= OrderLabel.byteLimit / 2 }) {
        var rows: [RowReference?] = []
        for index in low..<high { rows.append(try row(index)) }
        rows.insert(nil, at: position - low)
        return zip(rows, labels).map { ($0, $1) }
      }
      guard !isAll else { throw ByteReader.damaged }
      reach *= 4
    }
  }
}
