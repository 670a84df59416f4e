// A commit to append to the log, and the header of a commit in it.

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
  /// The date; not before that of the previous commit.
  package var timestamp: Timestamp
  package var operationCount: UInt32
  /// The operations, opaque to the log.
  package var payload: [UInt8]
  /// The first blocks of the payload, if they were compressed while it grew.
  package var blocks: PayloadBlocks?
  /// At most one value for each operation and part.
  package var values: [LoggedValue]
  package var durability: Durability
  /// The frame of the commit in the log that it is a copy of. The log takes it over, except for its
  /// position.
  package var frame: [UInt8]?
}

extension CommitDraft {
  // Delegates to the memberwise initializer: one that sets the properties itself returns a copy.
  package init(
    number: CommitNumber, timestamp: Timestamp, operationCount: UInt32, payload: [UInt8],
    blocks: PayloadBlocks? = nil, values: [LoggedValue] = [], durability: Durability = .full
  ) {
    self.init(
      number: number, timestamp: timestamp, operationCount: operationCount, payload: payload,
      blocks: blocks, values: values, durability: durability, frame: nil)
  }
}

/// The properties of a commit in the log, readable without decoding its payload.
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
