// Reads the frames of commits that another process has sent: whole frames, one after the other. The
// head of each states its position in the sender's log, which means nothing here; its checksums and
// those of payload and values hold at any position.

/// Reads frames from memory. For one thread at a time.
package final class FrameReader {
  private let decoder: Decoder
  private let values: Decoder

  /// - Throws: `io` if there is no memory for a decompressor.
  package init() throws(TreeRingError) {
    decoder = try Decoder()
    values = try Decoder()
  }

  /// Calls `body` with each commit in `bytes`, in order; the commit is valid until `body` returns.
  /// - Throws: `corruption` if the bytes are not whole, sound frames of consecutive commits;
  ///   `unsupportedFormat` for frames of a later version; errors of `body`.
  package func forEachCommit(
    in bytes: UnsafeRawBufferPointer, _ body: (ReadableCommit) throws -> Void
  ) throws {
    var at = 0
    var next: CommitNumber?
    while at < bytes.count {
      let frame = try Self.frame(in: bytes, at: at)
      let number = frame.fields.number
      guard number == next ?? number, let commit = commit(frame) else {
        throw Self.damaged(.badChecksum, commit: number)
      }
      try body(commit)
      next = number + 1
      at += frame.bytes.count
    }
  }

  /// A frame whose head and lengths are checked.
  private struct Frame {
    var bytes: UnsafeRawBufferPointer
    var headerByteCount: Int
    var fields: CommitFields
  }

  private static func frame(
    in bytes: UnsafeRawBufferPointer, at offset: Int
  ) throws(TreeRingError) -> Frame {
    let rest = bytes.part(offset, bytes.count - offset)
    do throws(FrameFlaw) {
      let count = try FrameHead.byteCount(
        rest.part(0, min(rest.count, Format.Commit.values)), remaining: UInt64(rest.count))
      let header = rest.part(0, count)
      guard try FrameHead.decode(header).kind == .commit else { throw .notAHeader }
      let fields = CommitFields(header)
      guard
        let whole = fields.frameByteCount(headerByteCount: count, remaining: UInt64(rest.count))
      else { throw .badLength }
      return Frame(bytes: rest.part(0, Int(whole)), headerByteCount: count, fields: fields)
    } catch { throw damaged(error) }
  }

  /// The commit of a frame; nil if its payload or one of its values is damaged.
  private func commit(_ frame: Frame) -> ReadableCommit? {
    let bytes = frame.bytes
    let fields = frame.fields
    let entries = ValueEntry.table(of: bytes)
    let stored = bytes.part(frame.headerByteCount, Int(fields.payloadStored))
    guard let payload = decoder.payload(stored, fields) else { return nil }
    var offset = frame.headerByteCount + stored.count
    for entry in entries {
      guard crc32c(bytes.part(offset, Int(entry.stored))) == entry.checksum else { return nil }
      offset += Int(entry.stored)
    }
    return ReadableCommit(
      header: CommitHeader(fields, UInt64(bytes.count), "", 0), payload: payload, lostBefore: [],
      horizon: 0, frame: bytes, entries: entries,
      readValue: { [values] (entry, offset) throws(TreeRingError) in
        values.value(bytes.part(Int(offset), Int(entry.stored)), entry)
      })
  }

  private static func damaged(
    _ flaw: FrameFlaw, commit: CommitNumber? = nil
  ) -> TreeRingError {
    if case .unsupported(let version, _) = flaw {
      return TreeRingError(
        .unsupportedFormat,
        "A commit of the shared log has format version \(version), which is newer than this "
          + "version of TreeRing. Update it here first.")
    }
    return TreeRingError(
      .corruption,
      "A commit of the shared log is damaged: \(flaw.problem). Read it again, or begin with a "
        + "backup that holds it.", commit: commit)
  }
}
