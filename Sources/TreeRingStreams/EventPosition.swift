// The position of an event among all events of a store.

public import TreeRingLog

/// The position of an event among all events of a store: its commit, and its operation there. Later
/// events have greater positions. A position never changes, and is a place to resume from.
public struct EventPosition: Hashable, Comparable, Codable, Sendable, LosslessStringConvertible {
  /// The commit that appended the event.
  public let commit: CommitNumber
  /// The index of the operation in the commit, from 0.
  public let operation: UInt32

  /// Creates a position.
  public init(commit: CommitNumber, operation: UInt32) {
    self.commit = commit
    self.operation = operation
  }

  /// Reads the text form, such as "17:0".
  public init?(_ description: String) {
    let parts = description.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let commit = CommitNumber(parts[0]), let operation = UInt32(parts[1])
    else { return nil }
    self.init(commit: commit, operation: operation)
  }

  public static func < (a: EventPosition, b: EventPosition) -> Bool {
    a.commit == b.commit ? a.operation < b.operation : a.commit < b.commit
  }
  /// The commit, a colon, and the operation.
  public var description: String { "\(commit):\(operation)" }
}
