// What copying a log says about itself.

/// How far a backup, a restore or a salvage is.
public struct CopyProgress: Hashable, Sendable {
  /// Bytes of the log handled so far: linked, copied, or found to be there.
  public var doneByteCount: UInt64
  /// Bytes of the whole log.
  public var byteCount: UInt64

  package init(doneByteCount: UInt64, byteCount: UInt64) {
    self.doneByteCount = doneByteCount
    self.byteCount = byteCount
  }
}

/// What a backup or a restore did.
public struct CopyReport: Hashable, Sendable {
  /// The newest commit in the copy.
  public var lastCommit: CommitNumber = 0
  /// Bytes of the copy's log.
  public var byteCount: UInt64 = 0
  /// Of these, the bytes that were copied now.
  public var copiedByteCount: UInt64 = 0
  /// Of these, the bytes that got a second name instead of a copy.
  public var linkedByteCount: UInt64 = 0
  /// Of these, the bytes that an earlier backup had left there.
  public var keptByteCount: UInt64 = 0
  /// Segments in the copy.
  public var segmentCount = 0
  /// Files of an earlier backup that were removed, because others have taken their place.
  public var removedFiles: [String] = []

  package init() {}
}
