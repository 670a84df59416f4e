// Copies files through the file system interface, a megabyte at a time.

enum FileCopy {
  private static let piece = 1 << 20

  /// Copies the first `count` bytes of a file into an empty one, appends `rest`, and syncs.
  /// Reserves the room first, so that a full device fails early.
  static func copy(
    _ source: any File, count: UInt64, to target: any File, then rest: [UInt8] = [],
    advance: (UInt64) throws(TreeRingError) -> Void = { _ in }
  ) throws(TreeRingError) {
    let whole = count + UInt64(rest.count)
    _ = try target.allocate(whole, at: 0)
    let buffer = ByteBuffer(capacity: piece)
    var offset: UInt64 = 0
    while offset < count {
      let wanted = Int(min(count - offset, UInt64(piece)))
      buffer.reset()
      let read = try source.read(into: buffer.room(for: wanted), at: offset)
      guard read == wanted else {
        throw TreeRingError.corruptLog(
          "the file ends too early", file: source.path, offset: offset + UInt64(read))
      }
      buffer.count = read
      try target.write(buffer.bytes, at: offset)
      offset += UInt64(read)
      try advance(UInt64(read))
    }
    if !rest.isEmpty {
      buffer.reset()
      rest.withUnsafeBytes { buffer.append($0) }
      try target.write(buffer.bytes, at: count)
      try advance(UInt64(rest.count))
    }
    if try target.size() != whole { try target.truncate(to: whole) }
    try target.sync(.whole)
  }

  /// Gives a file a second name, or copies it where that is not supported.
  static func linkOrCopy(
    _ path: String, to newPath: String, fileSystem: any FileSystem
  ) throws(TreeRingError) {
    do throws(TreeRingError) {
      return try fileSystem.link(path, to: newPath)
    } catch  where error.code == .notSupported {}
    let source = try fileSystem.open(path, .readOnly)
    let target = try fileSystem.open(newPath, .createNew)
    defer { target.close() }
    try copy(source, count: source.size(), to: target)
  }
}
