// A change: the state before, the state after, and how to get from one to the other.

/// What happened to the sections and rows shown, between two commits or two mappings.
public struct Change: Sendable {
  /// What was shown.
  public let before: ShownRows
  /// What is shown now.
  public let after: ShownRows
  /// The operations that lead from one to the other; none in a reset.
  public let changeset: Changeset
  /// Whether the list is to be read anew from ``after``: for the first state, and when the operations
  /// are too many to be worth listing.
  public let isReset: Bool

  /// What happens to sections.
  public var sections: SectionChanges { changeset.sections }
  /// What happens to rows of surviving sections.
  public var rows: RowChanges { changeset.rows }
  /// Whether there is nothing to do.
  public var isEmpty: Bool { !isReset && changeset.isEmpty }
}

extension Change {
  /// The first state, or one that is to be read anew.
  init(resetTo after: ShownRows) {
    before = .nothing
    self.after = after
    changeset = Changeset(before: Outline([]), after: after.layout.outline)
    isReset = true
  }

  /// What leads from one state to the next; without a changeset a reset.
  init(before: ShownRows, after: ShownRows, changeset: Changeset?) {
    self.before = before
    self.after = after
    self.changeset =
      changeset ?? Changeset(before: before.layout.outline, after: after.layout.outline)
    isReset = changeset == nil
  }
}
