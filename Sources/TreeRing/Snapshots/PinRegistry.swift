// Who holds which commit, and since when: the answer to "why is this still here?".

internal import Synchronization
internal import TreeRingLog

/// The live snapshots of a store.
final class PinRegistry: Sendable {
  private struct Entry {
    var commit: CommitNumber
    var since: ContinuousClock.Instant
    var creator: String
  }

  private struct State {
    var next: UInt64 = 0
    var entries: [UInt64: Entry] = [:]
  }

  private let state = Mutex(State())

  /// Notes a new pin; the result names it to `remove`.
  func add(commit: CommitNumber, creator: String) -> UInt64 {
    let since = ContinuousClock.now
    return state.withLock { state in
      state.next += 1
      state.entries[state.next] = Entry(commit: commit, since: since, creator: creator)
      return state.next
    }
  }

  func remove(_ registration: UInt64) {
    state.withLock { $0.entries[registration] = nil }
  }

  /// Every live pin, oldest commit first.
  var all: [PinInfo] {
    let now = ContinuousClock.now
    let entries = state.withLock { Array($0.entries.values) }
    return entries.map { PinInfo(commit: $0.commit, age: now - $0.since, creator: $0.creator) }
      .sorted { ($0.commit, $1.age) < ($1.commit, $0.age) }
  }
}
