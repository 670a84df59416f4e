// Who reads the page file from outside the writer's process: a file each in `readers/`, named by the
// commit of the root it reads, a random part, the process and the moment (COMMIT-RANDOM-PROCESS-MICROSECONDS),
// and locked as long as it does. Such a root is a pin: the writer keeps its pages, and neither compaction
// nor erasing passes its commit.
//
// Registering: make and lock the file, look whether it is still there, and then read the metas again.
// If the newest one is still that of the commit, the root is safe: the writer lists the folder before it
// chooses roots to drop, never drops the newest one, and so has seen the file before it could.
// A file that nobody has locked is left over; the writer locks it, removes it, lets go. Whoever was
// about to register by it then finds his lock refused or his file gone, and takes another name.

internal import Synchronization
internal import TreeRingLog

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// A root of the page file that some process reads.
struct ReaderInfo: Hashable, Sendable {
  /// The root's commit.
  var commit: CommitNumber
  /// The process, and when it began to read the root; nil if its file does not say.
  var process: Int32?
  var since: Timestamp?
  /// The name of its file.
  var name: String

  /// What a file's name says; nil if it is none of a reader's.
  init?(name: String) {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard let commit = parts.first.flatMap({ CommitNumber($0) }) else { return nil }
    self.commit = commit
    self.name = name
    guard parts.count == 4, let process = Int32(parts[2]), let moment = Int64(parts[3]) else {
      return
    }
    self.process = process
    since = Timestamp(microseconds: moment)
  }

  /// How long it has been reading, by the wall clock; never negative.
  var age: Duration {
    guard let since else { return .zero }
    let (elapsed, overflow) = Timestamp.now.microseconds
      .subtractingReportingOverflow(since.microseconds)
    return overflow ? .zero : .microseconds(max(0, elapsed))
  }
}

/// The folder `readers/` of a store.
struct ReaderRegistry: Sendable {
  let directory: String
  let fileSystem: any FileSystem

  init(folder: String, fileSystem: any FileSystem) {
    directory = folder + "/readers"
    self.fileSystem = fileSystem
  }

  /// Says that the root of a commit is being read, until the result is released or goes.
  /// - Throws: what keeps a file from being made, for instance that the folder is not writable.
  func register(_ commit: CommitNumber) throws(TreeRingError) -> ReaderPin {
    try fileSystem.makeDirectory(directory)
    while true {
      let random = String(UInt64.random(in: 1...UInt64.max), radix: 16)
      let moment = Timestamp.now.microseconds
      let path = "\(directory)/\(commit)-\(random)-\(getpid())-\(moment)"
      do throws(TreeRingError) {
        let lock = try fileSystem.lock(path)
        if try fileSystem.exists(path) {
          return ReaderPin(commit: commit, path: path, lock: lock, fileSystem: fileSystem)
        }
        lock.release()
      } catch  where error.code == .locked { continue }
    }
  }

  /// The commits whose roots are being read. Removes what readers left that are gone. For the writer.
  func pinnedCommits() throws(TreeRingError) -> Set<CommitNumber> {
    Set(try readers(removingDead: true).map(\.commit))
  }

  /// Who reads which root, oldest root first.
  ///
  /// - Parameter removesDead: whether to remove what readers left that are gone. Only the writer may.
  func readers(removingDead removesDead: Bool) throws(TreeRingError) -> [ReaderInfo] {
    let names: [String]
    do throws(TreeRingError) {
      names = try fileSystem.list(directory)
    } catch  where error.code == .notFound { return [] }
    var readers: [ReaderInfo] = []
    for reader in names.compactMap(ReaderInfo.init(name:)) {
      if try isLive("\(directory)/\(reader.name)", removingDead: removesDead) {
        readers.append(reader)
      }
    }
    return readers.sorted { ($0.commit, $0.name) < ($1.commit, $1.name) }
  }

  private func isLive(
    _ path: String, removingDead removesDead: Bool
  ) throws(TreeRingError) -> Bool {
    // Taking a lock that is held takes some naps.
    let isLocked = try fileSystem.isLocked(path)
    if isLocked || !removesDead { return isLocked }
    do throws(TreeRingError) {
      let lock = try fileSystem.lock(path)
      defer { lock.release() }
      try fileSystem.unlink(path)
      return false
    } catch  where error.code == .locked {
      return true
    } catch  where error.code == .notFound {
      // Its reader has just removed it.
      return false
    }
  }
}

/// A reader's hold on one root of the page file.
final class ReaderPin: Sendable {
  let commit: CommitNumber
  private let path: String
  /// The name of its file.
  var name: String { String(path.split(separator: "/").last ?? "") }
  private let lock: any FileLock
  private let fileSystem: any FileSystem
  private let isReleased = Atomic<Bool>(false)

  fileprivate init(
    commit: CommitNumber, path: String, lock: any FileLock, fileSystem: any FileSystem
  ) {
    self.commit = commit
    self.path = path
    self.lock = lock
    self.fileSystem = fileSystem
  }

  deinit { release() }

  /// Lets the writer have the root's pages. Does nothing the second time.
  func release() {
    if isReleased.exchange(true, ordering: .acquiringAndReleasing) { return }
    // If it stays, the writer removes it: nobody has it locked.
    try? fileSystem.unlink(path)
    lock.release()
  }
}
