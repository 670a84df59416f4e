/// Deliberate mistakes, one for each error-prone step of the algorithm. Tests inject them to show
/// that a property catches each; every other caller uses `none`.
package enum Flaw: CaseIterable, Sendable {
  case none
  /// A block of unaffected rows weighs as much as one row.
  case lightBlocks
  /// Blocks reach beyond the rows shown on both sides.
  case unclippedBlocks
  /// The rank of an old place also counts the affected rows that stand before it only in the new
  /// order.
  case takenCounted
  /// Old places between the same two rows stay in any order.
  case tiesUnordered
  /// Among equally short scripts, one that moves bystanders counts as equal.
  case bystandersEqual
  /// A row that moves to another section is deleted and inserted.
  case crossingSplit
  /// Rows of deleted and inserted sections are listed.
  case deadSectionsListed
  /// Every affected row is an update, whether or not its content differs.
  case updatesUnchecked
  /// Rows that slide over an edge of a range are not listed.
  case slidesForgotten
  /// Steps count positions as if no moves were pending.
  case pendingForgotten
  /// Placements run first to last, so an anchor may not be in position yet.
  case placedLeftToRight
  /// Structure is one stage, even if a moved section changes.
  case stagesUnsplit
  /// A range grows at the same end of the index's order when its group is reversed.
  case growthNotReversed
  /// A window whose rows all leave takes in only the rows its growth option admits.
  case gapNotTaken
  /// A range below its fewest rows extends away from the pin only.
  case minimumAwayFromPin
  /// A row that gets a new label without passing another leaves its window and comes again.
  case relabelledLeaves
  /// Only the adjacent neighbour is checked for dependencies.
  case nearNeighborsOnly
  /// A consolidated section keeps each group's rows separate.
  case consolidatedApart
  /// The filter is not evaluated again for a group whose rows changed.
  case listingStale
  /// The filter is not evaluated again for a group whose row is written without a change.
  case rewritesUnasked
  /// A change with one operation more than the limit is listed.
  case limitLoose
  /// The legacy list reports an update for a row that passed another and ends at its old path.
  case legacyMovesMissed
}
