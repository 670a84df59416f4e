// Sizes and counts of a log, and the durations of its syncs.

/// Sizes and counts of a log.
package struct LogStatistics: Hashable, Sendable {
  package var segmentCount = 0
  /// The bytes of all segments up to their last frame, without reserved room.
  package var byteCount: UInt64 = 0
  /// The reserved room in the active segment after its last frame, in bytes.
  package var reservedByteCount: UInt64 = 0
  package var commitCount: UInt64 = 0
  /// The bytes passed to the file system for writing since the log was opened.
  package var writtenByteCount: UInt64 = 0
  /// The number of fdatasync calls (or equivalents) since the log was opened.
  package var syncCount: UInt64 = 0
  /// The uncompressed bytes of payloads appended since the log was opened.
  package var appendedPayloadByteCount: UInt64 = 0
  /// The bytes of the frames of these payloads.
  package var appendedStoredByteCount: UInt64 = 0
}

/// Receives the duration of a sync, and the number of commits that no earlier sync had made
/// durable.
package typealias SyncObserver = @Sendable (_ duration: Duration, _ commitCount: Int) -> Void
