// The window of a group that is shown.

/// Which of a group's rows are shown.
///
/// A fixed range shows `min(length, max(0, count - offset))` rows and never moves by itself: when
/// rows come or go elsewhere in the group, rows slide in and out at its ends, and it grows back
/// whenever the group has rows enough.
public struct RangeOptions: Hashable, Sendable {
  /// The end of the group that an offset counts from, in the order of display.
  public enum Pin: Hashable, Sendable {
    /// The offset is the number of rows left out at the top.
    case beginning
    /// The offset is the number of rows left out at the bottom.
    case end
  }

  /// The most rows shown.
  public let length: Int
  /// How many rows are left out between the pinned end of the group and the range.
  public let offset: Int
  /// The end that the offset counts from.
  public let pin: Pin

  /// A range of unchanging length and offset.
  ///
  /// - Parameters:
  ///   - length: The most rows shown; not negative.
  ///   - offset: Rows left out at the pinned end; not negative. Any offset is allowed: beyond the
  ///     group's end nothing is shown.
  ///   - pin: The end of the group, as displayed, that the offset counts from.
  public static func fixed(length: Int, offset: Int = 0, pin: Pin = .beginning) -> RangeOptions {
    precondition(length >= 0, "a range's length is not negative")
    precondition(offset >= 0, "a range's offset is not negative")
    return RangeOptions(length: length, offset: offset, pin: pin)
  }

  private init(length: Int, offset: Int, pin: Pin) {
    self.length = length
    self.offset = offset
    self.pin = pin
  }

  /// The rows shown of a group of `count` rows, as positions in the order of display.
  func window(ofCount count: Int) -> Range<Int> {
    let near = min(offset, count)
    let far = near + min(length, count - near)
    switch pin {
    case .beginning: return near..<far
    case .end: return (count - far)..<(count - near)
    }
  }
}
