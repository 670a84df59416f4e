// One writer for each store: an exclusive lock on a file, which ends with the process. The file's
// first bytes, mapped by the writer and by all who follow the store, tell them how far it is durable.
//
// - Opening: durable becomes "not said yet", then the incarnation becomes a new random number. Who
//   reads the incarnation twice, and durable between, and finds it unchanged, has a pair that belongs
//   together, or a durable that says nothing.
// - After each sync the writer publishes the newest durable commit. It never goes back.
//
// The word is not synced. After a crash it may say anything; only while somebody holds the lock does
// it mean something.

internal import CTreeRing

/// Holds a store's LOCK file until released or gone.
package final class StoreLock: Sendable {
  private let held: any FileLock
  /// Nil where there was no room for it: then nobody can follow this writer.
  private let word: SharedWord?

  /// Takes the lock, making its file if needed; throws `locked` if another writer has it.
  package init(path: String, fileSystem: any FileSystem) throws(TreeRingError) {
    held = try fileSystem.lock(path)
    do throws(TreeRingError) {
      word = try SharedWord.claimed(path, fileSystem)
    } catch {
      guard error.code == .noSpace || error.code == .notSupported else {
        held.release()
        throw error
      }
      word = nil
    }
  }

  /// Tells followers that the store is durable up to a commit. Called in order, first when the store
  /// is open. A store to memory.
  package func publish(durable: CommitNumber) { word?.publish(durable) }

  /// Lets the next writer in. Does nothing the second time.
  package func release() { held.release() }
}

/// What the writer of a store tells its followers.
package final class SharedWord: Sendable {
  /// What it said at one moment.
  package struct Value: Hashable, Sendable {
    /// Another number whenever the store has been opened for writing.
    package var incarnation: UInt64
    /// The newest durable commit; nil while the writer is still opening.
    package var durable: CommitNumber?
  }

  private let mapping: any FileMapping

  private init(_ mapping: any FileMapping) { self.mapping = mapping }

  /// Maps the word for reading; nil if the file is not there or no writer has ever used it.
  package static func opened(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> SharedWord? {
    let file: any File
    do throws(TreeRingError) {
      file = try fileSystem.open(path, .readOnly)
    } catch  where error.code == .notFound { return nil }
    defer { file.close() }
    guard try file.size() >= UInt64(Format.SharedWord.byteCount) else { return nil }
    let word = SharedWord(
      try file.map(at: 0, count: Format.SharedWord.byteCount, writable: false))
    return word.load(Format.SharedWord.magic) == Format.sharedMagic ? word : nil
  }

  /// Maps the word for writing and begins a new incarnation. The lock is held.
  fileprivate static func claimed(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> SharedWord {
    let file = try fileSystem.open(path, .readWrite)
    defer { file.close() }
    let count = Format.SharedWord.byteCount
    if try file.size() < UInt64(count) {
      // Written, not only made longer: a store to memory cannot report that there is no room.
      try write(zeros: count, to: file)
    }
    let word = SharedWord(try file.map(at: 0, count: count, writable: true))
    word.store(0, Format.SharedWord.durable)
    word.store(UInt64.random(in: 1...UInt64.max), Format.SharedWord.incarnation)
    word.store(Format.sharedMagic, Format.SharedWord.magic)
    return word
  }

  private static func write(zeros count: Int, to file: any File) throws(TreeRingError) {
    let buffer = ByteBuffer()
    let room = buffer.room(for: count)
    room.initializeMemory(as: UInt8.self, repeating: 0)
    buffer.count = count
    do throws(TreeRingError) {
      try file.write(buffer.bytes, at: 0)
      try file.sync(.full)
    } catch {
      try? file.truncate(to: 0)
      throw error
    }
  }

  /// What the writer says now. A few loads from memory.
  package var value: Value {
    while true {
      let incarnation = load(Format.SharedWord.incarnation)
      let durable = load(Format.SharedWord.durable)
      if load(Format.SharedWord.incarnation) == incarnation {
        return Value(incarnation: incarnation, durable: durable == 0 ? nil : durable - 1)
      }
    }
  }

  fileprivate func publish(_ durable: CommitNumber) {
    if durable + 1 > load(Format.SharedWord.durable) {
      store(durable + 1, Format.SharedWord.durable)
    }
  }

  private func load(_ index: Int) -> UInt64 {
    guard let base = mapping.bytes.baseAddress else { return 0 }
    return UInt64(littleEndian: treering_load(base + index))
  }

  private func store(_ value: UInt64, _ index: Int) {
    guard let base = mapping.bytes.baseAddress else { return }
    treering_store(base + index, value.littleEndian)
  }
}
