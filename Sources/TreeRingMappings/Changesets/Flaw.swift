/// Deliberate mistakes, one for each step of the algorithm that is easy to get wrong. Tests put them
/// in to show that a property catches each; every other caller uses `none`.
package enum Flaw: CaseIterable, Sendable {
  case none
  /// A block of untouched rows weighs as much as one row.
  case lightBlocks
  /// Blocks reach beyond the rows shown on both sides.
  case unclippedBlocks
  /// The rank of an old place counts the touched rows that stand before it only now.
  case takenCounted
  /// Old places between the same two rows are left in any order.
  case tiesUnordered
  /// Of equally short scripts, one that moves bystanders is as good.
  case bystandersEqual
  /// A row that leaves for another section is deleted and inserted.
  case crossingSplit
  /// Rows of deleted and inserted sections are listed.
  case deadSectionsListed
  /// Every touched row is an update, whether or not its content differs.
  case updatesUnchecked
  /// Rows that slide over an edge of a range are forgotten.
  case slidesForgotten
  /// Steps count positions as if no move were pending.
  case pendingForgotten
  /// Placements run left to right, so that an anchor may not stand yet.
  case placedLeftToRight
  /// Structure is one stage, even when a moved section changes.
  case stagesUnsplit
  /// A range grows at the same end of the index's order when its group is reversed.
  case growthNotReversed
  /// A window none of whose rows stay takes in only what its growth options say.
  case gapNotTaken
  /// A range below its fewest rows extends away from the pin only.
  case minimumAwayFromPin
  /// A row that was re-keyed without passing another leaves its window and comes again.
  case relabelledLeaves
  /// Only the next neighbour is looked at for dependencies.
  case nearNeighborsOnly
  /// A consolidated section keeps the rows of each group by themselves.
  case consolidatedApart
  /// A group whose rows changed is not asked again whether it is listed.
  case listingStale
  /// A group is not asked again when a row of its is only written as it was.
  case rewritesUnasked
  /// A change of one operation more than the limit is listed.
  case limitLoose
  /// The legacy list says update of a row that passed another one and ends at the path it had.
  case legacyMovesMissed
}
