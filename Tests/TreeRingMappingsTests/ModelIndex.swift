// A group index as plain sorted arrays. The changeset algorithm reads it, and the naive model lists
// it in full.

import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingMappings

/// Counts the algorithm's reads of an index.
final class ReadCount: Sendable {
  private let reads = Atomic<Int>(0)
  func add() { reads.add(1, ordering: .relaxed) }
  var value: Int { reads.load(ordering: .relaxed) }
}

/// In the model, bucket number 7 is named "b7".
extension RowID {
  init(_ reference: RowReference) {
    self.init(bucket: "b\(reference.bucket)", key: Key(bytes: reference.key))
  }

  var reference: RowReference {
    RowReference(bucket: UInt32(bucket.dropFirst()) ?? .max, key: key.bytes)
  }
}

struct ModelRow: Hashable {
  /// Sort keys by group.
  var places: [GroupName: [UInt8]]
  var content: RowContent
  /// The commit that last wrote the row, even with the same contents.
  var written: CommitNumber = 0
}

/// One state of an index. Immutable once built.
struct ModelIndex: OrderedGroups {
  struct Entry: Hashable {
    let order: [UInt8]
    let row: RowReference
  }

  let commit: CommitNumber
  let rows: [RowReference: ModelRow]
  let entries: [GroupName: [Entry]]
  let reads = ReadCount()

  init(commit: CommitNumber, rows: [RowReference: ModelRow]) {
    self.commit = commit
    self.rows = rows
    var entries: [GroupName: [Entry]] = [:]
    for (row, model) in rows {
      for (group, sortKey) in model.places {
        let entry = Entry(order: Self.order(sortKey, row), row: row)
        entries[group, default: []].append(entry)
      }
    }
    self.entries = entries.mapValues {
      $0.sorted { $0.order.lexicographicallyPrecedes($1.order) }
    }
  }

  static func order(_ sortKey: [UInt8], _ row: RowReference) -> [UInt8] {
    sortKey + withUnsafeBytes(of: row.bucket.bigEndian) { Array($0) } + row.key
  }

  func group(_ name: GroupName) -> ModelGroup {
    ModelGroup(name: name, entries: entries[name] ?? [], reads: reads)
  }

  func groupNames() -> [GroupName] { entries.keys.sorted() }

  /// In the model a row's object is its digest's last byte.
  func stored(_ row: RowReference) -> StoredRow? {
    reads.add()
    return rows[row].map {
      StoredRow(
        bucket: RowID(row).bucket, key: Key(bytes: row.key),
        object: [UInt8(truncatingIfNeeded: $0.content.object)], metadata: nil,
        written: $0.written, created: 0, coder: 0)
    }
  }

  func id(of row: RowReference) -> RowID {
    RowID(row)
  }

  func reference(of id: RowID) -> RowReference? {
    id.reference
  }

  func places(of row: RowReference) -> [RowPlace] {
    reads.add()
    return (rows[row]?.places ?? [:]).sorted { $0.key < $1.key }.map {
      RowPlace(group: $0.key, order: Self.order($0.value, row))
    }
  }
}

extension OrderedGroups {
  func forEachRank(
    of row: RowReference, _ body: (GroupName, Int) -> Void
  ) throws(TreeRingError) {
    for place in try places(of: row) {
      body(place.group, try group(place.group).rank(of: place.order))
    }
  }
}

extension OrderedGroup {
  func ranks(of places: [[UInt8]]) throws(TreeRingError) -> [Int] {
    var ranks: [Int] = []
    ranks.reserveCapacity(places.count)
    for place in places { ranks.append(try rank(of: place)) }
    return ranks
  }
}

/// One group of a state.
struct ModelGroup: OrderedGroup {
  let name: GroupName
  let entries: [ModelIndex.Entry]
  let reads: ReadCount

  var count: Int { entries.count }

  func rank(of order: [UInt8]) -> Int {
    reads.add()
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].order.lexicographicallyPrecedes(order) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  func row(at position: Int) throws(TreeRingError) -> RowReference {
    reads.add()
    guard entries.indices.contains(position) else {
      throw TreeRingError(.corruption, "no row \(position) in group \(name)")
    }
    return entries[position].row
  }
}

/// The difference between two states: the affected rows that two roots give. With `extra`, it also
/// lists rows that do not differ.
func affectedRows(
  from old: ModelIndex, to new: ModelIndex, extra: Set<RowReference> = []
) -> AffectedRows {
  var affected = AffectedRows(from: old.commit, to: new.commit)
  for row in Set(old.rows.keys).union(new.rows.keys) {
    guard old.rows[row] != new.rows[row] || extra.contains(row) else { continue }
    affected.rows[row] = AffectedRow(
      oldPlaces: old.places(of: row), newPlaces: new.places(of: row),
      oldContent: old.rows[row]?.content, newContent: new.rows[row]?.content)
  }
  return affected
}
