// The replica's right to write: it leads from its own `leader` entry on, until another entry
// follows its last one. The shared log is the judge: it refuses an append after any other entry.

internal import TreeRingLog
internal import TreeRingPlatform

/// Shares the commits of a replica that leads, and refuses those of one that does not.
final class Leadership: CommitSharing {
  private struct State {
    var isLeading = false
    /// The last entry that this replica has appended.
    var place = LogPlace(sequence: 0, id: nil)
    /// The newest commit after that entry.
    var newest: CommitNumber = 0
    /// Nil until the store's id is known.
    var writer: LogWriter?
  }
  /// Held during an append, so that a reader of the log does not take this replica's own entry for
  /// another's before its answer.
  private let state = Monitor(State())
  private let isLeadingNow = Atomic<Bool>(false)
  private let lastAppended = Atomic<UInt64>(0)
  private let log: any SharedLog
  private let limit: Duration
  private let folder: String

  init(log: any SharedLog, limit: Duration, folder: String) {
    self.log = log
    self.limit = limit
    self.folder = folder
  }

  /// Notes the id of the store, which has opened.
  func open(storeID: UInt64) {
    state.withLock { $0.writer = LogWriter(log: log, storeID: storeID, limit: limit) }
  }

  /// The number of the last entry that this replica has appended; 0 if there is none. Takes no
  /// lock.
  var sequence: UInt64 { lastAppended.load(ordering: .acquiring) }

  /// Whether this replica leads, as far as it knows.
  var isLeading: Bool { isLeadingNow.load(ordering: .acquiring) }

  /// The last entry that this replica has appended, and the newest commit then. Waits for an append
  /// under way.
  var appended: (place: LogPlace, newest: CommitNumber) {
    state.withLock { ($0.place, $0.newest) }
  }

  func checkLeading() throws(TreeRingError) {
    if !isLeading { throw notLeader }
  }

  func share(
    _ frames: UnsafeRawBufferPointer, of commits: ClosedRange<CommitNumber>
  ) throws(TreeRingError) {
    try state.withLock { state throws(TreeRingError) in
      guard state.isLeading, let writer = state.writer else { throw notLeader }
      let outcome = writer.append(
        .commits, (commits.lowerBound, commits.upperBound), frames, after: state.place)
      switch outcome {
      case .appended(let place): moved(&state, to: place, newest: commits.upperBound)
      case .overtaken:
        stop(&state)
        throw notLeader
      case .refused(let text):
        throw TreeRingError(
          .unavailable, "The shared log refused the commit: \(text) It did not happen.",
          commit: commits.upperBound)
      case .unknown(let text):
        stop(&state)
        throw TreeRingError(
          .unknown,
          "The shared log did not answer within \(limit): \(text). The commit may be in it or "
            + "not. Open the replica again: it then has what the log has.",
          file: folder, commit: commits.upperBound)
      case .setBack(let last):
        stop(&state)
        throw EntryAssembly.diverged(
          last + 1,
          "the log ends before entry \(state.place.sequence), which this replica had appended, so "
            + "commit \(commits.upperBound) may be in it or not")
      }
    }
  }

  /// Appends the entry of a new leader after a place.
  /// - Parameter newest: The newest commit before it.
  func claim(after place: LogPlace, newest: CommitNumber, name: String) -> LogWriter.Outcome {
    guard let writer = state.withLock({ $0.writer }) else {
      return .refused("the replica is not open")
    }
    return [UInt8](name.utf8).withUnsafeBytes {
      writer.append(.leader, (newest + 1, newest), $0, after: place)
    }
  }

  /// Leads from this replica's own `leader` entry on, up to which it has every commit.
  func begin(at place: LogPlace, newest: CommitNumber) {
    state.withLock { state in
      moved(&state, to: place, newest: newest)
      state.isLeading = true
      isLeadingNow.store(true, ordering: .releasing)
    }
  }

  /// Ends leading, whether or not another replica does.
  func end() { state.withLock { stop(&$0) } }

  private func moved(_ state: inout State, to place: LogPlace, newest: CommitNumber) {
    state.place = place
    state.newest = newest
    lastAppended.store(place.sequence, ordering: .releasing)
  }

  private func stop(_ state: inout State) {
    state.isLeading = false
    isLeadingNow.store(false, ordering: .releasing)
  }

  private var notLeader: TreeRingError {
    TreeRingError(
      .notLeader,
      "This replica does not lead, so the commit did not happen. Write to the replica that "
        + "leads, or call `lead()` here.", file: folder)
  }
}
