// The output file of a compacted segment. It is written under a temporary name, read back and
// checked, synced and renamed, and the folder is synced. Afterwards the segment is whole or absent.
//
// All its bytes are synced before it gets its name, although its headers state less as `synced`.

/// A compacted segment that is being written. For one thread.
final class SegmentOutput {
  let header: SegmentHeader
  /// The position of the next frame.
  private(set) var position: ChainPosition
  private let directory: String
  private let fileSystem: any FileSystem
  private let buffer = ByteBuffer()
  private var flushed: UInt64 = 0
  private var written: SegmentDirectory
  private let file: any File
  private let temporary: String
  private let path: String

  /// The synced byte count that its headers state.
  static let synced = UInt64(Format.Segment.byteCount)

  /// Creates the file and writes its header.
  ///
  /// - Parameter reserved: the bytes to reserve, so that a full device fails early.
  init(
    _ header: SegmentHeader, in directory: String, fileSystem: any FileSystem,
    reserving reserved: UInt64
  ) throws(TreeRingError) {
    self.header = header
    self.directory = directory
    self.fileSystem = fileSystem
    position = ChainPosition(salt: header.salt, offset: 0, checksum: 0)
    written = SegmentDirectory(of: header)
    path = "\(directory)/\(header.name.fileName)"
    temporary = SegmentName.path(path, with: Format.temporarySuffix)
    if try fileSystem.exists(temporary) { try fileSystem.unlink(temporary) }
    file = try fileSystem.open(temporary, .createNew)
    do throws(TreeRingError) {
      if reserved > 0 { _ = try file.allocate(reserved, at: 0) }
    } catch {
      abandon()
      throw error
    }
    position.checksum = header.append(to: buffer)
    position.offset = UInt64(buffer.count)
  }

  /// Deletes the file. If that fails, the next opening removes it.
  func abandon() {
    file.close()
    try? fileSystem.unlink(temporary)
  }

  // MARK: Frames

  /// Appends a frame that `encode` builds in the buffer for the given position.
  func append(
    _ encode: (ByteBuffer, ChainPosition) throws(TreeRingError) -> FrameEncoder.Encoded
  ) throws(TreeRingError) {
    let encoded = try encode(buffer, position)
    position.checksum = encoded.checksum
    position.offset += UInt64(encoded.byteCount)
    try flush()
  }

  /// Appends a commit's header copied from another file; its content must follow.
  func append(header head: [UInt8]) {
    let copy = buffer.grow(by: head.count)
    copy.copyBytes(from: head)
    // Only the head changes with the position.
    position.checksum = FrameHead.seal(copy, .commit, at: position, synced: Self.synced)
    position.offset += UInt64(head.count)
  }

  /// Appends a piece of a commit's content.
  func append(_ bytes: UnsafeRawBufferPointer) throws(TreeRingError) {
    buffer.append(bytes)
    position.offset += UInt64(bytes.count)
    try flush()
  }

  /// Records a commit whose frame began at `offset`.
  func note(_ commit: CommitNumber, offset: UInt64, timestamp: Timestamp) {
    written.append(commit, offset: offset, timestamp: timestamp)
  }

  private func flush(all: Bool = false) throws(TreeRingError) {
    guard buffer.count > (all ? 0 : 1 << 20) else { return }
    try file.write(buffer.bytes, at: flushed)
    flushed += UInt64(buffer.count)
    buffer.reset()
  }

  // MARK: The end

  /// Writes the directory, checks everything, and gives the file its name.
  ///
  /// If the folder cannot be synced, the name is removed again. A crash may then leave either
  /// generation; both are whole.
  func finish() throws(TreeRingError) -> Segment {
    do throws(TreeRingError) {
      try writeDirectory()
      try file.sync(.whole)
      file.close()
      try fileSystem.rename(temporary, to: path)
    } catch {
      abandon()
      throw error
    }
    do throws(TreeRingError) {
      try fileSystem.syncDirectory(directory)
    } catch {
      try? fileSystem.unlink(path)
      throw error
    }
    return Segment(path: path, header: header, directory: written, end: position.offset)
  }

  private func writeDirectory() throws(TreeRingError) {
    let before = buffer.count
    position.checksum = written.append(to: buffer, at: position)
    position.offset += UInt64(buffer.count - before)
    try flush(all: true)
    if try file.size() != position.offset { try file.truncate(to: position.offset) }
    let scan = try SegmentScan.scan(file, name: header.name)
    guard scan.header == header, scan.flaw == nil, scan.lastKind == .directory,
      scan.directory == written
    else {
      throw TreeRingError(
        .io,
        "The new segment does not read as it was written. Nothing was changed. Check the device.",
        file: file.path, offset: scan.end.offset)
    }
  }
}
