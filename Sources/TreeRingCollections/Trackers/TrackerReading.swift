// A tracker's reads of a store: all entries, or the changes between two snapshots.

internal import TreeRing
internal import TreeRingLog

extension TrackerRequest {
  /// Every entry of a snapshot. O(rows in scope).
  func entries(in snapshot: Snapshot) throws -> [TrackedEntry<Row>] {
    var entries: [TrackedEntry<Row>] = []
    switch scope {
    case .bucket:
      try snapshot.forEachRow(in: bucket.name) { stored in
        if let entry = try listed(stored, slot: 0, place: stored.key.bytes) {
          entries.append(entry)
        }
        return true
      }
    case .groups(let index, let groups):
      let reader = try snapshot.index(index)
      for (slot, group) in groups.enumerated() {
        try reader.forEachEntry(in: group, 0..<reader.count(in: group)) { found in
          let (place, row) = (Array(found.order), found.row)
          if let entry = try listed(of: row, slot: slot, place: place, in: snapshot) {
            entries.append(entry)
          }
          return true
        }
      }
    }
    return entries
  }

  /// Whether two states list rows in the same way, so that rows without a change keep their
  /// positions.
  func listsRows(in snapshot: Snapshot, asIn other: Snapshot) throws -> Bool {
    guard case .groups(let index, _) = scope else { return true }
    return try snapshot.reads(index, as: other)
  }

  /// The changes of the rows in scope between two states that list rows in the same way, in either
  /// direction. O(affected rows · log n) while the change records last, else O(rows written in
  /// between · log n).
  func changes(
    in store: Store, from old: Snapshot, to new: Snapshot
  ) throws -> [EntryChange<Row>] {
    switch scope {
    case .bucket:
      var changes: [EntryChange<Row>] = []
      try new.diff(from: old) { difference in
        guard difference.id.bucket.isSameName(as: bucket.name) else { return true }
        let entry = try difference.after.flatMap {
          try listed($0, slot: 0, place: $0.key.bytes)
        }
        changes.append(
          EntryChange(
            identity: EntryIdentity(slot: 0, id: difference.id), entry: entry, isUpdate: true))
        return true
      }
      return changes
    case .groups(let index, let groups):
      let affected = try store.affectedRows(ofIndex: index, from: old, to: new)
      let slots = Dictionary(uniqueKeysWithValues: groups.enumerated().map { ($1, $0) })
      var changes: [EntryChange<Row>] = []
      for (row, change) in affected.rows {
        let id = try store.rowNames.id(of: row)
        guard id.bucket.isSameName(as: bucket.name) else { continue }
        let content = affected.parts(of: change)
        let isUpdate = content?.isDisjoint(with: [.object, .metadata]) == false
        for (slot, place) in Self.places(change, slots) {
          let entry = try place.flatMap {
            try listed(of: row, slot: slot, place: $0, in: new)
          }
          changes.append(
            EntryChange(
              identity: EntryIdentity(slot: slot, id: id), entry: entry, isUpdate: isUpdate))
        }
      }
      return changes
    }
  }

  /// The bucket's rows whose content differs between two states. O(rows written in between · log
  /// n).
  func updatedRows(from old: Snapshot, to new: Snapshot) throws -> Set<RowID> {
    var rows: Set<RowID> = []
    try new.diff(from: old) { difference in
      if difference.id.bucket.isSameName(as: bucket.name) { rows.insert(difference.id) }
      return true
    }
    return rows
  }

  /// The groups of the request that a row left, took or changed in, and its new place there.
  private static func places(
    _ change: AffectedRow, _ slots: [GroupName: Int]
  ) -> [(slot: Int, place: [UInt8]?)] {
    var places: [Int: [UInt8]?] = [:]
    for place in change.oldPlaces {
      if let slot = slots[place.group] { places.updateValue(nil, forKey: slot) }
    }
    for place in change.newPlaces {
      if let slot = slots[place.group] { places.updateValue(place.order, forKey: slot) }
    }
    return places.map { ($0.key, $0.value) }
  }

  private func listed(
    of row: RowReference, slot: Int, place: [UInt8], in snapshot: Snapshot
  ) throws -> TrackedEntry<Row>? {
    try snapshot.row(row, in: bucket.name).flatMap { try listed($0, slot: slot, place: place) }
  }

  /// The entry of a row; nil if the predicate excludes it.
  private func listed(
    _ stored: StoredRow, slot: Int, place: [UInt8]
  ) throws -> TrackedEntry<Row>? {
    let row = try bucket.decode(stored)
    let tracked = TrackedRow(id: RowID(bucket: stored.bucket, key: stored.key), row: row)
    guard predicate?(tracked) ?? true else { return nil }
    return TrackedEntry(slot: slot, place: place, content: tracked)
  }
}
