// The validity of a pin. Reads of a snapshot check it first.

internal import TreeRingLog
internal import TreeRingPlatform

/// The validity of one pin: whether its snapshot may still be read, and the version that it keeps
/// until its end.
// Sendable: the registry uses its links under its lock, and the rest is unchanging or atomic.
final class PinLife: @unchecked Sendable {
  /// The commit pinned.
  let commit: CommitNumber
  /// The time at which it was made.
  let since = ContinuousClock.now
  /// The position in the program that made it.
  let creator: PinCreator
  /// Whether it is among the live pins. Under the registry's lock, as are the links.
  @exclusivity(unchecked) var isRegistered = false
  /// The pins before and after it in the same place of the registry.
  @exclusivity(unchecked) var older: PinLife?
  @exclusivity(unchecked) var newer: PinLife?
  private let isOver = Atomic<Bool>(false)
  private let held = Mutex<Version?>(nil)

  init(commit: CommitNumber, creator: PinCreator) {
    self.commit = commit
    self.creator = creator
  }

  /// Keeps a version while the snapshot lives. Keeps nothing if the pin has been dropped already,
  /// because nothing would release the version.
  func hold(_ version: Version) {
    held.withLock { held in
      if !hasEnded { held = version }
    }
  }

  /// The version kept; throws `snapshotExpired` once the pin has been dropped.
  func version() throws(TreeRingError) -> Version {
    guard !hasEnded, let version = held.withLock({ $0 }) else { throw expired }
    return version
  }

  /// Makes the reads that begin from now on throw `snapshotExpired`.
  func end() { isOver.store(true, ordering: .sequentiallyConsistent) }

  /// Releases the version once the reads that began before `end` have ended. May block that long.
  func releaseVersion() {
    held.withLock { $0 }?.pages.sections.waitForOthers()
    let version = held.withLock { held in
      defer { held = nil }
      return held
    }
    withExtendedLifetime(version) {}
  }

  var hasEnded: Bool {
    @inline(__always) get { isOver.load(ordering: .acquiring) }
  }

  /// Throws `snapshotExpired` once the pin has been dropped. Inside a read section.
  @inline(__always)
  func check() throws(TreeRingError) {
    if hasEnded { throw expired }
  }

  private var expired: TreeRingError {
    TreeRingError(
      .snapshotExpired,
      "This snapshot of commit \(commit) was held longer than `pinLimit` allows, so it was "
        + "dropped. "
        + "Take a new one; to hold this commit for good, tag it.", commit: commit)
  }
}

/// The position in the program that took a snapshot. It becomes text only on request, because
/// snapshots are taken far more often than listed.
struct PinCreator: Sendable, CustomStringConvertible {
  var file: String
  var line: Int
  var description: String { "\(file):\(line)" }
}
