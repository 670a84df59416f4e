// What is shown of a group: the options of a window.
//
// A fixed range is a limit and an offset: it never moves by itself. A flexible range is anchored to
// the rows it shows: it grows and shrinks as rows come and go, and what happens outside it only shifts
// it. Where a flexible range stands at the moment is its `Window`; the options never change.

/// Which of a group's rows are shown. All of it counts in the order of display.
public struct RangeOptions: Hashable, Sendable {
  /// The end of the group that an offset counts from, in the order of display.
  public enum Pin: String, Hashable, Sendable, Codable {
    /// The offset is the number of rows left out at the top.
    case beginning
    /// The offset is the number of rows left out at the bottom.
    case end
  }

  /// At which of its edges a flexible range takes in a row that comes right beside it. The pin side of
  /// a range pinned to the beginning is its top edge. Rows that come between two rows shown are always
  /// taken in.
  public enum Growth: Hashable, Sendable, CaseIterable {
    /// At the end it is pinned to.
    case pinSide
    /// At the other end.
    case nonPinSide
    /// At both ends.
    case bothSides
    /// At neither: only by rows that come inside.
    case inRangeOnly
  }

  /// The most rows of a fixed range; the rows that a flexible one shows at the start.
  public let length: Int
  /// How many rows are left out between the pinned end of the group and the range, at the start.
  public let offset: Int
  /// The end that the offset counts from.
  public let pin: Pin
  /// Whether the range grows and shrinks with its rows.
  public let isFlexible: Bool
  /// The fewest rows a flexible range shows while its group has as many; 0 of a fixed one.
  public let minLength: Int
  /// The most rows shown; it wins over the fewest. The length of a fixed range.
  public let maxLength: Int
  /// At which edges a flexible range takes rows in.
  public let growth: Growth

  /// The rows shown of a group of `count` rows when the range has just been set: positions in the order
  /// of display. Empty beyond the group's end.
  public func positions(ofCount count: Int) -> Range<Int> {
    Window(self, count: count).ranks(self, count: count, isReversed: false)
  }

  /// A range of unchanging length and offset. It shows `min(length, max(0, count - offset))` rows:
  /// when rows come or go elsewhere in the group, rows slide in and out at its ends, and it grows back
  /// whenever the group has rows enough.
  ///
  /// - Parameters:
  ///   - length: The most rows shown; not negative.
  ///   - offset: Rows left out at the pinned end; not negative. Any offset is allowed: beyond the
  ///     group's end nothing is shown.
  ///   - pin: The end of the group, as displayed, that the offset counts from.
  public static func fixed(length: Int, offset: Int = 0, pin: Pin = .beginning) -> RangeOptions {
    RangeOptions(
      length: length, offset: offset, pin: pin, isFlexible: false, minLength: 0, maxLength: length,
      growth: .inRangeOnly)
  }

  /// A range that starts with a length and an offset and then keeps to its rows.
  ///
  /// - Parameters:
  ///   - length: Rows shown at the start; not negative.
  ///   - offset: Rows left out at the pinned end at the start; not negative. Beyond the group's end
  ///     nothing is shown until the group has more rows than that; but if `min` asks for rows, those at
  ///     the group's far end are shown at once.
  ///   - pin: The end of the group, as displayed, that the offset counts from, and the side on which
  ///     rows stay when there are more than `max`.
  ///   - min: The fewest rows shown while the group has as many; not negative.
  ///   - max: The most rows shown; not negative.
  ///   - growth: At which edges rows are taken in that come right beside the range.
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

  /// The same options with another length and offset to start from.
  func startingAnew(length: Int, offset: Int) -> RangeOptions {
    RangeOptions(
      length: length, offset: offset, pin: pin, isFlexible: isFlexible, minLength: minLength,
      maxLength: isFlexible ? maxLength : length, growth: growth)
  }

  /// Whether a window of these options goes on as one of the others: only limits and growth differ.
  func continues(_ other: RangeOptions) -> Bool {
    isFlexible && other.isFlexible && length == other.length && offset == other.offset
      && pin == other.pin
  }

  /// Whether rows are taken in that come right before the range, and right behind it.
  var grows: (atStart: Bool, atEnd: Bool) {
    switch growth {
    case .bothSides: (true, true)
    case .inRangeOnly: (false, false)
    case .pinSide: (pin == .beginning, pin == .end)
    case .nonPinSide: (pin == .end, pin == .beginning)
    }
  }
}

/// What becomes of a range that is changed by hand.
public enum RangeEdit: Hashable, Sendable {
  /// Shows this many rows more on the side away from the pin, as far as the group and the most rows
  /// allowed reach; fewer if negative.
  case extend(by: Int)
  /// Moves the range this many rows away from the pin, as far as the group reaches; towards it if
  /// negative.
  case shift(by: Int)
  /// Starts anew with these options, also if they are the ones in force; nil shows the whole group.
  case set(RangeOptions?)
}
