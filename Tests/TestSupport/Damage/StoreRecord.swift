// A record of a sound store's rows and history, for comparison with damaged copies.

package import TreeRing
package import TreeRingLog

/// The rows, tags and indexes of one commit.
package struct StoreState: Hashable, Sendable {
  package var rows: [String: [StoredRow]] = [:]
  package var tags: [Tag] = []
  /// Rows by index and group, in order.
  package var indexes: [String: [GroupName: [RowID]]] = [:]

  package init(_ snapshot: Snapshot) throws {
    for (bucket, count) in try snapshot.buckets() {
      var rows: [StoredRow] = []
      try snapshot.forEachRow(in: bucket) {
        rows.append($0)
        return true
      }
      guard rows.count == count else {
        throw DamageFlaw("\(bucket) counts \(count) rows and has \(rows.count)")
      }
      if !rows.isEmpty { self.rows[bucket] = rows }
    }
    tags = try snapshot.tags()
    for info in snapshot.indexes {
      guard let index = try Self.reader(of: info.name, snapshot) else { continue }
      var groups: [GroupName: [RowID]] = [:]
      for group in try index.groups() {
        groups[group] = try index.rows(in: group).map { RowID(bucket: $0.bucket, key: $0.key) }
      }
      indexes[info.name] = groups
    }
  }

  /// A reader of an index; nil if the index is defined in code that is not registered, or was not
  /// built by then.
  private static func reader(of name: String, _ snapshot: Snapshot) throws -> IndexReader? {
    do {
      return try snapshot.index(name)
    } catch {
      guard error.code == .indexDefinedInCode || error.code == .notFound else { throw error }
      return nil
    }
  }

  /// The first difference from another state, in words. An index that one of them lacks is no
  /// difference.
  package func difference(from other: StoreState) -> String? {
    for bucket in Set(rows.keys).union(other.rows.keys).sorted()
    where rows[bucket] != other.rows[bucket] {
      let (mine, theirs) = (rows[bucket] ?? [], other.rows[bucket] ?? [])
      let row = mine.first { !theirs.contains($0) } ?? theirs.first { !mine.contains($0) }
      return "\(mine.count) rows of \(bucket) instead of \(theirs.count), another \(row?.key ?? "")"
    }
    if tags != other.tags { return "tags \(tags) instead of \(other.tags)" }
    for (name, groups) in indexes {
      if let theirs = other.indexes[name], theirs != groups { return "other places in \(name)" }
    }
    return nil
  }
}

/// A wrong answer of a store.
package struct DamageFlaw: Error, CustomStringConvertible {
  package var description: String
  package init(_ description: String) { self.description = description }
}

/// The answers of a sound store at the moments of recording.
package struct StoreRecord: Sendable {
  package private(set) var newest: CommitNumber = 0
  package private(set) var horizon: CommitNumber = 0
  /// The states by commit. Compaction and erasing change past states, so there may be several.
  package private(set) var states: [CommitNumber: Set<StoreState>] = [:]
  package private(set) var commits: [CommitNumber: Set<CommitInfo>] = [:]
  package private(set) var operations: [CommitNumber: Set<[CommitOperation]>] = [:]
  package private(set) var histories: [RowID: Set<RowVersion>] = [:]
  /// The commits at the last recording, and each row's versions then.
  package private(set) var present: Set<CommitNumber> = []
  package private(set) var lastHistories: [RowID: [RowVersion]] = [:]

  package init() {}

  /// Records all answers of a store.
  package mutating func note(_ store: Store) throws {
    (newest, horizon) = (store.newestCommit, store.horizon)
    present = []
    lastHistories = [:]
    for number in 0...newest {
      do {
        let state = try StoreState(store.snapshot(at: .commit(number)))
        states[number, default: []].insert(state)
        for (bucket, rows) in state.rows {
          for row in rows {
            let id = RowID(bucket: bucket, key: row.key)
            guard lastHistories[id] == nil else { continue }
            let versions = try store.history(of: id.key, in: bucket)
            lastHistories[id] = versions
            histories[id, default: []].formUnion(versions)
          }
        }
        if number == 0 { continue }
        commits[number, default: []].insert(try store.commit(number))
        present.insert(number)
        operations[number, default: []].insert(try store.operations(of: number).operations)
      } catch let error as TreeRingError where error.code == .beyondHorizon { continue }
    }
  }
}
