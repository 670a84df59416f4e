// The progress and the result of copying a log.

/// The progress of a backup, a restore or a salvage.
public struct CopyProgress: Hashable, Sendable {
  /// The bytes of the log handled so far: linked, copied, or found in the copy already.
  public var doneByteCount: UInt64
  /// The bytes of the whole log.
  public var byteCount: UInt64

  package init(doneByteCount: UInt64, byteCount: UInt64) {
    self.doneByteCount = doneByteCount
    self.byteCount = byteCount
  }
}

/// The result of a backup or a restore.
public struct CopyReport: Hashable, Sendable {
  /// The newest commit in the copy.
  public var lastCommit: CommitNumber = 0
  /// The bytes of the copy's log.
  public var byteCount: UInt64 = 0
  /// Of these, the bytes copied by this call.
  public var copiedByteCount: UInt64 = 0
  /// Of these, the bytes that this call linked: their files got a second name instead of a copy.
  public var linkedByteCount: UInt64 = 0
  /// Of these, the bytes that an earlier backup had already copied.
  public var keptByteCount: UInt64 = 0
  /// The number of segments in the copy.
  public var segmentCount = 0
  /// The paths of an earlier backup's files that this call replaced and removed.
  public var removedFiles: [String] = []

  package init() {}
}
