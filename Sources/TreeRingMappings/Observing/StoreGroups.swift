// A store's index, read by the changeset algorithm.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

/// An index of a store at one commit. Holds the snapshot, which pins its pages.
final class StoreGroups: OrderedGroups {
  let snapshot: Snapshot
  let reader: IndexReader
  let names: RowNames
  private let found = Mutex(FoundGroups())

  /// An index read through a snapshot.
  init(snapshot: Snapshot, reader: IndexReader, names: RowNames) {
    self.snapshot = snapshot
    self.reader = reader
    self.names = names
  }

  func groupNames() throws(TreeRingError) -> [GroupName] { try reader.groups() }
  func group(_ name: GroupName) throws(TreeRingError) -> GroupEntries {
    if let known = found.withLock({ $0.group(name) }) { return known }
    let entries = try GroupEntries(name, of: reader)
    found.withLock { $0.keep(entries) }
    return entries
  }
  func forEachRank(
    of row: RowReference, _ body: (GroupName, Int) -> Void
  ) throws(TreeRingError) {
    try reader.forEachPlace(of: row) { name, sortKey in
      let last = found.withLock { $0.last }
      let group =
        if let last, last.name.bytes.elementsEqual(name) { last } else {
          try self.group(GroupName(bytes: name))
        }
      body(group.name, try group.position(of: row, sortKey: sortKey))
    }
  }
  func places(of row: RowReference) throws(TreeRingError) -> [RowPlace] {
    try reader.places(of: row)
  }
  func stored(_ row: RowReference) throws(TreeRingError) -> StoredRow? {
    let id = try names.id(of: row)
    return try snapshot.row(id.key, in: id.bucket)
  }
  func id(of row: RowReference) throws(TreeRingError) -> RowID { try names.id(of: row) }
  func reference(of id: RowID) -> RowReference? { names.reference(of: id) }
  var hasSums: Bool { reader.hasSums }
  func sum(of name: GroupName) throws(TreeRingError) -> IndexSum? {
    if !hasSums { return nil }
    do throws(TreeRingError) {
      return try reader.sum(in: name)
    } catch {
      if error.code == .notSummable { return nil }
      throw error
    }
  }
}

extension GroupEntries: OrderedGroup {}

/// The groups looked up so far, each once.
private struct FoundGroups {
  /// The group of the last lookup: consecutive lookups mostly concern one group.
  private(set) var last: GroupEntries?
  /// The other groups.
  private var groups: [GroupName: GroupEntries] = [:]

  /// A group looked up before; nil if there is none.
  mutating func group(_ name: GroupName) -> GroupEntries? {
    if let last, last.name == name { return last }
    guard let group = groups.removeValue(forKey: name) else { return nil }
    keep(group)
    return group
  }

  mutating func keep(_ group: GroupEntries) {
    if let last, last.name != group.name { groups[last.name] = last }
    last = group
  }
}
