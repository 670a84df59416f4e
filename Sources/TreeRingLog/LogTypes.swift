// What goes into the log and what comes out of it, as plain values.

package import Logging

/// How a log is opened.
package enum LogAccess: Hashable, Sendable {
  /// For reading and writing; made if there is none.
  case create
  /// For reading and writing; `notFound` if there is none.
  case readWrite
  /// For reading; nothing on disk is changed.
  case readOnly
}

/// Options of a commit log.
package struct LogOptions: Sendable {
  package var access: LogAccess
  /// The size in bytes at which a segment is sealed. One commit lies in one segment, which may
  /// exceed this size by that commit.
  package var segmentSize: UInt64
  package var recovery: RecoveryMode
  package var logger: Logger
  /// Where store ids and salts come from; tests fix it to get the same bytes each time.
  package var random: @Sendable () -> UInt64
  /// A position from a checkpoint, whose maker synced the log through it: in mode `tail` what lies
  /// before it is not read. `CommitLog.trust` says whether it fits.
  package var trusted: LogPosition?
  /// The store that `trusted` belongs to; another one's position is refused. If nil, a log that
  /// ends before the position is always `logBehindPages`.
  package var trustedStoreID: UInt64?
  /// For reading only, while a writer runs: the newest commit it has said is durable. Nothing
  /// behind it is read, except up to `trusted`.
  package var through: CommitNumber?
  /// Called with the newest durable commit after each sync, in order, with the log's monitor held:
  /// it must be quick and must not call the log.
  package var durableChanged: (@Sendable (CommitNumber) -> Void)?

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

/// Which of a row's two values a logged value is.
package enum ValuePart: UInt8, Hashable, Sendable {
  case object = 0
  case metadata = 1
}

/// A value too large for the trees, kept in the log in an LZ4 frame of its own.
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

/// A commit on its way into the log.
package struct CommitDraft: Sendable {
  /// Must be the number after the newest sequenced commit.
  package var number: CommitNumber
  /// Must not lie before the timestamp of the commit before.
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

/// What the log knows about a commit without decoding it.
package struct CommitHeader: Hashable, Sendable {
  package var number: CommitNumber
  package var timestamp: Timestamp
  package var operationCount: UInt32
  /// Bytes of the payload, decoded, without the logged values.
  package var payloadByteCount: UInt64
  /// Bytes of the whole frame on disk: header, payload and logged values.
  package var storedByteCount: UInt64
  /// How many logged values it carries.
  package var valueCount: Int
  /// The path of the segment.
  package var file: String
  /// Where the frame begins in that file.
  package var offset: UInt64
  /// CRC-32C of the commit's own content (number, timestamp, counts, payload and values), the same
  /// wherever recovery copies the commit to.
  package var checksum: UInt32
}

/// Sizes and counts of a log.
package struct LogStatistics: Hashable, Sendable {
  package var segmentCount = 0
  /// Bytes of all segments up to their last frame; room reserved ahead is not counted.
  package var byteCount: UInt64 = 0
  /// Room reserved in the active segment beyond its last frame, in bytes.
  package var reservedByteCount: UInt64 = 0
  package var commitCount: UInt64 = 0
  /// Bytes handed to the file system for writing since the log was opened.
  package var writtenByteCount: UInt64 = 0
  /// Calls of fdatasync (or its equals) since the log was opened.
  package var syncCount: UInt64 = 0
  /// Plain bytes of the payloads appended since the log was opened, and what their frames took.
  package var appendedPayloadByteCount: UInt64 = 0
  package var appendedStoredByteCount: UInt64 = 0
}

/// What opening found and did.
package struct RecoveryReport: Hashable, Sendable {
  /// True if the log ended in a mark or a directory: it had been closed or sealed.
  package var wasClosedCleanly = false
  /// Bytes of a torn tail that were dropped, and where they were.
  package var droppedByteCount: UInt64 = 0
  package var droppedFile: String?
  package var droppedOffset: UInt64?
  /// Commits that no later sync vouches for, copied to a new segment.
  package var copiedCommitCount: UInt64 = 0
  /// Segments, by path, that were removed because a newer generation holds their commits.
  package var removedFiles: [String] = []
  /// In mode `prefix`: segments set aside, because they lie at or behind the first flaw.
  package var ignoredFiles: [String] = []
  /// In mode `prefix`: the flaw the log was cut at.
  package var flaw: TreeRingError?
  /// One sentence for each thing above, in order.
  package var notes: [String] = []
}

/// One thing that is wrong with a log.
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

/// One piece of a segment, sound or not, for inspection.
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
    /// A sound frame behind a damaged place, or out of its chain.
    case unlinked
  }
  package var offset: UInt64
  package var length: UInt64
  /// The commit, for a commit; the first commit, for a segment header.
  package var commit: CommitNumber?
  /// The checksum stored in the frame's header.
  package var checksum: UInt32?
  package var state: State
  /// What is wrong, for `damaged` and `unlinked`.
  package var problem: String?
  package var timestamp: Timestamp?
  package var operationCount: UInt32?
  package var payloadByteCount: UInt64?
  package var valueCount: UInt32?
  /// How far the segment was synced when this frame was built.
  package var synced: UInt64?
}
