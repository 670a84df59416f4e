// The parts of a change, applied to the rows that a client shows. They apply in this order: rows
// removed, sections removed, sections placed, rows placed, rows updated.

internal import TreeRing
internal import TreeRingMappings

extension ListedRows {
  /// Applies a change.
  ///
  /// - Returns: The rows that may differ, with the parts that the server names.
  /// - Throws: `malformed` if the change does not fit the rows. The rows are then unusable.
  mutating func apply(
    sections: JSONPart?, rows: JSONPart?
  ) throws(RemoteError) -> [RowReference: Parts] {
    var changed: [RowReference: Parts] = [:]
    let sections = try sections?.members() ?? [:]
    let rows = try rows?.members() ?? [:]
    for part in try rows["remove"]?.elements() ?? [] {
      let (group, row) = try member(try part.elements(least: 3))
      guard remove(row, from: group) != nil else { throw Self.misfit("a removed row", group) }
      changed.mark(row)
    }
    for part in try sections["remove"]?.elements() ?? [] {
      let group = GroupName(bytes: try part.key())
      guard let rows = remove(section: group) else { throw Self.misfit("a removed section", group) }
      for row in rows { changed.mark(row) }
    }
    for part in try sections["place"]?.elements() ?? [] { try placeSection(part, &changed) }
    for part in try rows["place"]?.elements() ?? [] { try placeRow(part, &changed) }
    for part in try rows["update"]?.elements() ?? [] {
      let element = try part.elements(least: 4)
      let (group, row) = try member(element)
      let object = element.count > 4 ? Array(element[4].bytes) : nil
      guard update(row, object: object, in: group) else { throw Self.misfit("a row", group) }
      var parts: Parts = []
      for name in try element[3].elements() { parts.formUnion(Self.parts[try name.string()] ?? []) }
      changed.mark(row, parts)
    }
    return changed
  }

  private mutating func placeSection(
    _ part: JSONPart, _ changed: inout [RowReference: Parts]
  ) throws(RemoteError) {
    let element = try part.elements(least: 3)
    let group = GroupName(bytes: try element[0].key())
    let next = try element[1].present?.key()
    let before = next.map { GroupName(bytes: $0) }
    guard let rows = element[2].present else {
      if !move(section: group, before: before) { throw Self.misfit("a moved section", group) }
      return
    }
    if !insert(section: group, before: before) { throw Self.misfit("a new section", group) }
    for part in try rows.elements() {
      let row = try part.elements(least: 3)
      let reference = reference(bucket: try row[0].string(), key: try row[1].key())
      try insert(reference, Array(row[2].bytes), in: group, before: nil, &changed)
    }
  }

  private mutating func placeRow(
    _ part: JSONPart, _ changed: inout [RowReference: Parts]
  ) throws(RemoteError) {
    let element = try part.elements(least: 5)
    let (group, row) = try member(element)
    var object = element.count > 5 ? Array(element[5].bytes) : nil
    if let from = try element[3].present?.key() {
      let previous = GroupName(bytes: from)
      guard let known = remove(row, from: previous) else {
        throw Self.misfit("a moved row", previous)
      }
      object = known
    }
    var next: RowReference?
    if let before = try element[4].present?.elements(least: 2) {
      next = reference(bucket: try before[0].string(), key: try before[1].key())
    }
    try insert(row, object, in: group, before: next, &changed)
  }

  private mutating func insert(
    _ row: RowReference, _ object: [UInt8]?, in group: GroupName, before next: RowReference?,
    _ changed: inout [RowReference: Parts]
  ) throws(RemoteError) {
    guard let labeled = insert(row, object: object, in: group, before: next) else {
      throw Self.misfit("a placed row", group)
    }
    for row in labeled { changed.mark(row) }
  }

  /// The group and the row of `[GROUP, BUCKET, KEY, …]`.
  private mutating func member(
    _ element: [JSONPart]
  ) throws(RemoteError) -> (GroupName, RowReference) {
    (
      GroupName(bytes: try element[0].key()),
      reference(bucket: try element[1].string(), key: try element[2].key())
    )
  }

  private static let parts: [String: Parts] = [
    "object": .object, "metadata": .metadata, "touched": .touched, "dependency": .dependency,
  ]

  private static func misfit(_ thing: String, _ group: GroupName) -> RemoteError {
    .malformed("\(thing) of \(group) does not fit the rows shown.")
  }
}

extension [RowReference: Parts] {
  /// Adds a row that may differ, and parts of it.
  mutating func mark(_ row: RowReference, _ parts: Parts = []) {
    self[row, default: []].formUnion(parts)
  }
}
