// A store's index as the changeset algorithm reads it.

internal import Synchronization
package import TreeRing
package import TreeRingLog

/// An index of a store at one commit. Holds the snapshot, which keeps its pages.
package struct StoreGroups: OrderedGroups {
  let snapshot: Snapshot
  let reader: IndexReader
  let names: RowNames
  private let found = FoundGroups()

  /// An index as a snapshot reads it.
  package init(snapshot: Snapshot, reader: IndexReader, names: RowNames) {
    self.snapshot = snapshot
    self.reader = reader
    self.names = names
  }

  package func groupNames() throws(TreeRingError) -> [GroupName] { try reader.groups() }
  package func group(_ name: GroupName) throws(TreeRingError) -> GroupEntries {
    if let known = found.group(name) { return known }
    let entries = try GroupEntries(name, of: reader)
    found.keep(entries)
    return entries
  }
  package func ranks(
    of row: RowReference
  ) throws(TreeRingError) -> [(group: GroupName, rank: Int)] {
    var ranks: [(group: GroupName, rank: Int)] = []
    try reader.forEachPlace(of: row) { name, sortKey in
      ranks.append((name, try group(name).rank(of: row, sortKey: sortKey)))
    }
    return ranks
  }
  package func places(of row: RowReference) throws(TreeRingError) -> [RowPlace] {
    try reader.places(of: row)
  }
  package func stored(_ row: RowReference) throws(TreeRingError) -> StoredRow? {
    let id = try names.id(of: row)
    return try snapshot.row(id.key, in: id.bucket)
  }
  package func id(of row: RowReference) throws(TreeRingError) -> RowID { try names.id(of: row) }
  package func reference(of id: RowID) -> RowReference? { names.reference(of: id) }
}

extension GroupEntries: OrderedGroup {}

/// The groups asked for so far, each found once.
private final class FoundGroups: Sendable {
  private struct State {
    var groups: [GroupName: GroupEntries] = [:]
    /// The one asked for last: neighbouring questions are mostly about the same one.
    var last: GroupEntries?
  }
  private let state = Mutex(State())

  /// A group that was found before.
  func group(_ name: GroupName) -> GroupEntries? {
    state.withLock { state in
      if let last = state.last, last.name == name { return last }
      guard let group = state.groups[name] else { return nil }
      state.last = group
      return group
    }
  }

  func keep(_ group: GroupEntries) {
    state.withLock { state in
      state.groups[group.name] = group
      state.last = group
    }
  }
}
