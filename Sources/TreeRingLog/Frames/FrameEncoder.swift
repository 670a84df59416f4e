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
    try checkLimits(draft)
    let start = buffer.count
    let headerCount = Format.Commit.values + draft.values.count * Format.Value.byteCount
    _ = buffer.room(for: headerCount)
    buffer.count += headerCount
    let payload = try compress(draft.payload, into: buffer)
    var entries: [ValueEntry] = []
    for value in draft.values {
      let stored = try compress(value.bytes, into: buffer)
      entries.append(
        ValueEntry(
          operation: value.operation, part: UInt32(value.part.rawValue),
          stored: UInt32(stored.byteCount), plain: UInt32(value.bytes.count),
          checksum: stored.checksum))
    }
    let header = UnsafeMutableRawBufferPointer(start: buffer.base + start, count: headerCount)
    header.put(draft.number, at: Format.Commit.number)
    header.put(draft.timestamp.microseconds, at: Format.Commit.timestamp)
    header.put(draft.operationCount, at: Format.Commit.operationCount)
    Self.put(payload, plainByteCount: draft.payload.count, entries, in: header)
    let checksum = FrameHead.seal(
      header, .commit, previousChecksum: position.checksum, salt: position.salt,
      offset: position.offset, synced: synced)
    return Encoded(
      headerByteCount: headerCount, byteCount: buffer.count - start, checksum: checksum)
  }

  /// Appends header and payload of a commit that gets a new payload. The caller appends the
  /// existing LZ4 frames of its values.
  func encode(
    _ fields: CommitFields, payload: [UInt8], entries: [ValueEntry], at position: ChainPosition,
    synced: UInt64, into buffer: ByteBuffer
  ) throws(TreeRingError) -> Encoded {
    let start = buffer.count
    let headerCount = Format.Commit.values + entries.count * Format.Value.byteCount
    _ = buffer.room(for: headerCount)
    buffer.count += headerCount
    let stored = try compress(payload, into: buffer)
    let header = UnsafeMutableRawBufferPointer(start: buffer.base + start, count: headerCount)
    header.put(fields.number, at: Format.Commit.number)
    header.put(fields.timestamp.microseconds, at: Format.Commit.timestamp)
    header.put(fields.operationCount, at: Format.Commit.operationCount)
    Self.put(stored, plainByteCount: payload.count, entries, in: header)
    let checksum = FrameHead.seal(
      header, .commit, previousChecksum: position.checksum, salt: position.salt,
      offset: position.offset, synced: synced)
    return Encoded(
      headerByteCount: headerCount, byteCount: buffer.count - start, checksum: checksum)
  }

  /// Writes the payload's and the values' fields into a header.
  private static func put(
    _ payload: (byteCount: Int, checksum: UInt32), plainByteCount: Int, _ entries: [ValueEntry],
    in header: UnsafeMutableRawBufferPointer
  ) {
    header.put(UInt64(payload.byteCount), at: Format.Commit.payloadStored)
    header.put(UInt64(plainByteCount), at: Format.Commit.payloadPlain)
    header.put(payload.checksum, at: Format.Commit.payloadChecksum)
    header.put(UInt32(entries.count), at: Format.Commit.valueCount)
    for (index, entry) in entries.enumerated() { entry.write(to: header, index) }
  }

  /// Adapts a sound commit header to another position: only the head changes. Returns its checksum.
  static func relocate(
    _ header: UnsafeMutableRawBufferPointer, to position: ChainPosition, synced: UInt64
  ) -> UInt32 {
    FrameHead.seal(
      header, .commit, previousChecksum: position.checksum, salt: position.salt,
      offset: position.offset, synced: synced)
  }

  private func compress(
    _ bytes: [UInt8], into buffer: ByteBuffer
  ) throws(TreeRingError) -> (byteCount: Int, checksum: UInt32) {
    let start = buffer.count
    // Typed throws do not pass through the standard library's withUnsafeBytes.
    let result: Result<Int, TreeRingError> = bytes.withUnsafeBytes { source in
      do throws(TreeRingError) {
        return .success(try compressor.append(source, to: buffer))
      } catch { return .failure(error) }
    }
    let count = try result.get()
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
