// Where an observer stands, to be kept somewhere and gone on from: after a restart, in another process,
// at another time.

public import TreeRing
internal import TreeRingLog

/// What an observer knows about what it shows: a commit, and where its flexible windows stand.
///
/// It holds no rows and pins nothing. Together with the same mappings it leads to the changes since.
public struct MappingPosition: Hashable, Sendable, Codable {
  /// The name of the group index.
  public let index: String
  /// The commit shown.
  public let commit: CommitNumber
  /// The definition by which the index was built.
  let definition: UInt32
  let windows: [WindowPosition]

  /// Where a flexible window stands in its group.
  struct WindowPosition: Hashable, Sendable, Codable {
    private let name: [UInt8]
    let window: Window
    /// How many rows the group has.
    let count: Int
    private let length: Int
    private let offset: Int
    private let pin: RangeOptions.Pin
    private let isReversed: Bool

    /// The window of a group; nil if it has no flexible one.
    init?(of group: GroupName, _ state: GroupState) {
      guard let range = state.range, range.isFlexible, let window = state.window else { return nil }
      name = group.bytes
      self.window = window
      count = state.count
      length = range.length
      offset = range.offset
      pin = range.pin
      isReversed = state.isReversed
    }

    var group: GroupName { GroupName(bytes: name) }

    /// Whether it is the window of a range that was set with these options.
    func isOf(_ range: RangeOptions, isReversed: Bool) -> Bool {
      range.isFlexible && range.length == length && range.offset == offset && range.pin == pin
        && isReversed == self.isReversed && isSound
    }

    /// Whether it can be a window at all; what was kept elsewhere may have been changed there.
    private var isSound: Bool {
      count >= 0 && window.offset >= 0 && window.length >= 0
        && (window.length == 0
          || (window.offset <= count && window.length <= count - window.offset))
    }
  }
}
