// Where a range stands in its group: an offset from the pinned end and a number of rows. That is all a
// flexible range carries from one delivery to the next; no row is ever remembered.
//
// Carrying it over a change, in the order of display:
//   1. A row stays if it is in the group at both ends and passes no other such row. Count, in terms of
//      staying rows, what stands before the window's edges: a' and b'.
//   2. A row that comes with p staying rows before it moves an edge back by one if it stands before
//      it: p < a', or p = a' unless the start grows; p < b', or p = b' if the end grows.
//   3. If no row of the window stays, a' = b': a gap, which takes in whatever comes into it.
//   4. Then the limits: the most rows, kept on the pin side; the fewest, found on the pin side first.
// An offset beyond the group's end waits: nothing is shown until the group has more rows than that.

/// The place of a range in its group.
struct Window: Hashable, Sendable, Codable {
  /// Rows between the pinned end of the group and the window; more than the group has while it waits.
  private(set) var offset: Int
  /// Rows shown.
  private(set) var length: Int

  /// The window of options that have just been set, in a group of `count` rows.
  init(_ options: RangeOptions, count: Int) {
    offset = options.offset
    length = min(options.length, max(0, count - options.offset))
    limit(options, count)
  }

  /// The ranks shown of a group of `count` rows: positions in the index's order.
  func ranks(_ options: RangeOptions, count: Int, isReversed: Bool) -> Range<Int> {
    let near = min(offset, count)
    let far = near + min(length, count - near)
    return (options.pin == .beginning) != isReversed ? near..<far : (count - far)..<(count - near)
  }

  /// Carries a flexible window over a change of its group.
  ///
  /// - Parameters:
  ///   - change: Which rows stay, by rank.
  ///   - oldCount: How many rows the group had.
  ///   - newCount: How many it has.
  mutating func carry(
    _ options: RangeOptions, over change: Alignment, from oldCount: Int, to newCount: Int,
    isReversed: Bool, flaw: Flaw = .none
  ) {
    if offset > oldCount {
      wake(options, newCount)
      return limit(options, newCount, flaw: flaw)
    }
    let old = ranks(options, count: oldCount, isReversed: isReversed)
    let low = change.keptBefore(old: old.lowerBound)
    let high = change.keptBefore(old: old.upperBound)
    var grows = options.grows
    if isReversed, flaw != .growthNotReversed { grows = (grows.atEnd, grows.atStart) }
    if low == high, flaw != .gapNotTaken { grows = (true, true) }
    let before = change.added.leaders(upTo: grows.atStart ? low - 1 : low)
    let through = change.added.leaders(upTo: grows.atEnd ? high : high - 1)
    place(low + before..<max(low + before, high + through), options, newCount, isReversed)
    limit(options, newCount, flaw: flaw)
  }

  /// Keeps the window as far as the group has rows, when it is not known what happened to them.
  mutating func clip(_ options: RangeOptions, from oldCount: Int, to newCount: Int) {
    if offset > oldCount {
      wake(options, newCount)
    } else {
      offset = min(offset, newCount)
      length = min(length, newCount - offset)
    }
    limit(options, newCount)
  }

  /// Shows rows more on the side away from the pin, or fewer.
  mutating func extend(by rows: Int, _ options: RangeOptions, count: Int) {
    guard offset <= count else { return }
    length = Self.sum(length, rows, atMost: count - offset)
    limit(options, count)
  }

  /// Moves the window away from the pin, or towards it. One that waits starts once it meets the group.
  mutating func shift(by rows: Int, _ options: RangeOptions, count: Int) {
    if offset > count {
      offset = Self.sum(offset, rows, atMost: .max)
      wake(options, count)
    } else {
      offset = Self.sum(offset, rows, atMost: count - length)
    }
    limit(options, count)
  }

  /// Applies the limits to the window as it stands.
  mutating func limit(_ options: RangeOptions, _ count: Int, flaw: Flaw = .none) {
    length = min(length, options.maxLength)
    let wanted = min(options.minLength, options.maxLength)
    guard length < wanted, length < count else { return }
    if offset > count { offset = count }
    var missing = wanted - length
    let near = flaw == .minimumAwayFromPin ? 0 : min(missing, offset)
    offset -= near
    length += near
    missing -= near
    length += min(missing, count - offset - length)
  }

  private mutating func wake(_ options: RangeOptions, _ count: Int) {
    if count > offset { length = min(options.length, count - offset) }
  }

  private mutating func place(
    _ ranks: Range<Int>, _ options: RangeOptions, _ count: Int, _ isReversed: Bool
  ) {
    length = ranks.count
    offset =
      (options.pin == .beginning) != isReversed ? ranks.lowerBound : count - ranks.upperBound
  }

  /// A sum between 0 and a bound.
  private static func sum(_ value: Int, _ change: Int, atMost bound: Int) -> Int {
    let (sum, overflow) = value.addingReportingOverflow(change)
    return max(0, min(overflow ? bound : sum, bound))
  }
}

/// Where a group's window stands, in the order of display.
public struct RangePosition: Hashable, Sendable {
  /// Rows of the group before the window.
  public let offsetFromBeginning: Int
  /// Rows of the group behind the window.
  public let offsetFromEnd: Int
  /// Rows shown.
  public let length: Int
}
