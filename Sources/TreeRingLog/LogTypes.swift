// Plain values that go into the log and come out of it.

package import Logging

/// The access with which a log is opened.
package enum LogAccess: Hashable, Sendable {
  /// Reading and writing; creates the log if there is none.
  case create
  /// Reading and writing; `notFound` if there is none.
  case readWrite
  /// Reading; changes nothing on disk.
  case readOnly
}

/// Options of a commit log.
package struct LogOptions: Sendable {
  package var access: LogAccess
  /// The size in bytes at which a segment is sealed. A commit lies in one segment, which may exceed
  /// this size by that commit.
  package var segmentSize: UInt64
  package var recovery: RecoveryMode
  package var logger: Logger
  /// The source of store ids and salts. Tests fix it to get reproducible bytes.
  package var random: @Sendable () -> UInt64
  /// A position from a checkpoint, which synced the log through it. Mode `tail` does not read the
  /// log before it. `CommitLog.trust` tells whether it fits.
  package var trusted: LogPosition?
  /// The store of `trusted`; a position of another store is refused. If nil, a log that ends before
  /// the position always throws `logBehindPages`.
  package var trustedStoreID: UInt64?
  /// Only for reading beside a writer: the newest commit that the writer has declared durable.
  /// Nothing behind it is read, except up to `trusted`.
  package var through: CommitNumber?
  /// The approximate memory limit for cached offsets of frames, in bytes.
  package var frameCacheByteCount = 1 << 20
  /// Called with the newest durable commit after each sync, in order, with the log's monitor held.
  /// It must be fast and must not call the log.
  package var durableChanged: (@Sendable (CommitNumber) -> Void)?
  /// Throws if this process may no longer write the log's folder. Called before commits are
  /// acknowledged, with `always` false, when it may skip some checks; and with `always` true before
  /// a file is created or removed.
  package var placeCheck: (@Sendable (_ always: Bool) throws(TreeRingError) -> Void)?

  package init(
    access: LogAccess = .create, segmentSize: UInt64 = 64 << 20, recovery: RecoveryMode = .tail,
    logger: Logger = Logger(label: "treering.log")
  ) {
    self.access = access
    self.segmentSize = segmentSize
    self.recovery = recovery
    self.logger = logger
    random = { UInt64.random(in: 1...UInt64.max) }
  }
}

/// The part of a row that a logged value holds.
package enum ValuePart: UInt8, Hashable, Sendable {
  case object = 0
  case metadata = 1
}

/// A value too large for the trees; the log keeps it in an LZ4 frame of its own.
package struct LoggedValue: Hashable, Sendable {
  /// The index of the operation in its commit.
  package var operation: UInt32
  package var part: ValuePart
  package var bytes: [UInt8]

  package init(operation: UInt32, part: ValuePart, bytes: [UInt8]) {
    self.operation = operation
    self.part = part
    self.bytes = bytes
  }
}

/// A commit to append to the log.
package struct CommitDraft: Sendable {
  /// The number after the newest sequenced commit.
  package var number: CommitNumber
  /// The timestamp; not before that of the previous commit.
  package var timestamp: Timestamp
  package var operationCount: UInt32
  /// The operations, opaque to the log.
  package var payload: [UInt8]
  /// At most one value for each operation and part.
  package var values: [LoggedValue]
  package var durability: Durability

  package init(
    number: CommitNumber, timestamp: Timestamp, operationCount: UInt32, payload: [UInt8],
    values: [LoggedValue] = [], durability: Durability = .full
  ) {
    self.number = number
    self.timestamp = timestamp
    self.operationCount = operationCount
    self.payload = payload
    self.values = values
    self.durability = durability
  }
}

/// The properties of a commit that the log knows without decoding it.
package struct CommitHeader: Hashable, Sendable {
  package var number: CommitNumber
  package var timestamp: Timestamp
  package var operationCount: UInt32
  /// The decoded length of the payload in bytes, without the logged values.
  package var payloadByteCount: UInt64
  /// The length of the whole frame on disk in bytes: header, payload and logged values.
  package var storedByteCount: UInt64
  /// The number of logged values.
  package var valueCount: Int
  /// The path of the segment.
  package var file: String
  /// The offset of the frame in that file.
  package var offset: UInt64
  /// CRC-32C of the commit's own content (number, timestamp, counts, payload and values).
  /// Recovery's copies of the commit keep it.
  package var checksum: UInt32
}

/// Sizes and counts of a log.
package struct LogStatistics: Hashable, Sendable {
  package var segmentCount = 0
  /// The bytes of all segments up to their last frame, without reserved room.
  package var byteCount: UInt64 = 0
  /// The reserved room in the active segment behind its last frame, in bytes.
  package var reservedByteCount: UInt64 = 0
  package var commitCount: UInt64 = 0
  /// The bytes passed to the file system for writing since the log was opened.
  package var writtenByteCount: UInt64 = 0
  /// The number of fdatasync calls (or equivalents) since the log was opened.
  package var syncCount: UInt64 = 0
  /// The plain bytes of payloads appended since the log was opened, and the bytes of their frames.
  package var appendedPayloadByteCount: UInt64 = 0
  package var appendedStoredByteCount: UInt64 = 0
}

/// The findings and changes of an opening.
package struct RecoveryReport: Hashable, Sendable {
  /// True if the log ended in a mark or a directory: it was closed or sealed.
  package var wasClosedCleanly = false
  /// The bytes dropped from a torn tail, with their file and offset.
  package var droppedByteCount: UInt64 = 0
  package var droppedFile: String?
  package var droppedOffset: UInt64?
  /// The number of commits copied to a new segment because no later sync vouches for them.
  package var copiedCommitCount: UInt64 = 0
  /// The paths of segments removed because a newer generation holds their commits.
  package var removedFiles: [String] = []
  /// In mode `prefix`: segments set aside because they lie at or behind the first flaw.
  package var ignoredFiles: [String] = []
  /// In mode `prefix`: the flaw at which the log was cut.
  package var flaw: TreeRingError?
  /// One sentence for each finding above, in order.
  package var notes: [String] = []
}

/// One fault of a log.
package struct LogFinding: Hashable, Sendable {
  package var file: String
  package var offset: UInt64
  package var commit: CommitNumber?
  package var problem: String

  package init(file: String, offset: UInt64, commit: CommitNumber? = nil, problem: String) {
    self.file = file
    self.offset = offset
    self.commit = commit
    self.problem = problem
  }
}

/// One piece of a segment, sound or damaged, for inspection.
package struct FrameDescription: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    case segmentHeader = "segment header"
    case commit
    case mark
    case directory
    /// Zeros up to the end of the file.
    case zeroTail = "zero tail"
    /// Bytes that are no sound frame.
    case damaged
    /// A sound frame behind a damaged range, or outside the chain.
    case unlinked
  }
  package var offset: UInt64
  package var length: UInt64
  /// The number of a commit, or the first commit of a segment header.
  package var commit: CommitNumber?
  /// The checksum stored in the frame's header.
  package var checksum: UInt32?
  package var state: State
  /// The fault, for `damaged` and `unlinked`.
  package var problem: String?
  package var timestamp: Timestamp?
  package var operationCount: UInt32?
  package var payloadByteCount: UInt64?
  package var valueCount: UInt32?
  /// The synced length of the file when this frame was built.
  package var synced: UInt64?
}
