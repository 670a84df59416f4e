// A change: the state before, the state after, and the operations between them.

package import TreeRing

/// The change of the sections and rows shown, between two commits or two mappings.
public struct Change: Sendable {
  /// The state before.
  public let before: ShownRows
  /// The state after.
  public let after: ShownRows
  /// The operations that lead from one state to the other; none in a reset.
  public let changeset: Changeset
  /// The reason to read the list again from ``after``; nil if the changeset leads there.
  public let resetReason: ResetReason?

  /// Whether the list must be read again from ``after``; ``resetReason`` gives the reason.
  public var isReset: Bool { resetReason != nil }
  /// The operations on sections.
  public var sections: SectionChanges { changeset.sections }
  /// The operations on rows of surviving sections.
  public var rows: RowChanges { changeset.rows }
  /// Whether the change has no effect.
  public var isEmpty: Bool { !isReset && changeset.isEmpty }
}

extension Change {
  /// The change records' data about a row. `isOneRow`: it has one place before and one after, so it
  /// keeps its identity in another group. `parts`: the parts that changed.
  package func record(of row: RowID) -> (isOneRow: Bool, parts: Parts) {
    guard let affected = before.later?.affected, let reference = before.groups?.reference(of: row),
      let change = affected.rows[reference]
    else { return (false, []) }
    return (
      change.oldPlaces.count == 1 && change.newPlaces.count == 1, affected.parts(of: change) ?? []
    )
  }
}

/// The reason why a change has no operations between its states.
public enum ResetReason: String, Hashable, Sendable, CaseIterable {
  /// Nothing was shown before.
  case firstState
  /// The rows of another index were shown before.
  case otherIndex
  /// The commit shown before cannot be read any more.
  case beyondHorizon
  /// The index was redefined, and the content shown by the earlier definition is unknown.
  case definedAnew
  /// The number of operations exceeds the observer's limit.
  case overLimit
}

extension Change {
  /// A reset to a state that must be read again.
  init(resetTo after: ShownRows, because reason: ResetReason) {
    before = .nothing
    self.after = after
    changeset = Changeset(before: Outline([]), after: after.layout.outline)
    resetReason = reason
  }

  /// The change from one state to the next; a reset if there is no changeset.
  init(before: ShownRows, after: ShownRows, changeset: Changeset?) {
    self.before = before
    self.after = after
    self.changeset =
      changeset ?? Changeset(before: before.layout.outline, after: after.layout.outline)
    resetReason = changeset == nil ? .overLimit : nil
  }
}
