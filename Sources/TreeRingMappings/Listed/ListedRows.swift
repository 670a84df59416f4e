// A list that another process keeps, as it was received: sections of rows with their contents. The
// changeset algorithm reads it like an index whose groups hold exactly the rows shown.

package import TreeRing
internal import TreeRingLog

/// Sections of rows at one moment. A copy shares nearly everything with the original.
package struct ListedRows: Sendable {
  /// A row in a section.
  struct Row: Sendable {
    var object: [UInt8]
    /// The groups that show the row, in name order, with its label in each.
    var places: [(group: GroupName, label: ListedLabel)]
  }

  /// The sections, in order.
  package private(set) var sections: [GroupName] = []
  private var groups = SharedTable<GroupName, ListedGroup>()
  private var rows = SharedTable<RowReference, Row>()
  /// The names of the buckets by number; a number keeps its name.
  private var buckets: [String] = []

  /// No sections.
  package init() {}

  /// The number of rows, each counted once.
  package var rowCount: Int { rows.count }

  // MARK: - Reading

  /// The number of rows of a section; nil if there is no such section.
  package func count(in section: GroupName) -> Int? { groups[section]?.count }

  /// The content of a row; nil if no section shows it. O(1).
  package func object(of row: RowID) -> [UInt8]? {
    reference(of: row).flatMap { rows[$0]?.object }
  }

  /// Whether a section shows a row. O(1).
  package func contains(_ row: RowReference) -> Bool { rows[row] != nil }

  /// The row of a reference; nil if no section shows it.
  func row(_ reference: RowReference) -> Row? { rows[reference] }

  /// A row's reference. The bucket gets a number if it is new.
  package mutating func reference(bucket: String, key: [UInt8]) -> RowReference {
    RowReference(bucket: number(of: bucket), key: key)
  }

  private mutating func number(of bucket: String) -> UInt32 {
    if let number = buckets.firstIndex(where: { $0.utf8.elementsEqual(bucket.utf8) }) {
      return UInt32(number)
    }
    buckets.append(bucket)
    return UInt32(buckets.count - 1)
  }

  // MARK: - Sections

  /// Inserts an empty section before another one, or at the end; false if that is not possible.
  package mutating func insert(section: GroupName, before next: GroupName?) -> Bool {
    guard groups[section] == nil, let place = place(before: next) else { return false }
    sections.insert(section, at: place)
    groups[section] = ListedGroup()
    return true
  }

  /// Moves a section before another one, or to the end; false if that is not possible.
  package mutating func move(section: GroupName, before next: GroupName?) -> Bool {
    guard section != next, let from = sections.firstIndex(of: section) else { return false }
    sections.remove(at: from)
    guard let place = place(before: next) else { return false }
    sections.insert(section, at: place)
    return true
  }

  /// Removes a section with its rows, which it returns; nil if there is no such section.
  package mutating func remove(section: GroupName) -> [RowReference]? {
    guard let place = sections.firstIndex(of: section), let group = groups[section] else {
      return nil
    }
    let references = group.entries.map(\.row)
    for row in references { removePlace(of: row, in: section) }
    sections.remove(at: place)
    groups[section] = nil
    return references
  }

  private func place(before next: GroupName?) -> Int? {
    next.map { sections.firstIndex(of: $0) } ?? sections.count
  }

  // MARK: - Rows

  /// Inserts a row into a section, before another row or at the end.
  ///
  /// - Parameter object: Its content; nil keeps the known one.
  /// - Returns: The rows that got a label; nil if that is not possible.
  package mutating func insert(
    _ row: RowReference, object: [UInt8]?, in section: GroupName, before next: RowReference?
  ) -> [RowReference]? {
    guard var group = groups[section] else { return nil }
    var state = rows[row] ?? Row(object: [], places: [])
    guard let object = object ?? rows[row]?.object,
      !state.places.contains(where: { $0.group == section })
    else { return nil }
    var position = group.count
    if let next {
      guard let label = label(of: next, in: section) else { return nil }
      position = group.rank(of: label)
    }
    groups[section] = nil
    let changed = group.insert(row, at: position)
    groups[section] = group
    state.object = object
    rows[row] = state
    for entry in changed { setLabel(entry.label, of: entry.row, in: section) }
    return changed.map(\.row)
  }

  /// Removes a row from a section; returns its content, or nil if it is not there.
  package mutating func remove(_ row: RowReference, from section: GroupName) -> [UInt8]? {
    guard var group = groups[section], let label = label(of: row, in: section),
      let object = rows[row]?.object
    else { return nil }
    groups[section] = nil
    group.remove(at: group.rank(of: label))
    groups[section] = group
    removePlace(of: row, in: section)
    return object
  }

  /// Sets the content of a row; false if no such section shows it.
  package mutating func update(
    _ row: RowReference, object: [UInt8]?, in section: GroupName
  ) -> Bool {
    guard label(of: row, in: section) != nil else { return false }
    if let object { rows[row]?.object = object }
    return true
  }

  /// Replaces everything. A section whose rows keep their order keeps their labels.
  ///
  /// - Parameter content: The sections in order, each once, with the rows of each in order.
  /// - Returns: The rows that may differ; nil if a section, or a row of one, comes twice.
  package mutating func replace(
    by content: [(section: GroupName, rows: [(row: RowReference, object: [UInt8])])]
  ) -> Set<RowReference>? {
    var next = ListedRows()
    next.buckets = buckets
    var changed: Set<RowReference> = []
    for (section, rows) in content {
      guard next.groups[section] == nil else { return nil }
      next.sections.append(section)
      let order = rows.map(\.row)
      var group = groups[section] ?? ListedGroup()
      if group.count != order.count || !group.entries.lazy.map(\.row).elementsEqual(order) {
        changed.formUnion(group.entries.lazy.map(\.row))
        changed.formUnion(order)
        group = ListedGroup(order)
      }
      next.groups[section] = group
      for (entry, (row, object)) in zip(group.entries, rows) {
        var state = next.rows[row] ?? Row(object: object, places: [])
        guard !state.places.contains(where: { $0.group == section }) else { return nil }
        state.place(in: section, entry.label)
        next.rows[row] = state
        if self.rows[row]?.object != object { changed.insert(row) }
      }
    }
    for section in sections where next.groups[section] == nil {
      if let group = groups[section] { changed.formUnion(group.entries.lazy.map(\.row)) }
    }
    self = next
    return changed
  }

  private func label(of row: RowReference, in section: GroupName) -> ListedLabel? {
    rows[row]?.places.first { $0.group == section }?.label
  }

  private mutating func setLabel(
    _ label: ListedLabel, of row: RowReference, in section: GroupName
  ) { rows[row]?.place(in: section, label) }

  private mutating func removePlace(of row: RowReference, in section: GroupName) {
    rows[row]?.places.removeAll { $0.group == section }
    if rows[row]?.places.isEmpty == true { rows[row] = nil }
  }
}

