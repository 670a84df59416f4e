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
  package func forEachRank(
    of row: RowReference, _ body: (GroupName, Int) -> Void
  ) throws(TreeRingError) {
    try reader.forEachPlace(of: row) { name, sortKey in
      let group = try found.last(named: name) ?? self.group(GroupName(bytes: name))
      body(group.name, try group.rank(of: row, sortKey: sortKey))
    }
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
    /// The one asked for last: neighbouring questions are mostly about the same one.
    var last: GroupEntries?
    /// The others.
    var groups: [GroupName: GroupEntries] = [:]

    mutating func keep(_ group: GroupEntries) {
      if let last, last.name != group.name { groups[last.name] = last }
      last = group
    }
  }
  private let state = Mutex(State())

  /// The group asked for last, if it is called that.
  func last(named name: UnsafeRawBufferPointer) -> GroupEntries? {
    let last = state.withLock { $0.last }
    guard let last, last.name.bytes.elementsEqual(name) else { return nil }
    return last
  }

  /// A group that was found before.
  func group(_ name: GroupName) -> GroupEntries? {
    state.withLock { state in
      if let last = state.last, last.name == name { return last }
      guard let group = state.groups.removeValue(forKey: name) else { return nil }
      state.keep(group)
      return group
    }
  }

  func keep(_ group: GroupEntries) { state.withLock { $0.keep(group) } }
}
