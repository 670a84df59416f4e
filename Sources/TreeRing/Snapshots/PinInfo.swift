// The description of a live snapshot in statistics.

public import TreeRingLog

/// A live snapshot, as `Store.pins` lists it.
public struct PinInfo: Hashable, Sendable {
  /// The commit that the snapshot keeps readable.
  public let commit: CommitNumber
  /// The time since the snapshot was taken.
  public let age: Duration
  /// The position in the program that took it: file and line.
  public let creator: String
}
