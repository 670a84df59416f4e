// The parts of a change: removals by identity, then placements before a neighbour.
//
//     "sections":{"remove":[G…],"place":[[G,BEFORE|null,ROWS|null]…]}
//     "rows":{"remove":[[G,B,K]…],"place":[[G,B,K,FROM|null,BEFORE|null,OBJECT]…],
//             "update":[[G,B,K,PARTS,OBJECT]…]}
//
// They apply in this order: rows removed, sections removed, sections placed, rows placed, rows
// updated. A placed row that was shown before has FROM, its previous group, and no OBJECT; one that
// comes has an OBJECT. BEFORE of a row is [B,K], that of a section a group.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

extension RowEncoder {
  mutating func append(
    sectionsOf placements: Placements, _ shown: ShownRows
  ) throws(TreeRingError) {
    append(",\"sections\":{\"remove\":[")
    for (index, group) in placements.removeSections.enumerated() {
      if index > 0 { append(",") }
      append(key: group.bytes)
    }
    append("],\"place\":[")
    for (index, section) in placements.placeSections.enumerated() {
      append(index > 0 ? ",[" : "[")
      append(key: section.group.bytes)
      append(",")
      if let before = section.before { append(key: before.bytes) } else { append("null") }
      append(",")
      if section.isNew, let place = shown.section(of: section.group) {
        try append(allRowsOf: place, shown)
      } else {
        append("null")
      }
      append("]")
    }
    append("]}")
  }

  private mutating func append(
    allRowsOf section: Int, _ shown: ShownRows
  ) throws(TreeRingError) {
    append("[")
    for row in 0..<(shown.rowCount(inSection: section) ?? 0) {
      guard let id = try shown.row(at: RowPath(section: section, row: row)) else { break }
      append(row > 0 ? ",[" : "[")
      append(identity: id)
      append(",")
      try append(objectOf: id)
      append("]")
    }
    append("]")
  }

  private mutating func append(_ member: Placements.Member) {
    append(key: member.group.bytes)
    append(",")
    append(identity: member.row)
  }

  mutating func append(rowsOf placements: Placements) throws(TreeRingError) {
    append(",\"rows\":{\"remove\":[")
    for (index, member) in placements.remove.enumerated() {
      append(index > 0 ? ",[" : "[")
      append(member)
      append("]")
    }
    append("],\"place\":[")
    for (index, row) in placements.place.enumerated() {
      append(index > 0 ? ",[" : "[")
      append(row.member)
      append(",")
      if let from = row.from { append(key: from.bytes) } else { append("null") }
      append(",")
      if let before = row.before {
        append("[")
        append(identity: before.row)
        append("]")
      } else {
        append("null")
      }
      if row.from == nil {
        append(",")
        try append(objectOf: row.member.row)
      }
      append("]")
    }
    append("],\"update\":[")
    for (index, update) in placements.update.enumerated() {
      append(index > 0 ? ",[" : "[")
      append(update.member)
      append(",")
      let names = ChangeObject.names(of: update.parts)
      append(JSONText.array(names.map { JSONText.quoted($0) }))
      if update.parts.contains(.object) {
        append(",")
        try append(objectOf: update.member.row)
      }
      append("]")
    }
    append("]}")
  }
}
