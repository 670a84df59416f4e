// The rows a tracker follows, in order, and the effect of changed rows on the window it shows.
//
// Entries have numbers in an order-statistic list; a dictionary finds a row's number. A delivery
// removes the affected entries and inserts their successors, which gives old and new positions. The
// window's ends are then arithmetic. Of the staying rows, one interval is shown before and one
// after; rows of only one of them slide out or in. O(k log n) comparisons for k affected rows.

internal import TreeRing
internal import TreeRingMappings

/// A row in one of the request's groups, or in its bucket.
struct TrackedEntry<Row: Sendable>: Sendable {
  /// The number of the group in the request.
  let slot: Int
  /// The row's place in the index's order, or its key.
  let place: [UInt8]
  let content: TrackedRow<Row>

  var identity: EntryIdentity { EntryIdentity(slot: slot, id: content.id) }

  /// The default order: group after group, each in the index's order.
  func precedes(_ other: TrackedEntry) -> Bool {
    slot != other.slot ? slot < other.slot : place.lexicographicallyPrecedes(other.place)
  }
}

/// The identity of an entry: a group's number and a row.
struct EntryIdentity: Hashable, Sendable {
  let slot: Int
  let id: RowID
}

/// The new state of an entry; nil if it left the list.
struct EntryChange<Row: Sendable>: Sendable {
  let identity: EntryIdentity
  let entry: TrackedEntry<Row>?
  /// Whether its content differs.
  let isUpdate: Bool
}

/// The rows of a request.
struct TrackedList<Row: Sendable>: Sendable {
  private let order: (@Sendable (TrackedRow<Row>, TrackedRow<Row>) -> Bool)?
  /// The positions shown, if there are as many.
  private let window: Range<Int>
  private var entries = NumberedValues<TrackedEntry<Row>>()
  private var list = RowList.ofNumbers()
  private var numbers: [EntryIdentity: RowNumber] = [:]

  /// A list of these rows. O(n log n).
  init(_ request: TrackerRequest<Row>, _ rows: [TrackedEntry<Row>]) {
    order = request.order
    window = request.window
    var sorted: [RowNumber] = []
    for entry in rows.sorted(by: precedes) {
      let number = entries.add(entry)
      numbers[entry.identity] = number
      sorted.append(number)
    }
    list = .ofNumbers(sorted)
  }

  /// Every entry, shown or not. O(n).
  var all: [TrackedEntry<Row>] { list.elements.map { entries[$0] } }

  /// The positions shown.
  private var shownPositions: Range<Int> { window.clamped(to: 0..<list.count) }

  private func content(at position: Int) -> TrackedRow<Row> { entries[list[position]].content }

  /// The rows shown. O(rows before them + rows shown).
  var shown: [TrackedRow<Row>] {
    var rows: [TrackedRow<Row>] = []
    var position = 0
    list.forEach { number in
      if window.contains(position) { rows.append(entries[number].content) }
      position += 1
      return position < window.upperBound
    }
    return rows
  }

  private func precedes(_ a: TrackedEntry<Row>, _ b: TrackedEntry<Row>) -> Bool {
    if let order {
      if order(a.content, b.content) { return true }
      if order(b.content, a.content) { return false }
    }
    return a.precedes(b)
  }

  /// The position of an entry, or its insertion position.
  private func position(of entry: TrackedEntry<Row>) -> Int {
    list.firstPosition { !precedes(entries[$0], entry) }
  }

