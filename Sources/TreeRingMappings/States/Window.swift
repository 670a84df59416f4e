// The position of a range in its group: an offset from the pinned end and a number of rows. A
// flexible range carries only these two from one delivery to the next; it remembers no row.
//
// Carrying a window over a change, in display order:
//   1. A row stays if it is in the group before and after and passes no other such row. Let a' and
//      b' be the number of staying rows before the window's two edges.
//   2. A row that comes with p staying rows before it moves an edge back by one if it stands before
//      that edge. Start edge: p < a', or p = a' unless the start grows. End edge: p < b', or p = b'
//      if the end grows.
//   3. If no row of the window stays, a' = b': a gap, which takes in every row that comes into it.
//   4. The limits apply last: `max` keeps rows on the pin side; `min` adds rows on the pin side
//      first.
// A window whose offset lies beyond the group's end waits: it shows nothing until the group has
// more rows than the offset. In an empty group, the window starts with the first rows that come, at
// its initial length.

/// The current position of a range in its group.
struct Window: Hashable, Sendable, Codable {
  /// The rows between the pinned end of the group and the window; more than the group has while it
  /// waits.
  private(set) var offset: Int
  /// The number of rows shown.
  private(set) var length: Int

  /// The window of newly set options, in a group of `count` rows.
  init(_ options: RangeOptions, count: Int) {
    offset = options.offset
    length = min(options.length, max(0, count - options.offset))
    limit(options, count)
  }

  /// The shown ranks of a group of `count` rows: positions in the index's order.
  func ranks(_ options: RangeOptions, count: Int, isReversed: Bool) -> Range<Int> {
    let near = min(offset, count)
    let far = near + min(length, count - near)
    return (options.pin == .beginning) != isReversed ? near..<far : (count - far)..<(count - near)
  }

  /// Carries a flexible window over a change of its group.
  ///
  /// - Parameters:
  ///   - change: The rows that stay, by rank.
  ///   - oldCount: The group's number of rows before the change.
  ///   - newCount: The group's number of rows after it.
  mutating func carry(
    _ options: RangeOptions, over change: Alignment, from oldCount: Int, to newCount: Int,
    isReversed: Bool
  ) {
    if offset > oldCount || oldCount == 0 {
      start(options, newCount)
      return limit(options, newCount)
    }
    let old = ranks(options, count: oldCount, isReversed: isReversed)
    let low = change.keptBefore(old: old.lowerBound)
    let high = change.keptBefore(old: old.upperBound)
    var grows = options.grows
    if isReversed { grows = (grows.atEnd, grows.atStart) }
    if low == high { grows = (true, true) }
    let before = change.added.count(beforeKept: grows.atStart ? low - 1 : low)
    let through = change.added.count(beforeKept: grows.atEnd ? high : high - 1)
    place(low + before..<max(low + before, high + through), options, newCount, isReversed)
    limit(options, newCount)
  }

  /// Clips the window to the group when the changes of its rows are unknown.
  mutating func clip(_ options: RangeOptions, from oldCount: Int, to newCount: Int) {
    if offset > oldCount || oldCount == 0 {
      start(options, newCount)
    } else {
      offset = min(offset, newCount)
      length = min(length, newCount - offset)
    }
    limit(options, newCount)
  }

  /// Shows more rows on the side away from the pin, or fewer.
  mutating func extend(by rows: Int, _ options: RangeOptions, count: Int) {
    guard offset <= count else { return }
    length = Self.sum(length, rows, atMost: count - offset)
    limit(options, count)
  }

  /// Moves the window away from the pin, or towards it. A waiting window starts once it reaches the
  /// group.
  mutating func shift(by rows: Int, _ options: RangeOptions, count: Int) {
    if offset > count {
      offset = Self.sum(offset, rows)
      start(options, count)
    } else {
      offset = Self.sum(offset, rows, atMost: count - length)
    }
    limit(options, count)
  }

  /// Applies the limits to the current window.
  mutating func limit(_ options: RangeOptions, _ count: Int) {
    length = min(length, options.maxLength)
    let wanted = min(options.minLength, options.maxLength)
    guard length < wanted, length < count else { return }
    if offset > count { offset = count }
    var missing = wanted - length
    let near = min(missing, offset)
    offset -= near
    length += near
    missing -= near
    length += min(missing, count - offset - length)
  }

  private mutating func start(_ options: RangeOptions, _ count: Int) {
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
  static func sum(_ value: Int, _ change: Int, atMost bound: Int = .max) -> Int {
    let (sum, overflow) = value.addingReportingOverflow(change)
    return max(0, min(overflow ? bound : sum, bound))
  }
}

/// The position of a group's window in the group, in display order.
public struct RangePosition: Hashable, Sendable {
  /// The number of the group's rows before the window.
  public let offsetFromBeginning: Int
  /// The number of the group's rows behind the window.
  public let offsetFromEnd: Int
  /// The number of rows shown.
  public let length: Int
  /// The number of rows that the group lacks up to the offset of a waiting range. Such a range
  /// shows nothing until the group has more. 0 for a range that does not wait.
  public let missing: Int
}
