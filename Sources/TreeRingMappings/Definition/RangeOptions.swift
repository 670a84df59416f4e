// Range options: the part of a group that is shown.
//
// A fixed range is a limit and an offset; it never moves by itself. A flexible range is anchored to
// the rows it shows. It grows and shrinks as they come and go; changes outside only shift it. The
// current position of a flexible range is its `Window`; the options never change.

/// The part of a group's rows that is shown. Everything counts in display order.
public struct RangeOptions: Hashable, Sendable {
  /// The end of the group that an offset counts from, in display order.
  public enum Pin: String, Hashable, Sendable, Codable {
    /// The offset is the number of rows left out at the top.
    case beginning
    /// The offset is the number of rows left out at the bottom.
    case end
  }

  /// The edges at which a flexible range takes in a row that comes right beside it. For a range
  /// pinned to the beginning, the pin side is the top edge. A row that comes between two shown rows
  /// is always taken in.
  public enum Growth: Hashable, Sendable, CaseIterable {
    /// At the pinned end.
    case pinSide
    /// At the opposite end.
    case nonPinSide
    /// At both ends.
    case bothSides
    /// At neither: only rows between shown rows are taken in.
    case inRangeOnly
  }

  /// The most rows of a fixed range; the initial number of rows of a flexible one.
  public let length: Int
  /// The initial number of rows left out between the pinned end of the group and the range.
  public let offset: Int
  /// The end that the offset counts from.
  public let pin: Pin
  /// Whether the range grows and shrinks with its rows.
  public let isFlexible: Bool
  /// The fewest rows a flexible range shows while its group has as many; 0 for a fixed one.
  public let minLength: Int
  /// The most rows shown; it overrides the fewest. For a fixed range, its length.
  public let maxLength: Int
  /// The edges at which a flexible range takes rows in.
  public let growth: Growth

  /// The rows shown of a group of `count` rows right after the range is set, as display positions.
  /// Empty beyond the group's end.
  public func positions(ofCount count: Int) -> Range<Int> {
    Window(self, count: count).ranks(self, count: count, isReversed: false)
  }

  /// A range of constant length and offset. It shows `min(length, max(0, count - offset))` rows.
  /// When rows come or go elsewhere in the group, rows slide in and out at its ends. It grows back
  /// once the group has enough rows.
  ///
  /// - Parameters:
  ///   - length: The most rows shown; not negative.
  ///   - offset: The rows left out at the pinned end; not negative. Any offset is allowed: beyond
  ///     the group's end nothing is shown.
  ///   - pin: The end of the group, in display order, that the offset counts from.
  public static func fixed(length: Int, offset: Int = 0, pin: Pin = .beginning) -> RangeOptions {
    RangeOptions(
      length: length, offset: offset, pin: pin, isFlexible: false, minLength: 0, maxLength: length,
      growth: .inRangeOnly)
  }

  /// A range that starts with a length and an offset and then follows its rows.
  ///
  /// - Parameters:
  ///   - length: The rows shown at the start; not negative.
  ///   - offset: The rows left out at the pinned end at the start; not negative. Beyond the group's
  ///     end nothing is shown until the group has more rows than that. If `min` requires rows,
  ///     those at the group's far end are shown at once.
  ///   - pin: The end of the group, in display order, that the offset counts from. Rows stay on
  ///     this side when there are more than `max`.
  ///   - min: The fewest rows shown while the group has as many; not negative.
  ///   - max: The most rows shown; not negative.
  ///   - growth: The edges at which rows that come right beside the range are taken in.
  public static func flexible(
    length: Int, offset: Int = 0, pin: Pin = .beginning, min: Int = 0, max: Int = .max,
    growing growth: Growth = .pinSide
  ) -> RangeOptions {
    RangeOptions(
      length: length, offset: offset, pin: pin, isFlexible: true, minLength: min, maxLength: max,
      growth: growth)
  }

  private init(
    length: Int, offset: Int, pin: Pin, isFlexible: Bool, minLength: Int, maxLength: Int,
    growth: Growth
  ) {
    precondition(length >= 0, "a range's length is not negative")
    precondition(offset >= 0, "a range's offset is not negative")
    precondition(minLength >= 0 && maxLength >= 0, "a range's limits are not negative")
    self.length = length
    self.offset = offset
    self.pin = pin
    self.isFlexible = isFlexible
    self.minLength = minLength
    self.maxLength = maxLength
    self.growth = growth
  }

  /// The same options with another initial length and offset.
  func startingAnew(length: Int, offset: Int) -> RangeOptions {
    RangeOptions(
      length: length, offset: offset, pin: pin, isFlexible: isFlexible, minLength: minLength,
      maxLength: isFlexible ? maxLength : length, growth: growth)
  }

  /// Whether a window of the other options continues under these: only limits and growth differ.
  func continues(_ other: RangeOptions) -> Bool {
    isFlexible && other.isFlexible && length == other.length && offset == other.offset
      && pin == other.pin
  }

  /// Whether rows right before the range, and right behind it, are taken in.
  var grows: (atStart: Bool, atEnd: Bool) {
    switch growth {
    case .bothSides: (true, true)
    case .inRangeOnly: (false, false)
    case .pinSide: (pin == .beginning, pin == .end)
    case .nonPinSide: (pin == .end, pin == .beginning)
    }
  }
}

/// A manual change of a range.
public enum RangeEdit: Hashable, Sendable {
  /// Shows this many more rows on the side away from the pin; fewer if negative. The group and the
  /// range's `max` limit the growth.
  case extend(by: Int)
  /// Moves the range this many rows away from the pin, up to the group's end; towards the pin if
  /// negative.
  case shift(by: Int)
  /// Restarts the range with these options, even if they are in force; nil shows the whole group.
  case set(RangeOptions?)
}
