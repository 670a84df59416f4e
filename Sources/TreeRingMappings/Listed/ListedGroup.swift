// The rows of one section of a listed state, in display order. Each has a label, and the labels
// ascend. So a row's place is its label, as in an index, and the changeset algorithm can read it.
//
// The rows lie in chunks. A copy shares all of them; a change copies one, and the list of chunks.

internal import TreeRing
internal import TreeRingLog

/// A label: its order is the order of the rows.
typealias ListedLabel = UInt128

/// Rows in the order of their labels.
struct ListedGroup: Sendable {
  struct Entry: Sendable {
    var label: ListedLabel
    var row: RowReference
  }

  private var chunks: [[Entry]] = []
  /// The number of rows before each chunk.
  private var starts: [Int] = []
  private(set) var count = 0

  private static let longestChunk = 128
  /// The distance of labels where there is no lack of room.
  private static let spacing: ListedLabel = 1 << 64

  /// No rows.
  init() {}

  /// These rows in this order, with labels in the middle of all.
  init(_ rows: [RowReference]) {
    var label = ListedLabel.max / 2 - ListedLabel(rows.count) / 2 * Self.spacing
    for start in stride(from: 0, to: rows.count, by: Self.longestChunk / 2) {
      starts.append(start)
      chunks.append(
        rows[start..<min(start + Self.longestChunk / 2, rows.count)].map { row in
          label += Self.spacing
          return Entry(label: label, row: row)
        })
    }
    count = rows.count
  }

  /// The entry at a position, which must exist. O(log n).
  subscript(position: Int) -> Entry {
    let chunk = chunkIndex(of: position)
    return chunks[chunk][position - starts[chunk]]
  }

  /// The rows in order. O(n).
  var entries: some Sequence<Entry> { chunks.lazy.joined() }

  /// The number of labels below one. O(log n).
  func rank(of label: ListedLabel) -> Int {
    // The chunk before the first one that begins at the label or behind it.
    let next = chunks.partitioningIndex { ($0.first?.label ?? .max) >= label }
    guard next > 0 else { return 0 }
    return starts[next - 1] + chunks[next - 1].partitioningIndex { $0.label >= label }
  }

  /// Inserts a row at a position. O(log n), occasionally more.
  ///
  /// - Returns: The rows with their labels that the insertion gave: this one, and neighbours that
  ///   had to make room.
  mutating func insert(_ row: RowReference, at position: Int) -> [Entry] {
    let below = position > 0 ? self[position - 1].label : nil
    let above = position < count ? self[position].label : nil
    if let label = Self.label(between: below, above) {
      insert(Entry(label: label, row: row), at: position)
      return [Entry(label: label, row: row)]
    }
    insert(Entry(label: 0, row: row), at: position)
    return spread(around: position)
  }

  /// Removes the row at a position, which must exist. O(log n).
  mutating func remove(at position: Int) {
    let chunk = chunkIndex(of: position)
    chunks[chunk].remove(at: position - starts[chunk])
    if chunks[chunk].isEmpty {
      chunks.remove(at: chunk)
      starts.remove(at: chunk)
    } else if chunk > 0, chunks[chunk - 1].count + chunks[chunk].count < Self.longestChunk / 4 {
      chunks[chunk - 1] += chunks[chunk]
      chunks.remove(at: chunk)
      starts.remove(at: chunk)
    }
    renumber(from: chunk)
  }

  // MARK: - Parts

  private func chunkIndex(of position: Int) -> Int {
    starts.partitioningIndex { $0 > position } - 1
  }

  private mutating func insert(_ entry: Entry, at position: Int) {
    if chunks.isEmpty {
      chunks = [[entry]]
      starts = [0]
      count = 1
      return
    }
    let chunk = max(0, chunkIndex(of: max(0, position - 1)))
    chunks[chunk].insert(entry, at: position - starts[chunk])
    if chunks[chunk].count > Self.longestChunk {
      let half = chunks[chunk].count / 2
      chunks.insert(Array(chunks[chunk][half...]), at: chunk + 1)
      chunks[chunk].removeLast(chunks[chunk].count - half)
      starts.insert(0, at: chunk + 1)
    }
    renumber(from: chunk)
  }

  private mutating func renumber(from first: Int) {
    var start = 0
    if first > 0, first <= chunks.count { start = starts[first - 1] + chunks[first - 1].count }
    for chunk in min(first, chunks.count)..<chunks.count {
      starts[chunk] = start
      start += chunks[chunk].count
    }
    count = start
  }

  private static func label(between below: ListedLabel?, _ above: ListedLabel?) -> ListedLabel? {
    switch (below, above) {
    case (nil, nil): return .max / 2
    case (let below?, nil): return below <= .max - spacing ? below + spacing : nil
    case (nil, let above?): return above > spacing ? above - spacing : nil
    case (let below?, let above?): return above - below > 1 ? below + (above - below) / 2 : nil
    }
  }

  /// Gives labels with room between them to the rows around a position: to as few as have enough
  /// between their neighbours. Returns these rows with their labels.
  private mutating func spread(around position: Int) -> [Entry] {
    var width = 16
    while true {
      let first = max(0, position - width)
      let last = min(count - 1, position + width)
      let below = first > 0 ? self[first - 1].label : 0
      let above = last < count - 1 ? self[last + 1].label : .max
      let distance = (above - below) / ListedLabel(last - first + 2)
      if distance > 1 << 20 || (first == 0 && last == count - 1) {
        var label = below
        var changed: [Entry] = []
        for index in first...last {
          label += distance
          let entry = Entry(label: label, row: self[index].row)
          let chunk = chunkIndex(of: index)
          chunks[chunk][index - starts[chunk]] = entry
          changed.append(entry)
        }
        return changed
      }
      width *= 2
    }
  }
}

extension ListedGroup: OrderedGroup {
  func rank(of order: [UInt8]) throws(TreeRingError) -> Int { rank(of: Self.label(order)) }

  func ranks(of places: [[UInt8]]) throws(TreeRingError) -> [Int] {
    places.map { rank(of: Self.label($0)) }
  }

  func row(at position: Int) throws(TreeRingError) -> RowReference { self[position].row }

  /// A label as the order of a place.
  static func order(_ label: ListedLabel) -> [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: label >> ListedLabel(120 - 8 * $0)) }
  }

  private static func label(_ order: [UInt8]) -> ListedLabel {
    order.reduce(0) { $0 << 8 | ListedLabel($1) }
  }
}
