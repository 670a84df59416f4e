// The registry of processes that read the page file while another one writes it. Each has a file in
// `readers/`, which it keeps locked while it reads. Its name is
// COMMIT-RANDOM-PROCESS-MICROSECONDS-MICROSECONDS: the commit of the root read, a random part, the
// process, and the start of the reading by the wall clock and by the system's uptime. Such a root
// is a pin: the writer keeps its pages, and neither compaction nor erasing passes its commit.
//
// To register, a reader creates and locks the file, checks that the file still exists, and then
// reads the metas again. If the newest meta is still that of the commit, the writer keeps the root.
// The reason: the writer lists the folder before it chooses the roots to drop, and never drops the
// newest one. So it has found the file before it could drop the root. A file without a lock belongs
// to a process that has ended; the writer locks it, removes it, and unlocks. A reader that is about
// to register with that file then finds its lock refused or its file gone, and takes another name.

internal import TreeRingLog
internal import TreeRingPlatform

/// A root of the page file that a process reads.
struct ReaderInfo: Hashable, Sendable {
  /// The root's commit.
  var commit: CommitNumber
  /// The process, and the time when it began to read the root; nil if the file's name lacks them.
  var process: Int32?
  var since: Timestamp?
  /// The system's uptime at that moment, in microseconds; nil if the file's name lacks it.
  var uptime: Int64?
  /// The name of its file.
  var name: String

  /// Parses a file's name; nil if it is not a reader's.
  init?(name: String) {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard let commit = parts.first.flatMap({ CommitNumber($0) }) else { return nil }
    self.commit = commit
    self.name = name
    guard (4...5).contains(parts.count), let process = Int32(parts[2]), let moment = Int64(parts[3])
    else {
      return
    }
    self.process = process
    since = Timestamp(microseconds: moment)
    uptime = parts.count == 5 ? Int64(parts[4]) : nil
  }

  /// The time since the process began to read; never negative. It is the shorter of the times by
  /// the wall clock and by the uptime, so that setting the wall clock cannot make it longer.
  ///
  /// - Parameter clock: The time of the wall clock.
  func age(at clock: Timestamp) -> Duration {
    guard let since else { return .zero }
    let (elapsed, overflow) = clock.microseconds
      .subtractingReportingOverflow(since.microseconds)
    if overflow { return .zero }
    guard let uptime else { return .microseconds(max(0, elapsed)) }
    let (running, isTooLong) = Platform.uptime.subtractingReportingOverflow(uptime)
    return isTooLong ? .zero : .microseconds(max(0, min(elapsed, running)))
  }
}

/// The names of the files that one store has in `readers/`: each from before the file is made until
/// after it is removed.
final class ReaderNames: Sendable {
  private let names = Mutex<Set<String>>([])

  var all: Set<String> { names.withLock { $0 } }

  fileprivate func insert(_ name: String) { names.withLock { _ = $0.insert(name) } }
  fileprivate func remove(_ name: String) { names.withLock { _ = $0.remove(name) } }
}

/// The folder `readers/` of a store.
struct ReaderRegistry: Sendable {
  let directory: String
  let fileSystem: any FileSystem
  /// The names of the files made through this registry.
  let own: ReaderNames

  init(folder: String, fileSystem: any FileSystem, own: ReaderNames = ReaderNames()) {
    directory = folder + "/readers"
    self.fileSystem = fileSystem
    self.own = own
  }

  /// Registers that the root of a commit is being read, until the result is released or destroyed.
  /// - Throws: The error of creating the file, for instance because the folder is not writable.
  func register(_ commit: CommitNumber) throws(TreeRingError) -> ReaderPin {
    try fileSystem.makeDirectory(directory)
    while true {
      let random = String(UInt64.random(in: 1...UInt64.max), radix: 16)
      let moment = Timestamp.now.microseconds
      let name = "\(commit)-\(random)-\(getpid())-\(moment)-\(Platform.uptime)"
      own.insert(name)
      do throws(TreeRingError) {
        let lock = try fileSystem.lock("\(directory)/\(name)")
        if try fileSystem.exists("\(directory)/\(name)") {
          return ReaderPin(commit: commit, name: name, registry: self, lock: lock)
        }
        lock.release()
        own.remove(name)
      } catch {
        own.remove(name)
        if error.code != .locked { throw error }
      }
    }
  }

  /// The commits whose roots are being read. Removes the files of readers that are gone. For the
  /// writer.
  func pinnedCommits() throws(TreeRingError) -> Set<CommitNumber> {
    Set(try readers(removingDead: true).map(\.commit))
  }

  /// The readers and their roots, the oldest root first.
  ///
  /// - Parameter removesDead: Whether to remove the files of readers that are gone. Only the writer
  ///   may.
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
    // Ask first: an attempt to take a lock that is held waits several times.
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
      // The reader has just removed its file.
      return false
    }
  }
}

/// A reader's pin on one root of the page file.
final class ReaderPin: Sendable {
  let commit: CommitNumber
  /// The name of its file.
  private let name: String
  private let registry: ReaderRegistry
  private let lock: any FileLock
  private let isReleased = Atomic<Bool>(false)

  fileprivate init(
    commit: CommitNumber, name: String, registry: ReaderRegistry, lock: any FileLock
  ) {
    self.commit = commit
    self.name = name
    self.registry = registry
    self.lock = lock
  }

  deinit { release() }

  /// Releases the root, so that the writer may free its pages. The second call does nothing.
  func release() {
    if isReleased.exchange(true, ordering: .acquiringAndReleasing) { return }
    // If the file stays, the writer removes it, since no process has it locked.
    try? registry.fileSystem.unlink("\(registry.directory)/\(name)")
    lock.release()
    registry.own.remove(name)
  }
}
