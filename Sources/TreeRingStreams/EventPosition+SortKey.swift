// Positions as sort keys of the indexes of events.

internal import TreeRing
internal import TreeRingLog

extension EventPosition {
  init(_ stamp: Stamp) { self.init(commit: stamp.commit, operation: stamp.operation) }

  /// Reads a sort key: commit and operation, big-endian.
  /// - Throws: `corruption` if it has another length.
  init(sortKey: [UInt8]) throws(TreeRingError) {
    guard sortKey.count == 12 else {
      throw TreeRingError(
        .corruption, "An index of events has an entry without a position. Run `treering verify`.")
    }
    self.init(
      commit: sortKey[..<8].reduce(0) { $0 << 8 | CommitNumber($1) },
      operation: sortKey[8...].reduce(0) { $0 << 8 | UInt32($1) })
  }

  var sortKey: [UInt8] {
    EventGrouping.position(of: Stamp(commit: commit, operation: operation))
  }

  /// The least position after this one; nil if there is none.
  var next: EventPosition? {
    if operation < .max { return EventPosition(commit: commit, operation: operation + 1) }
    return commit < .max ? EventPosition(commit: commit + 1, operation: 0) : nil
  }
}
