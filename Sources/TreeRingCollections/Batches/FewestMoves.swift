// The rows that a batch must move, decided from relative order, never from equal indexes.
//
// Rows that no transaction moves keep their order. So the algorithm of the mappings applies
// (docs/changesets.md, section "Affected rows suffice"; `SectionPlan`): the moved rows are its
// candidates, and all rows of the list are one group.

internal import TreeRingMappings

extension Alignment {
  /// The fewest moves that bring some rows into their new order, by ascending new position. Of
  /// several answers, the one that moves the fewest kept rows. O(k log k) for k moved rows.
  ///
  /// - Parameters:
  ///   - moved: The rows with given positions, by ascending old position; each is listed in
  ///     `removed` and `added`.
  ///   - window: The kept rows to decide on. Moved rows beyond it count as standing at its ends.
  func fewestMoves(of moved: [IndexMove], among window: Range<Int>) -> [IndexMove] {
    if moved.isEmpty { return [] }
    var part = SectionPlan.Part(slot: 0, common: window)
    part.old = moved.indices.map { part.candidate($0, after: keptBefore(old: moved[$0].from)) }
    part.new = moved.indices.sorted { moved[$0].to < moved[$1].to }
      .map { part.candidate($0, after: keptBefore(new: moved[$0].to)) }
    var plan = SectionPlan()
    plan.add(part)
    var chain = HeaviestChain()
    var numbers = [Int](repeating: -1, count: moved.count)
    return plan.moves(from: [0], to: [0], by: &chain, numbers: &numbers).flatMap { element in
      switch element {
      case .affected(let row): [moved[row]]
      case .block(_, let kept):
        kept.map { IndexMove(from: oldPosition(ofKept: $0), to: newPosition(ofKept: $0)) }
      }
    }
  }
}
