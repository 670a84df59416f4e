// The exclusive lock of a store's writer, on the file LOCK and its folder. It ends with the
// process. In the file's first bytes, the *shared word*, the writer publishes its newest durable
// commit.
//
// - Opening: the writer sets the durable commit to "unknown" and then the incarnation to a new
//   random number. A checksum covers both, so a reader detects a write in progress and reads again.
// - After each sync the writer publishes the newest durable commit, which never decreases.
//
// The word is not synced. After a crash it may hold anything, so it counts only while the lock is
// held. The writer writes it by a call, never through a mapping: a store to a mapped page for which
// the file system has no room ends the process.

internal import TreeRingPlatform

/// The lock on a store's LOCK file, held until released or deallocated.
package final class StoreLock: Sendable {
  private let held: any FileLock
  private let state: Mutex<State>
  /// The time of the last check of the names.
  private let checked = Atomic<Int64>(0)

  private struct State: Sendable {
    var value: SharedWord.Value
    /// False while the file does not hold the value, for lack of room.
    var isWritten = false
  }

  /// The minimum interval between checks of the names by `check`, in nanoseconds.
  private static let checkInterval: Int64 = 1_000_000

  /// Takes the lock and creates its file if needed; throws `locked` if another writer has it.
  package init(path: String, fileSystem: any FileSystem) throws(TreeRingError) {
    held = try fileSystem.lockStore(path)
    let value = SharedWord.Value(
      incarnation: UInt64.random(in: 1...UInt64.max), durable: nil)
    state = Mutex(State(value: value))
    do throws(TreeRingError) {
      try claim(path, fileSystem)
    } catch {
      guard error.code == .noSpace || error.code == .notSupported else {
        held.release()
        throw error
      }
      // Without room for the word, followers cannot follow this writer yet.
    }
  }

  /// Writes the word of a writer that is opening the store.
  private func claim(_ path: String, _ fileSystem: any FileSystem) throws(TreeRingError) {
    let file = try fileSystem.open(path, .readOnly)
    defer { file.close() }
    if try file.size() < UInt64(Format.SharedWord.byteCount) {
      try held.write([UInt8](repeating: 0, count: Format.SharedWord.byteCount), at: 0)
    } else if let old = try SharedWord.image(of: file) {
      // So no reader of a part of the next write sees the old commit with the new incarnation.
      var value = old.value
      value.durable = nil
      let start = Format.SharedWord.durable
      try held.write(Array(SharedWord.bytes(of: value)[start...]), at: UInt64(start))
    }
    try state.withLock { state throws(TreeRingError) in try write(&state) }
  }

  private func write(_ state: inout State) throws(TreeRingError) {
    state.isWritten = false
    try held.write(SharedWord.bytes(of: state.value), at: 0)
    state.isWritten = true
  }

  /// Publishes the newest durable commit to followers. Called in order, first when the store is
  /// open. One short write; if there is no room for it, followers learn of the commit later.
  package func publish(durable: CommitNumber) {
    state.withLock { state in
      if state.isWritten, let published = state.value.durable, published >= durable { return }
      state.value.durable = max(durable, state.value.durable ?? 0)
      try? write(&state)
    }
  }

  /// Throws `poisoned` if LOCK or the store's folder was removed, moved or replaced. Later writes
  /// may then be lost, and another process may write the store.
  ///
  /// - Parameter always: false to skip the check if one happened in the last millisecond.
  package func check(always: Bool = true) throws(TreeRingError) {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    let isDue = now - checked.load(ordering: .relaxed) >= Self.checkInterval
    guard always || isDue else { return }
    try held.check()
    checked.store(now, ordering: .relaxed)
  }

  /// Releases the lock for the next writer. A second call does nothing.
  package func release() { held.release() }
}

/// The shared word, as a follower reads it.
package final class SharedWord: Sendable {
  /// The content of the word at one moment.
  package struct Value: Hashable, Sendable {
    /// A different number for each opening of the store for writing.
    package var incarnation: UInt64
    /// The newest durable commit; nil while the writer is still opening.
    package var durable: CommitNumber?
  }

  private let file: any File

  /// The word in a file that is open for reading.
  package init(_ file: any File) { self.file = file }

  /// Opens the word for reading; nil if the file is missing or no writer has ever used it.
  package static func opened(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> SharedWord? {
    guard let file = try fileSystem.openIfPresent(path) else { return nil }
    guard try file.size() >= UInt64(Format.SharedWord.byteCount), try image(of: file) != nil else {
      file.close()
      return nil
    }
    return SharedWord(file)
  }

  /// The current content; without a durable commit if the file cannot be read. Reads 28 bytes.
  package var value: Value {
    var last: Image?
    var repeatCount = 0
    while let image = try? Self.image(of: file) {
      if image.isSound { return image.value }
      // A write in progress ends soon. A pair that stays was written by a program without
      // checksums.
      repeatCount = image == last ? repeatCount + 1 : 0
      if repeatCount == 10 { return image.value }
      last = image
      usleep(500)
    }
    return Value(incarnation: 0, durable: nil)
  }

  // MARK: Bytes

  /// The word's representation in the file.
  fileprivate struct Image: Hashable {
    var value: Value
    /// Whether the checksum matches the value.
    var isSound: Bool
  }

  /// The word in a file; nil if the file does not begin with its magic number.
  fileprivate static func image(of file: any File) throws(TreeRingError) -> Image? {
    let bytes = try file.start(count: Format.SharedWord.endOffset)
    guard bytes.count == Format.SharedWord.endOffset else { return nil }
    return bytes.withUnsafeBytes { bytes in
      typealias Layout = Format.SharedWord
      guard bytes.number(UInt64.self, at: Layout.magic) == Format.sharedMagic else { return nil }
      let durable = bytes.number(UInt64.self, at: Layout.durable)
      let pair = UnsafeRawBufferPointer(rebasing: bytes[Layout.incarnation..<Layout.checksum])
      return Image(
        value: Value(
          incarnation: bytes.number(UInt64.self, at: Layout.incarnation),
          durable: durable == 0 ? nil : durable - 1),
        isSound: crc32c(pair) == bytes.number(UInt32.self, at: Layout.checksum))
    }
  }

  fileprivate static func bytes(of value: Value) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Format.SharedWord.endOffset)
    bytes.withUnsafeMutableBytes { bytes in
      typealias Layout = Format.SharedWord
      bytes.put(Format.sharedMagic, at: Layout.magic)
      bytes.put(value.incarnation, at: Layout.incarnation)
      bytes.put(value.durable.map { $0 + 1 } ?? 0, at: Layout.durable)
      let pair = UnsafeRawBufferPointer(rebasing: bytes[Layout.incarnation..<Layout.checksum])
      bytes.put(crc32c(pair), at: Layout.checksum)
    }
    return bytes
  }
}