  /// Applies changes, each of another entry, and returns the batch for the shown rows.
  mutating func apply(_ changes: [EntryChange<Row>]) -> [ListTransaction<TrackedRow<Row>>] {
    let oldShown = shownPositions
    var continuing: [(ends: IndexMove, isUpdate: Bool)] = []
    let from = changes.map { change in
      numbers[change.identity].map { position(of: entries[$0]) }
    }
    let to = replace(changes, at: from)
    let alignment = Alignment(
      removed: from.compactMap { $0 }.sorted(), added: to.compactMap { $0 }.sorted())

    var batch: [ListTransaction<TrackedRow<Row>>] = []
    let newShown = shownPositions
    for ends in Self.ends(of: changes, from, to) {
      let old = ends.from.flatMap { oldShown.contains($0) ? $0 : nil }
      let new = ends.to.flatMap { newShown.contains($0) ? $0 : nil }
      switch (old, new) {
      case (let old?, let new?): continuing.append((IndexMove(from: old, to: new), ends.isUpdate))
      case (let old?, nil): batch.append(delete(at: old, of: oldShown))
      case (nil, let new?): batch.append(insert(at: new))
      case (nil, nil): break
      }
    }
    let keptBefore = alignment.kept(inOld: oldShown)
    let keptAfter = alignment.kept(inNew: newShown)
    for kept in keptBefore.subtracting(keptAfter).joined() {
      batch.append(delete(at: alignment.oldPosition(ofKept: kept), of: oldShown))
    }
    for kept in keptAfter.subtracting(keptBefore).joined() {
      batch.append(insert(at: alignment.newPosition(ofKept: kept)))
    }
    let moved = continuing.map { $0.ends }.sorted { $0.from < $1.from }
    let common = keptBefore.clamped(to: keptAfter)
    for move in alignment.fewestMoves(of: moved, among: common) {
      batch.append(
        .move(
          content(at: move.to), index: move.from - oldShown.lowerBound,
          newIndex: move.to - newShown.lowerBound))
    }
    for row in continuing where row.isUpdate {
      batch.append(
        .update(content(at: row.ends.to), index: row.ends.from - oldShown.lowerBound))
    }
    return batch
  }

  /// The removal of a row from the rows shown before.
  private func delete(
    at position: Int, of oldShown: Range<Int>
  ) -> ListTransaction<TrackedRow<Row>> {
    .delete(index: position - oldShown.lowerBound)
  }

  /// The insertion of a row into the rows shown now.
  private func insert(at position: Int) -> ListTransaction<TrackedRow<Row>> {
    .insert(content(at: position), newIndex: position - shownPositions.lowerBound)
  }

  /// The old and new positions of rows. A row with one entry before and one after is one row, even
  /// if it changed its group. A row with several entries is independent in each.
  private static func ends(
    of changes: [EntryChange<Row>], _ from: [Int?], _ to: [Int?]
  ) -> [(from: Int?, to: Int?, isUpdate: Bool)] {
    var ends = changes.indices.map { (from: from[$0], to: to[$0], isUpdate: changes[$0].isUpdate) }
    var leaving: [RowID: [Int]] = [:]
    var coming: [RowID: [Int]] = [:]
    for (index, change) in changes.enumerated() {
      if from[index] != nil { leaving[change.identity.id, default: []].append(index) }
      if to[index] != nil { coming[change.identity.id, default: []].append(index) }
    }
    for (row, left) in leaving {
      guard left.count == 1, let taken = coming[row], taken.count == 1, left != taken else {
        continue
      }
      ends[left[0]].to = ends[taken[0]].to
      ends[left[0]].isUpdate = ends[taken[0]].isUpdate
      ends[taken[0]].to = nil
    }
    return ends
  }

  /// Replaces the old entries of changes by the new ones and returns their positions.
  private mutating func replace(_ changes: [EntryChange<Row>], at from: [Int?]) -> [Int?] {
    for position in from.compactMap({ $0 }).sorted().reversed() { list.remove(at: position) }
    for change in changes {
      if let number = numbers.removeValue(forKey: change.identity) { entries.remove(number) }
    }
    var comers: [(change: Int, entry: TrackedEntry<Row>)] = []
    for (index, change) in changes.enumerated() {
      if let entry = change.entry { comers.append((index, entry)) }
    }
    comers.sort { precedes($0.entry, $1.entry) }
    // Inserts in order, so that later entries do not shift earlier ones.
    var to = [Int?](repeating: nil, count: changes.count)
    for (change, entry) in comers {
      let (position, number) = (position(of: entry), entries.add(entry))
      list.insert(number, at: position)
      numbers[entry.identity] = number
      to[change] = position
    }
    return to
  }
}
