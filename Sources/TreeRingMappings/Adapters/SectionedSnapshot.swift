// Brings changes onto the snapshot of a diffable data source. The snapshot is edited, not made anew: that
// would cost its whole length. What is decided is decided here, over the calls that such snapshots have,
// so that it can be tried on a model of them.

package import TreeRing
package import TreeRingLog

/// A list of sections and their members, each known by itself, as snapshots of diffable data sources are.
/// Naming a member or a section that is not there, or adding one that is, is a mistake that traps.
package protocol SectionedSnapshot {
  /// The sections, in order.
  var sectionIdentifiers: [GroupName] { get }
  func numberOfItems(inSection section: GroupName) -> Int
  /// Where a member stands among all; nil if it is not there.
  func indexOfItem(_ member: Placements.Member) -> Int?
  mutating func appendSections(_ sections: [GroupName])
  /// Sections go, with their members.
  mutating func deleteSections(_ sections: [GroupName])
  mutating func moveSection(_ section: GroupName, beforeSection next: GroupName)
  mutating func moveSection(_ section: GroupName, afterSection last: GroupName)
  mutating func appendItems(_ members: [Placements.Member], toSection section: GroupName?)
  mutating func insertItems(_ members: [Placements.Member], beforeItem next: Placements.Member)
  mutating func deleteItems(_ members: [Placements.Member])
  /// Has members drawn anew.
  mutating func reconfigureItems(_ members: [Placements.Member])
}

extension SectionedSnapshot {
  /// Edits the snapshot so that it shows what a change leads to. One that shows anything else than the
  /// state before, as far as its sections, their counts and the rows that the change names tell, is filled
  /// anew. O(k log n + sections).
  ///
  /// - Throws: `TreeRingError` if the index cannot be read; the snapshot is then as it was.
  package mutating func show(_ change: Change) throws(TreeRingError) {
    var copy = self
    if !change.isReset, shows(change.before) {
      let placements = try change.placements()
      if copy.has(placements) {
        try copy.edit(placements, showing: change.after)
        self = copy
        return
      }
    }
    copy.deleteSections(copy.sectionIdentifiers)
    for section in change.after.sections { try copy.append(section) }
    self = copy
  }

  private func shows(_ state: ShownRows) -> Bool {
    sectionIdentifiers == state.visibleGroups
      && state.outline.allSatisfy { numberOfItems(inSection: $0.group) == $0.count }
  }

  /// Whether every member is there that placements count on, and none that they bring.
  private func has(_ placements: Placements) -> Bool {
    func has(_ member: Placements.Member) -> Bool { indexOfItem(member) != nil }
    var coming: Set<Placements.Member> = []
    for placement in placements.place {
      let (member, from) = (placement.member, placement.from)
      if let from, !has(Placements.Member(group: from, row: member.row)) { return false }
      if from != member.group, has(member) { return false }
      coming.insert(member)
    }
    let neighbors = placements.place.compactMap(\.before) + placements.update.map(\.member)
    return placements.remove.allSatisfy(has)
      && neighbors.allSatisfy { coming.contains($0) || has($0) }
  }

  private mutating func edit(
    _ placements: Placements, showing after: ShownRows
  ) throws(TreeRingError) {
    deleteItems(placements.remove)
    deleteSections(placements.removeSections)
    for placement in placements.placeSections {
      if placement.isNew, let index = after.section(of: placement.group) {
        try append(after.sections[index])
      }
      if let next = placement.before {
        moveSection(placement.group, beforeSection: next)
      } else if let last = sectionIdentifiers.last, last != placement.group {
        moveSection(placement.group, afterSection: last)
      }
    }
    for placement in placements.place {
      if let from = placement.from {
        deleteItems([Placements.Member(group: from, row: placement.member.row)])
      }
      if let next = placement.before {
        insertItems([placement.member], beforeItem: next)
      } else {
        appendItems([placement.member], toSection: placement.section)
      }
    }
    reconfigureItems(placements.update.map(\.member))
  }

  private mutating func append(_ section: ShownSection) throws(TreeRingError) {
    var members: [Placements.Member] = []
    members.reserveCapacity(section.count)
    for row in section.indices {
      if let member = try section.member(row) { members.append(member) }
    }
    appendSections([section.group])
    appendItems(members, toSection: section.group)
  }
}
