// Applies changes to the snapshot of a diffable data source. The snapshot is edited, because a
// rebuild would cost its whole length. All decisions are made here, on a protocol of the calls that
// such snapshots have, so that tests can run them on a model.

internal import TreeRing
internal import TreeRingLog

/// A list of sections and their members with unique identities, like the snapshots of diffable data
/// sources. Naming a missing member or section, or adding an existing one, is a mistake that traps.
protocol SectionedSnapshot {
  /// The sections, in order.
  var sectionIdentifiers: [GroupName] { get }
  func numberOfItems(inSection section: GroupName) -> Int
  /// The position of a member among all; nil if it is missing.
  func indexOfItem(_ member: Placements.Member) -> Int?
  mutating func appendSections(_ sections: [GroupName])
  /// Deletes sections with their members.
  mutating func deleteSections(_ sections: [GroupName])
  mutating func moveSection(_ section: GroupName, beforeSection next: GroupName)
  mutating func moveSection(_ section: GroupName, afterSection last: GroupName)
  mutating func appendItems(_ members: [Placements.Member], toSection section: GroupName?)
  mutating func insertItems(_ members: [Placements.Member], beforeItem next: Placements.Member)
  mutating func deleteItems(_ members: [Placements.Member])
  /// Redraws members.
  mutating func reconfigureItems(_ members: [Placements.Member])
}

extension SectionedSnapshot {
  /// Edits the snapshot so that it shows the state after a change. It is filled from scratch if it
  /// does not show the state before. That check covers the sections, their counts and the rows
  /// named in the change. O(k log n + sections).
  ///
  /// - Throws: `TreeRingError` if the index cannot be read; the snapshot is then unchanged.
  mutating func show(_ change: Change) throws(TreeRingError) {
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

  /// Whether every member that the placements refer to is there, and none that they insert.
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
