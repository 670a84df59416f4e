// Who reads the page file from outside the writer's process: a file each in `readers/`, named by the
// commit of the root it reads and locked as long as it does.
//
// Registering: make and lock the file, look whether it is still there, and then read the metas again.
// If the newest one is still that of the commit, the root is safe: the writer lists the folder before it
// chooses roots to drop, never drops the newest one, and so has seen the file before it could.
// A file that nobody has locked is left over; the writer locks it, removes it, lets go. Whoever was
// about to register by it then finds his lock refused or his file gone, and takes another name.

internal import Synchronization
internal import TreeRingLog

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
      let path = "\(directory)/\(commit)-\(random)"
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
    let names: [String]
    do throws(TreeRingError) {
      names = try fileSystem.list(directory)
    } catch  where error.code == .notFound { return [] }
    var commits: Set<CommitNumber> = []
    for name in names {
      guard let commit = name.split(separator: "-").first.flatMap({ CommitNumber($0) }) else {
        continue
      }
      let path = "\(directory)/\(name)"
      do throws(TreeRingError) {
        let lock = try fileSystem.lock(path)
        defer { lock.release() }
        try fileSystem.unlink(path)
      } catch  where error.code == .locked { commits.insert(commit) }
    }
    return commits
  }
}

/// A reader's hold on one root of the page file.
final class ReaderPin: Sendable {
  let commit: CommitNumber
  private let path: String
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
