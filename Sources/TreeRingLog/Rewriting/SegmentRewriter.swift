// Rewrites one segment.
//
// 1. Create a file under a temporary name and reserve room for the whole old segment.
// 2. Read the old segment frame by frame and check each frame. Ask `transform` for its treatment
//    and write the result with the new file's salt, offsets and chain. Values are copied in their
//    stored form; their checksums are compared.
// 3. Write the directory, trim the reserved room, read the file back and check all of it.
// 4. Sync, rename, sync the folder.
//
// A failure before the rename leaves the old segment unchanged. If the folder cannot be synced, the
// new name is removed again. A crash may then leave either generation; both are whole.
// `SegmentOutput` implements steps 1, 3 and 4.

/// One rewriting of one segment. For one thread.
final class SegmentRewriter {
  private let old: Segment
  private let reader: SegmentReader
  private let header: SegmentHeader
  private let directory: String
  private let fileSystem: any FileSystem
  private let encoder: FrameEncoder
  private let decoder: Decoder

  /// - Parameter header: the header of the new segment.
  init(
    of old: Segment, source: any File, header: SegmentHeader, directory: String,
    fileSystem: any FileSystem
  ) throws(TreeRingError) {
    self.old = old
    self.header = header
    self.directory = directory
    self.fileSystem = fileSystem
    encoder = try FrameEncoder()
    decoder = try Decoder()
    reader = SegmentReader(file: source, end: old.end)
  }

  /// Writes the new segment, durably.
  func run(
    _ transform: (CommitHeader, UnsafeRawBufferPointer) throws -> Rewriting
  ) throws -> Segment {
    // The old size plus room for a directory, in case the old segment has none.
    let output = try SegmentOutput(
      header, in: directory, fileSystem: fileSystem, reserving: old.end + old.end / 256 + 4096)
    do {
      try copyCommits(to: output, transform)
    } catch {
      output.abandon()
      throw error
    }
    return try output.finish()
  }

  /// Removes the generations that the new segment replaces, durably.
  ///
  /// - Parameter all: whether an earlier rewriting failed to remove a generation. Then the folder
  ///   is listed. Always listing it would make rewriting all segments quadratic in their number.
  func removeOlderGenerations(all: Bool) throws(TreeRingError) {
    do throws(TreeRingError) {
      if all {
        let names = try fileSystem.list(directory).compactMap(SegmentName.init(fileName:))
        for other in names
        where other.firstCommit == header.firstCommit && other.generation < header.generation {
          try fileSystem.unlink("\(directory)/\(other.fileName)")
        }
      } else {
        do throws(TreeRingError) {
          try fileSystem.unlink(old.path)
        } catch  where error.code == .notFound {}
      }
      try fileSystem.syncDirectory(directory)
    } catch {
      var error = error
      error.message +=
        " The segment was rewritten nevertheless. The next rewriting or opening removes its old "
        + "file."
      throw error
    }
  }

  // MARK: Commits

  private func copyCommits(
    to output: SegmentOutput,
    _ transform: (CommitHeader, UnsafeRawBufferPointer) throws -> Rewriting
  ) throws {
    var offset = UInt64(Format.Segment.byteCount)
    var last = old.header.firstCommit - 1
    while offset < old.end {
      let frame = try reader.nextFrame(at: offset, salt: old.header.salt)
      if let fields = frame.commit {
        guard old.header.admits(fields.number, after: last) else {
          throw corrupt("a commit is missing", offset, last + 1)
        }
        last = fields.number
        try copy(frame, fields, at: offset, to: output, transform)
      }
      offset += frame.byteCount
    }
    guard last == old.directory.lastCommit else {
      throw corrupt("the segment ends too early", offset, last + 1)
    }
  }

  private func corrupt(
    _ what: String, _ offset: UInt64, _ commit: CommitNumber
  ) -> TreeRingError {
    .corruptLog(what, file: old.path, offset: offset, commit: commit)
  }

  private func copy(
    _ frame: ScannedFrame, _ fields: CommitFields, at offset: UInt64, to output: SegmentOutput,
    _ transform: (CommitHeader, UnsafeRawBufferPointer) throws -> Rewriting
  ) throws {
    let head = [UInt8](try reader.bytes(at: offset, count: frame.head.byteCount))
    let payloadOffset = offset + UInt64(head.count)
    let stored = try reader.bytes(at: payloadOffset, count: Int(fields.payloadStored))
    guard let plain = decoder.payload(stored, fields) else {
      throw corrupt("the payload's checksum is wrong", offset, fields.number)
    }
    let described = CommitHeader(fields, frame.byteCount, old.path, offset)
    let entries = head.withUnsafeBytes { ValueEntry.table(of: $0) }
    let begin = output.position.offset
    switch try transform(described, plain) {
    case .drop:
      guard fields.number < header.horizon else {
        throw TreeRingError(
          .invalidInput,
          "Commit \(fields.number) cannot be dropped: history is kept from the horizon "
            + "\(header.horizon) on.",
          commit: fields.number)
      }
      return
    case .keep:
      output.append(header: head)
      _ = try copyBytes(at: payloadOffset, count: fields.payloadStored, to: output)
      try copyValues(entries, keeping: { _ in true }, at: payloadOffset, fields, to: output)
    case .replace(let payload, let keptValues):
      let kept = Set(keptValues.map { ValueName($0.operation, $0.part) })
      let left = entries.filter { kept.contains(ValueName($0)) }
      guard left.count == kept.count else {
        throw corrupt(
          "a value that an operation refers to is not in the commit", offset, fields.number)
      }
      let encoder = encoder
      try output.append { (buffer, position) throws(TreeRingError) in
        try encoder.encode(
          fields, payload: payload, entries: left, at: position, synced: SegmentOutput.synced,
          into: buffer)
      }
      try copyValues(
        entries, keeping: { kept.contains(ValueName($0)) }, at: payloadOffset, fields, to: output)
    }
    output.note(fields.number, offset: begin, timestamp: fields.timestamp)
  }

  private func copyValues(
    _ entries: [ValueEntry], keeping: (ValueEntry) -> Bool, at payloadOffset: UInt64,
    _ fields: CommitFields, to output: SegmentOutput
  ) throws(TreeRingError) {
    var offset = payloadOffset + fields.payloadStored
    for entry in entries {
      if keeping(entry) {
        let checksum = try copyBytes(at: offset, count: UInt64(entry.stored), to: output)
        guard checksum == entry.checksum else {
          throw corrupt("the checksum of a value is wrong", offset, fields.number)
        }
      }
      offset += UInt64(entry.stored)
    }
  }

  /// Copies bytes of the old file to the end of the output; returns their CRC-32C.
  private func copyBytes(
    at offset: UInt64, count: UInt64, to output: SegmentOutput
  ) throws(TreeRingError) -> UInt32 {
    var checksum: UInt32 = 0
    try reader.forEachPiece(at: offset, count: count) { (bytes) throws(TreeRingError) in
      checksum = crc32c(bytes, seed: checksum)
      try output.append(bytes)
    }
    return checksum
  }
}
