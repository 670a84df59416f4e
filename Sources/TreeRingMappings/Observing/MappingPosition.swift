// The position of an observer, saved to continue later: after a restart, or in another process.

public import TreeRing
internal import TreeRingLog

/// The saved state of an observer: a commit, and the positions of its flexible windows.
///
/// It holds no rows and pins nothing. With the same mappings it leads to the changes since.
public struct MappingPosition: Hashable, Sendable, Codable {
  /// The name of the group index.
  public let index: String
  /// The commit shown.
  public let commit: CommitNumber
  /// The number of the index's definition.
  let definition: UInt32
  let windows: [WindowPosition]

  public static func == (a: MappingPosition, b: MappingPosition) -> Bool {
    a.commit == b.commit && a.definition == b.definition && a.windows == b.windows
      && a.index.isSameName(as: b.index)
  }
  public func hash(into hasher: inout Hasher) {
    index.hashName(into: &hasher)
    hasher.combine(commit)
  }

  /// The position of a flexible window in its group.
  struct WindowPosition: Hashable, Sendable, Codable {
    private let name: [UInt8]
    let window: Window
    /// The number of rows in the group.
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

    /// Whether the window belongs to a range with these options.
    func isOf(_ range: RangeOptions, isReversed: Bool) -> Bool {
      range.isFlexible && range.length == length && range.offset == offset && range.pin == pin
        && isReversed == self.isReversed && isSound
    }

    /// Whether the values form a valid window; a saved position may have been altered.
    private var isSound: Bool {
      count >= 0 && window.offset >= 0 && window.length >= 0
        && (window.length == 0
          || (window.offset <= count && window.length <= count - window.offset))
    }
  }
}
