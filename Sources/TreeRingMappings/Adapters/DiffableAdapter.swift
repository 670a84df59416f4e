// Diffable data sources: a change edits the snapshot they show instead of making a new one.

#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !targetEnvironment(macCatalyst))
  #if canImport(UIKit)
    public import UIKit
  #else
    public import AppKit
  #endif
  public import TreeRing
  public import TreeRingLog

  extension NSDiffableDataSourceSnapshot
  where SectionIdentifierType == GroupName, ItemIdentifierType == Placements.Member {
    /// Edits the snapshot so that it shows what a change leads to. A snapshot that shows anything else
    /// than the state before is filled anew.
    ///
    /// - Throws: `TreeRingError` if the index cannot be read.
    public mutating func apply(_ change: Change) throws(TreeRingError) {
      let isKnown =
        sectionIdentifiers == change.before.visibleGroups
        && change.before.outline.allSatisfy { numberOfItems(inSection: $0.group) == $0.count }
      guard !change.isReset, isKnown else {
        deleteAllItems()
        for section in change.after.sections { try append(section, of: change.after) }
        return
      }
      let placements = try change.placements()
      deleteItems(placements.remove)
      deleteSections(placements.removeSections)
      for placement in placements.placeSections {
        if placement.isNew {
          if let index = change.after.section(of: placement.group) {
            try append(change.after.sections[index], of: change.after)
          }
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

    private mutating func append(
      _ section: ShownSection, of shown: ShownRows
    ) throws(TreeRingError) {
      appendSections([section.group])
      var members: [Placements.Member] = []
      for row in 0..<section.count {
        let path = RowPath(section: section.index, row: row)
        if let id = try shown.row(at: path), let group = shown.group(at: path) {
          members.append(Placements.Member(group: group, row: id))
        }
      }
      appendItems(members, toSection: section.group)
    }
  }

  #if canImport(AppKit) && !targetEnvironment(macCatalyst)
    extension NSDiffableDataSourceSnapshot {
      /// AppKit has no reconfiguring: items are reloaded.
      fileprivate mutating func reconfigureItems(_ items: [ItemIdentifierType]) {
        reloadItems(items)
      }
    }
  #endif
#endif
