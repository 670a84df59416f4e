// Begins, seals and closes segments.
//
// - Begin: write the header under a temporary name, sync, rename, sync the folder. So a file with a
//   segment's name always has a whole header.
// - Seal: sync (done by the leader), trim the reserved room, append the directory, sync. Only then
//   is the next segment begun. A sealed file is never written again.
// - Close: sync, trim, append a mark, sync.

internal import Logging

enum SegmentWriter {
  /// Creates a segment that holds only its header, durably, and opens it.
  static func begin(
    _ header: SegmentHeader, in directory: String, fileSystem: any FileSystem
  ) throws(TreeRingError) -> ActiveSegment {
    let path = "\(directory)/\(header.name.fileName)"
    let buffer = ByteBuffer()
    let checksum = header.append(to: buffer)
    let file = try writeAside(path, in: directory, fileSystem: fileSystem) {
      file throws(TreeRingError) in try file.write(buffer.bytes, at: 0)
    }
    let position = ChainPosition(
      salt: header.salt, offset: UInt64(buffer.count), checksum: checksum)
    return ActiveSegment(
      file, header, SegmentDirectory(of: header), at: position, endsInMark: false)
  }

  /// Creates a file under a temporary name, lets `fill` write it, syncs it, renames it and syncs
  /// the folder. Afterwards the file is whole or absent.
  static func writeAside(
    _ path: String, in directory: String, fileSystem: any FileSystem,
    fill: (any File) throws(TreeRingError) -> Void
  ) throws(TreeRingError) -> any File {
    let aside = SegmentName.path(path, with: Format.temporarySuffix)
    if try fileSystem.exists(aside) { try fileSystem.unlink(aside) }
    do throws(TreeRingError) {
      let file = try fileSystem.open(aside, .createNew)
      try fill(file)
      try file.sync(.full)
      file.close()
      try fileSystem.rename(aside, to: path)
    } catch {
      // The first error is thrown. The next opening removes a remaining temporary file.
      try? fileSystem.unlink(aside)
      throw error
    }
    try fileSystem.syncDirectory(directory)
    return try fileSystem.open(path, .readWrite)
  }

  /// Trims a segment whose frames are all synced, appends its last header, and syncs.
  static func finish(_ active: ActiveSegment, with last: ByteBuffer) throws(TreeRingError) {
    let end = active.written.offset
    if active.room.end > end { try active.file.truncate(to: end) }
    do throws(TreeRingError) {
      try active.file.write(last.bytes, at: end)
    } catch  where error.code == .noSpace {
      try active.file.truncate(to: end)
      try active.file.sync(.whole)
      throw error
    }
    try active.file.sync(.whole)
  }
}
