// Encodes a draft as a frame: header, value table, the payload's LZ4 frame, and one LZ4 frame for
// each logged value.

/// Builds frames. Not synchronized: `GroupCommit.appending`, or the one thread that writes a
/// segment, guards it.
final class FrameEncoder {
  private let compressor: FrameCompressor

  init() throws(TreeRingError) { compressor = try FrameCompressor() }

  /// The lengths and the checksum of a frame built by `encode`.
  struct Encoded {
    var headerByteCount: Int
    var byteCount: Int
    var checksum: UInt32
  }

  /// Appends the frame of `draft` to `buffer`. Costs one compression and one checksum of its bytes.
  ///
  /// - Throws: `tooLarge` if the payload or a value is over its limit.
  func encode(
    _ draft: CommitDraft, at position: ChainPosition, synced: UInt64, into buffer: ByteBuffer
  ) throws(TreeRingError) -> Encoded {
    if let frame = draft.frame { return copy(frame, at: position, synced: synced, into: buffer) }
    try checkLimits(draft)
    return try encode(
      draft.number, draft.timestamp, draft.operationCount, draft.payload,
      blocks: draft.blocks?.finish() ?? [], valueCount: draft.values.count, at: position,
      synced: synced, into: buffer
    ) { () throws(TreeRingError) in
      var entries: [ValueEntry] = []
      for value in draft.values {
        let stored = try compress(value.bytes, into: buffer)
        entries.append(
          ValueEntry(
            operation: value.operation, part: UInt32(value.part.rawValue),
            stored: UInt32(stored.byteCount), plain: UInt32(value.bytes.count),
            checksum: stored.checksum))
      }
      return entries
    }
  }

  /// Appends a checked frame of another log, for its position here.
  private func copy(
    _ frame: [UInt8], at position: ChainPosition, synced: UInt64, into buffer: ByteBuffer
  ) -> Encoded {
    let start = buffer.count
    frame.withUnsafeBytes { buffer.append($0) }
    let count =
      Int(
        buffer.bytes.number(UInt32.self, at: start + Format.Head.skippableLength)) + 8
    let header = UnsafeMutableRawBufferPointer(start: buffer.base + start, count: count)
    return Encoded(
      headerByteCount: count, byteCount: frame.count,
      checksum: FrameHead.seal(header, .commit, at: position, synced: synced))
  }

  /// Appends header and payload of a commit that gets a new payload. The caller appends the
  /// existing LZ4 frames of its values.
  func encode(
    _ fields: CommitFields, payload: [UInt8], entries: [ValueEntry], at position: ChainPosition,
    synced: UInt64, into buffer: ByteBuffer
  ) throws(TreeRingError) -> Encoded {
    try encode(
      fields.number, fields.timestamp, fields.operationCount, payload, valueCount: entries.count,
      at: position, synced: synced, into: buffer
    ) { entries }
  }

  /// Appends header and payload; then `values` appends the values and returns their entries.
  private func encode(
    _ number: CommitNumber, _ timestamp: Timestamp, _ operationCount: UInt32, _ payload: [UInt8],
    blocks: [[UInt8]] = [], valueCount: Int, at position: ChainPosition, synced: UInt64,
    into buffer: ByteBuffer,
    _ values: () throws(TreeRingError) -> [ValueEntry]
  ) throws(TreeRingError) -> Encoded {
    let start = buffer.count
    let headerCount = Format.Commit.values + valueCount * Format.Value.byteCount
    _ = buffer.grow(by: headerCount)
    let stored = try compress(payload, blocks: blocks, into: buffer)
    let entries = try values()
    let header = UnsafeMutableRawBufferPointer(start: buffer.base + start, count: headerCount)
    header.put(number, at: Format.Commit.number)
    header.put(timestamp.microseconds, at: Format.Commit.timestamp)
    header.put(UInt64(stored.byteCount), at: Format.Commit.payloadStored)
    header.put(UInt64(payload.count), at: Format.Commit.payloadPlain)
    header.put(stored.checksum, at: Format.Commit.payloadChecksum)
    header.put(operationCount, at: Format.Commit.operationCount)
    header.put(UInt32(valueCount), at: Format.Commit.valueCount)
    for (index, entry) in entries.enumerated() { entry.write(to: header, index) }
    return Encoded(
      headerByteCount: headerCount, byteCount: buffer.count - start,
      checksum: FrameHead.seal(header, .commit, at: position, synced: synced))
  }

  private func compress(
    _ bytes: [UInt8], blocks: [[UInt8]] = [], into buffer: ByteBuffer
  ) throws(TreeRingError) -> (byteCount: Int, checksum: UInt32) {
    let start = buffer.count
    let count = try bytes.withUnsafeBytes { (source) throws(TreeRingError) in
      try compressor.append(source, blocks: blocks, to: buffer)
    }
    return (count, crc32c(UnsafeRawBufferPointer(start: buffer.base + start, count: count)))
  }

  private func checkLimits(_ draft: CommitDraft) throws(TreeRingError) {
    guard UInt64(draft.payload.count) <= Format.largestPayload else {
      throw TreeRingError(
        .tooLarge,
        "The operations of a commit take \(draft.payload.count) bytes, over the limit of "
          + "\(Format.largestPayload). Divide them into several commits.",
        commit: draft.number)
    }
    for value in draft.values where UInt64(value.bytes.count) > Format.largestValue {
      throw TreeRingError(
        .tooLarge,
        "A value has \(value.bytes.count) bytes, over the limit of \(Format.largestValue). Divide "
          + "it.",
        commit: draft.number)
    }
  }
}