extension ListedRows.Row {
  /// Sets the label in a group.
  fileprivate mutating func place(in group: GroupName, _ label: ListedLabel) {
    let index = places.partitioningIndex { $0.group >= group }
    if index < places.count, places[index].group == group {
      places[index].label = label
    } else {
      places.insert((group, label), at: index)
    }
  }
}

extension ListedRows: OrderedGroups {
  func groupNames() throws(TreeRingError) -> [GroupName] { sections.sorted() }
  func group(_ name: GroupName) throws(TreeRingError) -> ListedGroup {
    groups[name] ?? ListedGroup()
  }
  func places(of row: RowReference) throws(TreeRingError) -> [RowPlace] { placeList(of: row) }
  func placeList(of row: RowReference) -> [RowPlace] {
    (rows[row]?.places ?? []).map {
      RowPlace(group: $0.group, order: ListedGroup.order($0.label))
    }
  }
  func forEachRank(
    of row: RowReference, _ body: (GroupName, Int) -> Void
  ) throws(TreeRingError) {
    for (group, label) in rows[row]?.places ?? [] {
      body(group, groups[group]?.rank(of: label) ?? 0)
    }
  }
  func stored(_ row: RowReference) throws(TreeRingError) -> StoredRow? {
    guard let state = rows[row] else { return nil }
    let id = try id(of: row)
    return StoredRow(
      bucket: id.bucket, key: id.key, object: state.object, metadata: nil, written: 0, created: 0,
      coder: 0)
  }
  func id(of row: RowReference) throws(TreeRingError) -> RowID {
    guard row.bucket < buckets.count else {
      throw TreeRingError(.notFound, "The list knows no bucket of the number \(row.bucket).")
    }
    return RowID(bucket: buckets[Int(row.bucket)], key: Key(bytes: row.key))
  }
  package func reference(of id: RowID) -> RowReference? {
    buckets.firstIndex { $0.utf8.elementsEqual(id.bucket.utf8) }.map {
      RowReference(bucket: UInt32($0), key: id.key.bytes)
    }
  }
}
