// The position of an observer, saved to continue later: after a restart, or in another process.

internal import TreeRing
public import TreeRingLog

/// The saved state of an observer: a commit, and the positions of its flexible windows.
///
/// It holds no rows and pins nothing. With the same mappings it leads to the changes since.
public struct MappingPosition: Hashable, Sendable, Codable {
  /// The name of the group index.
  public let index: String
  /// The commit shown.
  public let commit: CommitNumber
  /// The number of the index's definition.
  package let definition: UInt32
  let windows: [WindowPosition]

  init(
    index: String, commit: CommitNumber, definition: UInt32, windows: [WindowPosition]
  ) {
    self.index = index
    self.commit = commit
    self.definition = definition
    self.windows = windows
  }

  /// The position of an observer whose mappings have no flexible range.
  package init(index: String, commit: CommitNumber, definition: UInt32) {
    self.init(index: index, commit: commit, definition: definition, windows: [])
  }

  /// Whether a flexible range has a window.
  package var hasWindows: Bool { !windows.isEmpty }

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
