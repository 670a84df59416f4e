// The rows of a group that labels keep in order, while one of them is being placed.
//
// It gets a label between those of its new neighbours. Where labels have become too long, or leave no
// room, rows around get new ones with it: as few as make all of them short.

internal import TreeRingLog

/// The rows of a group without the one that is being placed.
struct LabeledRows {
  let reader: IndexReader
  let group: GroupName
  /// The position of the row that is being placed; nil if it is not in the group.
  let own: Int?
  /// How many rows the group has with it.
  let total: Int

  var count: Int { own == nil ? total : total - 1 }

  /// Where a row of these stands in the whole group.
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
    // Behind the label come its end, the bucket and the key.
    return Array(entry.order.dropLast(entry.row.key.count + 5))
  }

  /// The position of another row.
  /// - Throws: `notFound` if it is not in the group.
  func position(of other: RowID) throws(TreeRingError) -> Int {
    guard let position = try reader.index(of: other, in: group) else {
      throw TreeRingError(.notFound, "The row \(other) is not in the group \(group).")
    }
    guard let own, position > own else { return position }
    return position - 1
  }

  /// The labels that put the row at a position: its own, for nil, and those of rows around if there must
  /// be. O(log n), amortized.
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
