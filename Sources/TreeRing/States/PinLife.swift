// The life of a pin. Reads of a snapshot check first that it has not ended.

internal import TreeRingLog
internal import TreeRingPlatform

/// The life of one pin: its begin, whether its snapshot may still be read, and the version that it
/// keeps until its end.
final class PinLife: Sendable {
  /// The neighbours of a live pin in the same place of the registry, which keeps them.
  struct Links {
    var older: Unmanaged<PinLife>?
    var newer: Unmanaged<PinLife>?
  }

  /// The commit pinned.
  let commit: CommitNumber
  /// The time at which it was made.
  let since = ContinuousClock.now
  /// The position in the program that made it.
  let creator: PinCreator
  // Unsafe: all use is under the registry's lock, which the compiler cannot see.
  /// Its neighbours while it is among the live pins; otherwise nil.
  @exclusivity(unchecked) nonisolated(unsafe) var links: Links?
  private let isOver = Atomic<Bool>(false)
  private let held: Mutex<Version?>

  /// - Parameter version: the version to keep; nil if the commit's is not known yet.
  init(commit: CommitNumber, creator: PinCreator, version: Version? = nil) {
    self.commit = commit
    self.creator = creator
    held = Mutex(version)
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
